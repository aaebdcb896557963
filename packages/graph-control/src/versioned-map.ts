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

interface Step<V extends NonNullable<unknown>> {
  readonly key: string
  readonly before: Slot<V>
  readonly version: VersionedMap<V>
}

/** Deleted keys stay in the trunk as marks until they outnumber the living by this much. */
const COMPACT_ABOVE = 64
const COMPACT_RATIO = 4

export class VersionedMap<V extends NonNullable<unknown>> implements ReadonlyMap<string, V> {
  readonly size: number
  private readonly trunk: Map<string, Slot<V>>
  /** How many keys of the trunk this version has ever seen; later ones belong to its successors. */
  private readonly extent: number
  private step: Step<V> | undefined

  private constructor(trunk: Map<string, Slot<V>>, size: number) {
    this.trunk = trunk
    this.extent = trunk.size
    this.size = size
  }

  static empty<V extends NonNullable<unknown>>(): VersionedMap<V> {
    return new VersionedMap<V>(new Map(), 0)
  }

  /** Later entries of a key win. */
  static from<V extends NonNullable<unknown>>(entries: Iterable<readonly [string, V]>): VersionedMap<V> {
    const trunk = new Map<string, Slot<V>>(entries)
    return new VersionedMap<V>(trunk, trunk.size)
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
    return (base.trunk.get(key) === ABSENT ? base.copy() : base).put(key, value)
  }

  /** The version without `key`; amortised O(1) on the newest version, O(size) on an older one. */
  delete(key: string): VersionedMap<V> {
    if (!this.has(key)) return this
    const next = this.writable().put(key, ABSENT)
    return next.extent > COMPACT_ABOVE && next.extent > COMPACT_RATIO * next.size ? next.copy() : next
  }

  /** Entries in order of insertion. Later commits do not disturb a walk that has begun. */
  *entries(): Generator<[string, V], undefined, unknown> {
    const { replaced, newest } = this.replacements()
    let left = this.extent
    for (const key of this.trunk.keys()) {
      if (left-- === 0) return
      const slot = replaced.get(key) ?? (newest ?? this).slot(key)
      if (slot !== ABSENT) yield [key, slot]
    }
  }

  *keys(): Generator<string, undefined, unknown> {
    for (const [key] of this.entries()) yield key
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

  private slot(key: string): Slot<V> {
    for (let step = this.step; step !== undefined; step = step.version.step) {
      if (step.key === key) return step.before
    }
    return this.trunk.get(key) ?? ABSENT
  }

  /** What every successor so far replaced, as this version knew it, and the newest successor. */
  private replacements(): { replaced: Map<string, Slot<V>>; newest: VersionedMap<V> | undefined } {
    const replaced = new Map<string, Slot<V>>()
    let newest: VersionedMap<V> | undefined
    for (let step = this.step; step !== undefined; step = step.version.step) {
      if (!replaced.has(step.key)) replaced.set(step.key, step.before)
      newest = step.version
    }
    return { replaced, newest }
  }

  private writable(): VersionedMap<V> {
    return this.step === undefined ? this : this.copy()
  }

  private copy(): VersionedMap<V> {
    return new VersionedMap<V>(new Map<string, Slot<V>>(this.entries()), this.size)
  }

  private put(key: string, slot: Slot<V>): VersionedMap<V> {
    const before = this.slot(key)
    this.trunk.set(key, slot)
    const size = this.size + Number(slot !== ABSENT) - Number(before !== ABSENT)
    const version = new VersionedMap<V>(this.trunk, size)
    this.step = { key, before, version }
    return version
  }
}
