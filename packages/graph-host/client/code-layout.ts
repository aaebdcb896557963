/** Where the nodes of a code graph are: layered from left to right, by dagre. Pure. */
import { Graph, layout as dagreLayout } from '@dagrejs/dagre'
import type { CodeGraphCard } from '../src/feed/wire.ts'

export const NODE_HEIGHT = 30
const CHAR = 7.2
const START = '__start__'
const END = '__end__'
/** A larger graph is told as text. */
export const DRAWN_NODES = 60

export interface CodeNode {
  readonly name: string
  readonly label: string
  readonly isEdge: boolean
  readonly x: number
  readonly y: number
  readonly width: number
}

export interface CodeLayout {
  readonly nodes: readonly CodeNode[]
  readonly lines: readonly {
    readonly path: string
    readonly conditional: boolean
    readonly to: string
    readonly label?: string
  }[]
  readonly width: number
  readonly height: number
}

export function layOutCode({ nodes, edges }: CodeGraphCard): CodeLayout {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 36, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  const names = [START, ...nodes.map(({ name }) => name), END]
  for (const name of names) graph.setNode(name, { width: widthOf(name), height: NODE_HEIGHT })
  const drawn = edges.filter(
    (edge) => edge.to !== undefined && names.includes(edge.to) && names.includes(edge.from),
  )
  for (const [at, { from, to = END }] of drawn.entries()) graph.setEdge(from, to, {}, String(at))
  dagreLayout(graph)
  const placed = names.map((name): CodeNode => {
    const { x = 0, y = 0 } = graph.node(name) as { x?: number; y?: number }
    const width = widthOf(name)
    return {
      name,
      label: labelOf(name),
      isEdge: name === START || name === END,
      x: x - width / 2,
      y: y - NODE_HEIGHT / 2,
      width,
    }
  })
  const lines = drawn.map(({ from, to = END, conditional, label }, at) => {
    const { points = [] } = graph.edge(from, to, String(at)) as {
      points?: readonly { x: number; y: number }[]
    }
    const path = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x},${y}`).join('')
    return { path, conditional, to, ...(label === undefined ? {} : { label }) }
  })
  const right = Math.max(...placed.map(({ x, width }) => x + width)) + 8
  const bottom = Math.max(...placed.map(({ y }) => y)) + NODE_HEIGHT + 8
  return { nodes: placed, lines, width: right, height: bottom }
}

function labelOf(name: string): string {
  return name === START || name === END ? '' : name.length > 28 ? `${name.slice(0, 27)}…` : name
}

function widthOf(name: string): number {
  const label = labelOf(name)
  return label === '' ? 14 : 34 + label.length * CHAR
}
