/**
 * A map whose every version stays readable, at the price of an ordinary map for the newest one.
 *
 * All versions of one line share a trunk, an ordinary `Map` that holds the newest version. An older
 * version keeps the step to its successor and what that step replaced, so it can still answer; once
 * nobody holds it, its steps are garbage. Writing on an older version starts a trunk of its own.
 *
 * Owns: versions, order of insertion. A key that was deleted and is set again comes last, whatever was
 * done with the map in between: two that went through the same steps walk alike. Does not own: the
 * values; freeze them before they go in.
 */

const ABSENT: unique symbol = Symbol('absent')
type Slot<V> = V | typeof ABSENT

/** The newest version of a line: what each key holds, deleted ones as marks, in order of insertion. */
interface Trunk<V> {
  readonly slots: Map<string, Slot<V>>
  /** The keys by their place. Many maps are never asked for one, so it is made when one is. */
  order: string[] | undefined
}

/** What one write replaced, seen from the version before it. */
interface Step<V extends NonNullable<unknown>> {
  readonly key: string
  readonly before: Slot<V>
  /** The version that the write belongs to. */
  readonly version: VersionedMap<V>
  /** The next write of the same version. */
  next: Step<V> | undefined
}

/** Deleted keys stay in the trunk as marks until they outnumber the living by this much. */
const COMPACT_ABOVE = 64
const COMPACT_RATIO = 4

/** Who writes now: what the same writer made may change in place, for nobody else has seen it. */
let writer: object | undefined

/**
 * Runs `act` as one writer: maps that come out of a write within it are changed in place by the next
 * one, until it is over. Nothing of it may be handed out, or kept to look at later, before that.
 */
export function asOneWriter<T>(act: () => T): T {
  const before = writer
  writer = {}
  try {
    return act()
  } finally {
    writer = before
  }
}

function orderOf(trunk: Trunk<unknown>): string[] {
  return (trunk.order ??= [...trunk.slots.keys()])
}

export class VersionedMap<V extends NonNullable<unknown>> implements ReadonlyMap<string, V> {
  private count: number
  private trunk: Trunk<V>
  /** What is to be read before anything else is done. */
  private source: (() => Iterable<readonly [string, V]>) | undefined
  /** How many keys of the trunk this version has ever seen; later ones belong to its successors. */
  private extent: number
  /** Keys before this place are deleted: what is taken from the front is not walked over again. */
  private front: number
  private readonly madeBy = writer
  /** The newest write of this version, where there is a version before it. */
  private last: Step<V> | undefined
  private step: Step<V> | undefined

  private constructor(trunk: Trunk<V>, size: number, front: number) {
    this.trunk = trunk
    this.extent = trunk.slots.size
    this.count = size
    this.front = front
  }

  static empty<V extends NonNullable<unknown>>(): VersionedMap<V> {
    return new VersionedMap<V>({ slots: new Map(), order: undefined }, 0, 0)
  }

  /** Later entries of a key win. */
  static from<V extends NonNullable<unknown>>(entries: Iterable<readonly [string, V]>): VersionedMap<V> {
    const slots = new Map<string, Slot<V>>(entries)
    return new VersionedMap<V>({ slots, order: undefined }, slots.size, 0)
  }

  /** What `source` tells, read when it is first asked for. */
  static deferred<V extends NonNullable<unknown>>(
    source: () => Iterable<readonly [string, V]>,
  ): VersionedMap<V> {
    const map = VersionedMap.empty<V>()
    map.source = source
    return map
  }

  get size(): number {
    this.read()
    return this.count
  }

  get(key: string): V | undefined {
    const slot = this.slot(key)
    return slot === ABSENT ? undefined : slot
  }

  has(key: string): boolean {
    return this.slot(key) !== ABSENT
  }

  /**
   * The version with `key` set; amortised O(1) on the newest version, O(size) on an older one, and for
   * a key that was deleted since the last time that was paid.
   */
  set(key: string, value: V): VersionedMap<V> {
    const base = this.writable()
    const held = base.trunk.slots.get(key)
    return held === ABSENT ? base.copy().put(key, value, undefined) : base.put(key, value, held)
  }

  /** The version without `key`; amortised O(1) on the newest version, O(size) on an older one. */
  delete(key: string): VersionedMap<V> {
    if (!this.has(key)) return this
    const base = this.writable()
    const next = base.put(key, ABSENT, base.trunk.slots.get(key))
    return next.extent > COMPACT_ABOVE && next.extent > COMPACT_RATIO * next.count ? next.copy() : next
  }

  /** Entries in order of insertion. Later commits do not disturb a walk that has begun. */
  *entries(): Generator<[string, V], undefined, unknown> {
    this.read()
    yield* this.entriesFrom(this.front)
  }

  *keys(): Generator<string, undefined, unknown> {
    this.read()
    for (const [key] of this.entriesFrom(this.front)) yield key
  }

  /**
   * Keys in order of insertion, from the first one on that does not precede the place looked for; found
   * in logarithmic time.
   *
   * @param precedes true for a beginning of the keys, deleted ones included, and for none after it.
   */
  *keysFrom(precedes: (key: string) => boolean): Generator<string, undefined, unknown> {
    this.read()
    const order = orderOf(this.trunk)
    let [low, high] = [this.front, this.extent]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (precedes(order[middle] ?? '')) low = middle + 1
      else high = middle
    }
    for (const [key] of this.entriesFrom(low)) yield key
  }

  *values(): Generator<V, undefined, unknown> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): Generator<[string, V], undefined, unknown> {
    return this.entries()
  }

  forEach(callback: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this)
  }

  private *entriesFrom(place: number): Generator<[string, V], undefined, unknown> {
    const { replaced, newest } = this.replacements()
    for (const key of this.keysSeen(place)) {
      const slot = replaced?.get(key) ?? (newest ?? this).slot(key)
      if (slot !== ABSENT) yield [key, slot]
    }
  }

  /** The keys of the trunk that this version has seen, from a place on. */
  private *keysSeen(place: number): Generator<string, undefined, unknown> {
    let left = this.extent
    if (place > 0) {
      const order = orderOf(this.trunk)
      for (let at = place; at < left; at += 1) yield order[at] ?? ''
      return
    }
    for (const key of this.trunk.slots.keys()) {
      if (left === 0) return
      left -= 1
      yield key
    }
  }

  private slot(key: string): Slot<V> {
    if (this.source !== undefined) this.read()
    for (let step = this.step; step !== undefined; step = step.next ?? step.version.step) {
      if (step.key === key) return step.before
    }
    return this.trunk.slots.get(key) ?? ABSENT
  }

  /** What every successor so far replaced, as this version knew it, and the newest successor. */
  private replacements(): {
    replaced: Map<string, Slot<V>> | undefined
    newest: VersionedMap<V> | undefined
  } {
    let replaced: Map<string, Slot<V>> | undefined
    let newest: VersionedMap<V> | undefined
    for (let step = this.step; step !== undefined; step = step.next ?? step.version.step) {
      replaced ??= new Map<string, Slot<V>>()
      if (!replaced.has(step.key)) replaced.set(step.key, step.before)
      newest = step.version
    }
    return { replaced, newest }
  }

  private read(): void {
    const { source } = this
    if (source === undefined) return
    const { trunk } = VersionedMap.from(source())
    this.source = undefined
    this.trunk = trunk
    this.extent = this.count = trunk.slots.size
  }

  private writable(): VersionedMap<V> {
    this.read()
    return this.step === undefined ? this : this.copy()
  }

  private copy(): VersionedMap<V> {
    return VersionedMap.from<V>(this.entries())
  }

  /** @param held what the newest version holds under the key. */
  private put(key: string, slot: Slot<V>, held: Slot<V> | undefined): VersionedMap<V> {
    const { slots, order } = this.trunk
    const before = held ?? ABSENT
    slots.set(key, slot)
    if (held === undefined) order?.push(key)
    const size = this.count + Number(slot !== ABSENT) - Number(before !== ABSENT)
    const front = slot === ABSENT ? this.frontWithout(key) : this.front
    if (writer !== undefined && this.madeBy === writer) {
      this.count = size
      this.front = front
      this.extent = slots.size
      if (this.last !== undefined)
        this.last = this.last.next = { key, before, version: this, next: undefined }
      return this
    }
    const version = new VersionedMap<V>(this.trunk, size, front)
    this.step = version.last = { key, before, version, next: undefined }
    return version
  }

  /** The first place at which there is something once `key` is gone; to be asked of the newest version. */
  private frontWithout(key: string): number {
    const { slots } = this.trunk
    const order = orderOf(this.trunk)
    let place = this.front
    if (order[place] !== key) return place
    while (place < order.length && slots.get(order[place] ?? '') === ABSENT) place += 1
    return place
  }
}
