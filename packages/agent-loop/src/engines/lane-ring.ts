/**
 * Sessions that wait for a slot of one global lane, and which of them is next. A lane has a ring for
 * each priority; a session stands in one ring at most, at its end when it becomes ready, so that
 * sessions of one priority take turns. Waiting raises a session's level, so that none starves.
 */

/** 0 background, 1 default, 2 foreground. */
export type Level = 0 | 1 | 2
const LEVELS: readonly Level[] = [2, 1, 0]
const TOP: Level = 2

/** The place of a session in a ring. */
export class RingNode {
  ringPrev: RingNode | undefined = undefined
  ringNext: RingNode | undefined = undefined
  ring: Ring | undefined = undefined
  /** The lane whose ring it is in, or in which it has a turn; the engine's. */
  lane: unknown = undefined
  /** When it became ready. */
  readySince = 0
}

export class Ring {
  readonly level: Level
  head: RingNode | undefined = undefined
  private tail: RingNode | undefined = undefined

  constructor(level: Level) {
    this.level = level
  }

  append(node: RingNode): void {
    node.ring = this
    node.ringPrev = this.tail
    node.ringNext = undefined
    if (this.tail === undefined) this.head = node
    else this.tail.ringNext = node
    this.tail = node
  }

  remove(node: RingNode): void {
    const { ringPrev, ringNext } = node
    if (ringPrev === undefined) this.head = ringNext
    else ringPrev.ringNext = ringNext
    if (ringNext === undefined) this.tail = ringPrev
    else ringNext.ringPrev = ringPrev
    node.ring = undefined
    node.ringPrev = undefined
    node.ringNext = undefined
  }
}

/**
 * The ready session that comes next: the highest level first, which is its priority and one more for
 * every `ageMs` it has waited; among equals the one that waits longest.
 */
export function nextOf(rings: readonly Ring[], now: number, ageMs: number): RingNode | undefined {
  let best: RingNode | undefined
  let bestLevel = -1
  for (const level of LEVELS) {
    const node = rings[level]?.head
    if (node === undefined) continue
    const aged = Math.min(TOP, level + Math.floor((now - node.readySince) / ageMs))
    if (aged < bestLevel) continue
    if (aged === bestLevel && best !== undefined && best.readySince <= node.readySince) continue
    best = node
    bestLevel = aged
  }
  return best
}
