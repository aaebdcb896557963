/** What the host keeps of a session's graphs, and under which name: the page knows it by the same. */

export const GRAPHS_PROJECTION = 'dsh-graph'

export interface ProjectedGraph {
  readonly graphId: string
  readonly phase: 'draft' | 'open' | 'closed'
  readonly works: number
  readonly ended: number
}

/** In order of their first result. */
export interface ProjectedGraphs {
  readonly graphs: readonly ProjectedGraph[]
}
