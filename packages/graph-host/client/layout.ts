/**
 * Where the boxes of a picture are: layered, from left to right. Small pictures are laid out by
 * dagre; one that it would take long over gets a column for each wave. Pure.
 */
import { Graph, layout as dagreLayout } from '@dagrejs/dagre'
import type { Operator, Picture } from './picture.ts'

export const BOX_WIDTH = 208
export const BOX_HEIGHT = 64
const GAP = 16
const LAYER_GAP = 64
/** Around the boxes of one operator, with room for its name above them. */
const FRAME = { side: 10, top: 22 }
/** Between boxes where operators have frames. */
const FRAMED_GAP = 40
/** Beyond these dagre would hold the page up. */
const DAGRE_BOXES = 120
const DAGRE_LINES = 400

export interface Place {
  /** Of the upper left corner. */
  readonly x: number
  readonly y: number
}

/** What surrounds the works of one operator. */
export interface Frame extends Place {
  readonly sessionId: string
  readonly works: number
  readonly width: number
  readonly height: number
}

export interface Layout {
  /** None where the picture is too large to keep the works of an operator together. */
  readonly frames: readonly Frame[]
  readonly places: ReadonlyMap<string, Place>
  readonly width: number
  readonly height: number
}

export function layOut(picture: Picture): Layout {
  const { boxes, lines } = picture
  const isSmall = boxes.length <= DAGRE_BOXES && lines.length <= DAGRE_LINES
  return isSmall ? byDagre(picture) : byWave(picture)
}

function byDagre({ boxes, lines, operators }: Picture): Layout {
  const hasFrames = operators.length > 0
  const nodesep = hasFrames ? FRAMED_GAP : GAP
  const graph = new Graph({ multigraph: false, compound: hasFrames })
  graph.setGraph({ rankdir: 'LR', nodesep, ranksep: LAYER_GAP, marginx: 0, marginy: 0 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id } of boxes) graph.setNode(id, { width: BOX_WIDTH, height: BOX_HEIGHT })
  for (const { from, to } of lines) graph.setEdge(from, to)
  for (const { boxIds, sessionId } of operators) {
    const frame = `operator:${sessionId}`
    graph.setNode(frame, {})
    for (const id of boxIds) graph.setParent(id, frame)
  }
  dagreLayout(graph)
  const places = boxes.map(({ id }): [string, Place] => {
    const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number }
    return [id, { x: x - BOX_WIDTH / 2, y: y - BOX_HEIGHT / 2 }]
  })
  return sized(...withFrames(new Map(places), operators))
}

/** Nothing is left of or above the origin, frames included. */
function withFrames(
  places: ReadonlyMap<string, Place>,
  operators: readonly Operator[],
): readonly [ReadonlyMap<string, Place>, readonly Frame[]] {
  const frames = operators.map((operator) => frameOf(operator, places))
  const [left, top] = [Math.min(0, ...frames.map(({ x }) => x)), Math.min(0, ...frames.map(({ y }) => y))]
  const moved = <T extends Place>(place: T): T => ({ ...place, x: place.x - left, y: place.y - top })
  return [new Map([...places].map(([id, place]) => [id, moved(place)])), frames.map(moved)]
}

function frameOf({ boxIds, sessionId }: Operator, places: ReadonlyMap<string, Place>): Frame {
  const at = boxIds.flatMap((id) => places.get(id) ?? [])
  const [x, y] = [Math.min(...at.map((place) => place.x)), Math.min(...at.map((place) => place.y))]
  const right = Math.max(...at.map((place) => place.x)) + BOX_WIDTH
  const bottom = Math.max(...at.map((place) => place.y)) + BOX_HEIGHT
  return {
    sessionId,
    works: boxIds.length,
    x: x - FRAME.side,
    y: y - FRAME.top,
    width: right - x + 2 * FRAME.side,
    height: bottom - y + FRAME.top + FRAME.side,
  }
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

function sized(places: ReadonlyMap<string, Place>, frames: readonly Frame[] = []): Layout {
  let width = BOX_WIDTH
  let height = BOX_HEIGHT
  for (const { x, y } of places.values()) {
    width = Math.max(width, x + BOX_WIDTH)
    height = Math.max(height, y + BOX_HEIGHT)
  }
  for (const frame of frames) {
    width = Math.max(width, frame.x + frame.width)
    height = Math.max(height, frame.y + frame.height)
  }
  return { places, frames, width, height }
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
