/**
 * The queue of one session: a linked list whose every operation costs the same however long it is.
 * It has two segments: what was placed in front, in its own order, and behind it everything else,
 * first in, first out. Knows nothing of runs, lanes or time; who is in it is its owner's to remember.
 */

/** A place in a queue. Extended by what the owner keeps there; in one queue at a time. */
export class QueueNode {
  prev: QueueNode | undefined = undefined
  next: QueueNode | undefined = undefined
  /** Belongs to the front segment. */
  inFront = false
}

export class RunQueue<N extends QueueNode> {
  private first: QueueNode | undefined = undefined
  private last: QueueNode | undefined = undefined
  /** The end of the front segment. */
  private lastInFront: QueueNode | undefined = undefined
  private length = 0

  get head(): N | undefined {
    return this.first as N | undefined
  }

  get size(): number {
    return this.length
  }

  /** Adds a node at the end of everything. */
  append(node: N): void {
    node.inFront = false
    this.link(node, this.last)
  }

  /** Adds a node at the end of the front segment. */
  appendInFront(node: N): void {
    node.inFront = true
    this.link(node, this.lastInFront)
  }

  /** Adds a node at the very head, in the front segment. */
  prepend(node: N): void {
    node.inFront = true
    this.link(node, undefined)
  }

  /** Adds a node before one that is here; by default in the segment of that one. */
  insertBefore(node: N, other: N, inFront: boolean = other.inFront): void {
    node.inFront = inFront
    this.link(node, other.prev)
  }

  /** Takes out a node that is here. */
  remove(node: N): void {
    const { prev, next } = node
    if (this.lastInFront === node) this.lastInFront = prev
    if (prev === undefined) this.first = next
    else prev.next = next
    if (next === undefined) this.last = prev
    else next.prev = prev
    node.prev = undefined
    node.next = undefined
    this.length -= 1
  }

  *[Symbol.iterator](): Generator<N, void> {
    for (let node = this.first; node !== undefined; node = node.next) yield node as N
  }

  private link(node: N, after: QueueNode | undefined): void {
    const before = after === undefined ? this.first : after.next
    node.prev = after
    node.next = before
    if (after === undefined) this.first = node
    else after.next = node
    if (before === undefined) this.last = node
    else before.prev = node
    if (node.inFront && after === this.lastInFront) this.lastInFront = node
    this.length += 1
  }
}
