/**
 * The structure of a graph for people: nodes, edges, state keys, and a drawing. Read off the builder, so
 * nothing is compiled; a graph without a builder shows its nodes at most.
 */
import { isInternal, shapeOf } from './describe.ts'
import { drawMermaid } from './mermaid.ts'
import type { GraphSource } from './graph-source.ts'
import { messageOf } from './errors.ts'
import { END, START, type GraphEdgeView, type GraphNodeView, type GraphPicture } from './picture-types.ts'
import type { GraphStateKey } from './types.ts'

interface Structure {
  readonly nodes: readonly GraphNodeView[]
  readonly edges: readonly GraphEdgeView[]
  readonly stateKeys: readonly GraphStateKey[]
  readonly note?: string
}

const EMPTY = { nodes: [], edges: [], stateKeys: [] } as const

function recordAt(holder: object, key: string): Record<string, unknown> {
  const value: unknown = Reflect.get(holder, key)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function pairsAt(holder: object, key: string): readonly (readonly [unknown, string])[] {
  const value: unknown = Reflect.get(holder, key)
  return value instanceof Set ? (Array.from(value) as (readonly [unknown, string])[]) : []
}

function nodeView(name: string, spec: unknown): GraphNodeView {
  const holder = typeof spec === 'object' && spec !== null ? spec : {}
  const description = recordAt(holder, 'metadata')['description']
  const subgraphs: unknown = Reflect.get(holder, 'subgraphs')
  const subgraph = Array.isArray(subgraphs) && subgraphs.length > 0
  return typeof description === 'string' ? { name, description, subgraph } : { name, subgraph }
}

/** Ways that a branch or a node may take: by name, by label and name, or unknown. */
function waysOf(from: string, ends: unknown): GraphEdgeView[] {
  if (typeof ends !== 'object' || ends === null) return [{ from, conditional: true }]
  if (Array.isArray(ends)) return ends.map((to: unknown) => ({ from, to: String(to), conditional: true }))
  return Object.entries(ends).map(([label, end]) => {
    const to = String(end)
    return label === to ? { from, to, conditional: true } : { from, to, conditional: true, label }
  })
}

function edgesFrom(builder: object, name: string): GraphEdgeView[] {
  const plain = pairsAt(builder, 'edges').flatMap(([from, to]) =>
    from === name ? [{ from: name, to, conditional: false }] : [],
  )
  const joined = pairsAt(builder, 'waitingEdges').flatMap(([starts, to]) =>
    Array.isArray(starts) && starts.includes(name) ? [{ from: name, to, conditional: false }] : [],
  )
  const branches = Object.values(recordAt(recordAt(builder, 'branches'), name)).flatMap((branch) =>
    waysOf(name, typeof branch === 'object' && branch !== null ? Reflect.get(branch, 'ends') : undefined),
  )
  const ends: unknown = recordAt(recordAt(builder, 'nodes'), name)['ends']
  const commanded = ends === undefined ? [] : waysOf(name, ends)
  const all = [...plain, ...joined, ...branches, ...commanded]
  // LangGraph ends after a node from which nothing leads on.
  return all.length > 0 || name === START ? all : [{ from: name, to: END, conditional: false }]
}

function structureOf(graph: object): Structure {
  const builder: unknown = Reflect.get(graph, 'builder')
  const known = typeof builder === 'object' && builder !== null ? builder : graph
  const shape = shapeOf(known)
  if (shape === undefined) return { ...EMPTY, note: 'the graph does not show its structure' }
  const specs = recordAt(known, 'nodes')
  const nodes = shape.nodes.map((name) => nodeView(name, specs[name]))
  const { stateKeys } = shape
  if (!(Reflect.get(known, 'edges') instanceof Set)) {
    return { nodes, edges: [], stateKeys, note: 'the graph does not show its edges' }
  }
  const names = new Set(shape.nodes)
  const edges = [START, ...shape.nodes]
    .flatMap((name) => edgesFrom(known, name))
    .filter(({ to }) => to === undefined || to === END || names.has(to) || !isInternal(to))
  return { nodes, edges, stateKeys }
}

function read(source: GraphSource): Structure {
  const peeked = source.peek()
  if (peeked.kind === 'pending') return { ...EMPTY, note: 'its build is async and has not finished yet' }
  if (peeked.kind === 'failed') return { ...EMPTY, note: `its build failed: ${messageOf(peeked.error)}` }
  try {
    return structureOf(peeked.graph)
  } catch (error) {
    return { ...EMPTY, note: `its structure cannot be read: ${messageOf(error)}` }
  }
}

/** The picture of a graph. Runs its factory if that has not run yet, and never `compile`. */
export function pictureOf(name: string, description: string, source: GraphSource): GraphPicture {
  const structure = read(source)
  return Object.freeze({ name, description, ...structure, mermaid: drawMermaid(name, structure) })
}
