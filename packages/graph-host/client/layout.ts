/**
 * Where the boxes of a picture are: layered, from left to right. Small pictures are laid out by
 * dagre; one that it would take long over gets a column for each wave. Pure.
 */
import { Graph, layout as dagreLayout } from '@dagrejs/dagre'
import type { Picture } from './picture.ts'

export const BOX_WIDTH = 208
export const BOX_HEIGHT = 64
const GAP = 16
const LAYER_GAP = 64
/** Beyond these dagre would hold the page up. */
const DAGRE_BOXES = 120
const DAGRE_LINES = 400

export interface Place {
  /** Of the upper left corner. */
  readonly x: number
  readonly y: number
}

export interface Layout {
  readonly places: ReadonlyMap<string, Place>
  readonly width: number
  readonly height: number
}

export function layOut(picture: Picture): Layout {
  const { boxes, lines } = picture
  const isSmall = boxes.length <= DAGRE_BOXES && lines.length <= DAGRE_LINES
  return isSmall ? byDagre(picture) : byWave(picture)
}

function byDagre({ boxes, lines }: Picture): Layout {
  const graph = new Graph({ multigraph: false, compound: false })
  graph.setGraph({ rankdir: 'LR', nodesep: GAP, ranksep: LAYER_GAP, marginx: 0, marginy: 0 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id } of boxes) graph.setNode(id, { width: BOX_WIDTH, height: BOX_HEIGHT })
  for (const { from, to } of lines) graph.setEdge(from, to)
  dagreLayout(graph)
  const places = boxes.map(({ id }): [string, Place] => {
    const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number }
    return [id, { x: x - BOX_WIDTH / 2, y: y - BOX_HEIGHT / 2 }]
  })
  return sized(new Map(places))
}

function byWave({ boxes, lines }: Picture): Layout {
  const columns = new Map<number, string[]>()
  for (const { id, wave } of boxes) columns.set(wave, [...(columns.get(wave) ?? []), id])
  const inputs = new Map<string, string[]>()
  for (const { from, to } of lines) {
    const known = inputs.get(to)
    if (known === undefined) inputs.set(to, [from])
    else known.push(from)
  }
  const rows = new Map<string, number>()
  const places = new Map<string, Place>()
  for (const [column, ids] of [...columns.values()].entries()) {
    // A box goes beside what it follows; that is what keeps most lines apart.
    const middle = (id: string): number => {
      const from = (inputs.get(id) ?? []).flatMap((input) => rows.get(input) ?? [])
      return from.length === 0 ? 0 : from.reduce((sum, row) => sum + row, 0) / from.length
    }
    const order = ids.map((id) => ({ id, at: middle(id) })).sort((a, b) => a.at - b.at)
    for (const [row, { id }] of order.entries()) {
      rows.set(id, row)
      places.set(id, { x: column * (BOX_WIDTH + LAYER_GAP), y: row * (BOX_HEIGHT + GAP) })
    }
  }
  return sized(places)
}

function sized(places: ReadonlyMap<string, Place>): Layout {
  let width = BOX_WIDTH
  let height = BOX_HEIGHT
  for (const { x, y } of places.values()) {
    width = Math.max(width, x + BOX_WIDTH)
    height = Math.max(height, y + BOX_HEIGHT)
  }
  return { places, width, height }
}

/** The curve from the right side of one place to the left side of another. */
export function curve(from: Place, to: Place): string {
  const x1 = from.x + BOX_WIDTH
  const y1 = from.y + BOX_HEIGHT / 2
  const x2 = to.x
  const y2 = to.y + BOX_HEIGHT / 2
  const bend = Math.max(24, Math.abs(x2 - x1) / 2)
  return `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`
}
