/** What a drawing of a graph is made of. Vocabulary only. */
import type { GraphStateKey } from './types.ts'

/** Where a graph begins and ends, LangGraph's own names. */
export const START = '__start__'
export const END = '__end__'

export interface GraphNodeView {
  readonly name: string
  /** What the author wrote into `metadata.description`. */
  readonly description?: string
  /** Whether the node is a graph itself. */
  readonly subgraph: boolean
}

export interface GraphEdgeView {
  readonly from: string
  /** Absent where the graph picks any node while it runs. `__end__` for the end. */
  readonly to?: string
  /** Whether the graph decides while it runs whether to go this way. */
  readonly conditional: boolean
  /** The branch's own name of this way, where it has one. */
  readonly label?: string
}

/** A graph as it can be shown. Frozen. */
export interface GraphPicture {
  readonly name: string
  readonly description: string
  readonly nodes: readonly GraphNodeView[]
  /** In reading order, from `__start__` on. */
  readonly edges: readonly GraphEdgeView[]
  readonly stateKeys: readonly GraphStateKey[]
  /** A Mermaid flowchart. */
  readonly mermaid: string
  /** Why something is missing. */
  readonly note?: string
}
