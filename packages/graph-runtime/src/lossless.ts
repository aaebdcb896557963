/**
 * The lossless JSON check: the verdict of DSH's `isJsonValue`, with the place and the kind of the
 * first offending value. The walk keeps its own stack, so depth is bounded by memory and not by the
 * call stack, and it visits each property once. `toJSON` is never called.
 */
import { arrayProblem, hiddenKeyProblem, objectProblem } from './json-containers.ts'

/** A value that JSON would lose or change. */
export interface LossyValue {
  /** Where it is, for example `result.messages[0].content`. */
  readonly path: string
  /** What it is, a phrase that follows "is". */
  readonly kind: string
}

export interface LosslessOptions {
  /** Passes over object properties that are `undefined`; array elements still count. */
  readonly omitUndefined?: boolean
}

/** Ancestors up to this depth are compared one by one, deeper ones looked up in a set. */
const SCANNED_DEPTH = 16

/** Segments shown at each end of a very long path. */
const SHOWN_SEGMENTS = 12

/** The open containers from the root to the current one, and the place reached in each. */
class Trail {
  readonly holders: object[] = []
  /** The elements of each: an array itself, or an object's values, in one read. */
  readonly items: (readonly unknown[])[] = []
  readonly next: number[] = []
  depth = 0
  private readonly deep = new Set<object>()

  push(holder: object, items: readonly unknown[], next: number): void {
    const at = this.depth++
    this.holders[at] = holder
    this.items[at] = items
    this.next[at] = next
    if (at >= SCANNED_DEPTH) this.deep.add(holder)
  }

  pop(): void {
    const at = --this.depth
    if (at >= SCANNED_DEPTH) this.deep.delete(this.holders[at] as object)
  }

  /** Depth at which the container is open already, or -1. */
  indexOf(holder: object): number {
    const scanned = Math.min(this.depth, SCANNED_DEPTH)
    for (let at = 0; at < scanned; at++) if (this.holders[at] === holder) return at
    return this.deep.size > 0 && this.deep.has(holder) ? this.holders.indexOf(holder) : -1
  }

  /** Path of the element last taken in each of the first `depth` containers. */
  path(depth = this.depth): string {
    const shown: string[] = []
    for (let at = 0; at < depth; at++) {
      if (depth > 2 * SHOWN_SEGMENTS && at === SHOWN_SEGMENTS) {
        shown.push(`…(${depth - 2 * SHOWN_SEGMENTS} more)…`)
        at = depth - SHOWN_SEGMENTS
      }
      shown.push(this.segment(at))
    }
    return `result${shown.join('')}`
  }

  private segment(at: number): string {
    const holder = this.holders[at] as object
    const index = (this.next[at] as number) - 1
    return segment(Array.isArray(holder) ? index : (Object.keys(holder)[index] ?? ''))
  }
}

function segment(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

/**
 * Finds the first value that is no lossless JSON.
 *
 * @param root any value at all; one whose accessors or traps throw is reported as unreadable.
 * @returns `undefined` when the value survives JSON unchanged.
 */
export function findLossy(root: unknown, options: LosslessOptions = {}): LossyValue | undefined {
  const trail = new Trail()
  try {
    const problem =
      typeof root === 'object' && root !== null
        ? (enter(root, trail) ?? walk(trail, options.omitUndefined === true))
        : leafProblem(root)
    return problem === undefined ? undefined : { path: trail.path(), kind: problem }
  } catch (error) {
    return { path: trail.path(), kind: `unreadable (${thrownText(error)})` }
  }
}

/** Visits what the open containers hold, depth first; stops on the offending element. */
function walk(trail: Trail, omitUndefined: boolean): string | undefined {
  while (trail.depth > 0) {
    const at = trail.depth - 1
    const items = trail.items[at] as readonly unknown[]
    const index = skipScalars(items, trail.next[at] as number)
    trail.next[at] = index + 1
    if (index >= items.length) {
      trail.pop()
      continue
    }
    const child = items[index]
    if (child === undefined && omitUndefined && items !== trail.holders[at]) continue
    const problem = typeof child === 'object' && child !== null ? enter(child, trail) : leafProblem(child)
    if (problem !== undefined) return index in items ? problem : 'a hole of a sparse array'
  }
  return undefined
}

/** Index of the first element from `start` on that is not plainly fine: a container, or a lossy scalar. */
function skipScalars(items: readonly unknown[], start: number): number {
  let index = start
  for (; index < items.length; index++) {
    const item = items[index]
    if (typeof item === 'string' || typeof item === 'boolean' || item === null) continue
    // Finite, and no negative zero.
    if (typeof item === 'number' && item - item === 0 && (item !== 0 || 1 / item > 0)) continue
    break
  }
  return index
}

function leafProblem(value: unknown): string | undefined {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) return String(value)
      return Object.is(value, -0) ? 'negative zero' : undefined
    case 'bigint':
      return 'a BigInt'
    case 'function':
      return 'a function'
    case 'symbol':
      return 'a symbol'
    case 'undefined':
      return 'undefined'
    default:
      return undefined
  }
}

/** Opens a container, or tells why it cannot be one. One that holds fine scalars only is done at once. */
function enter(value: object, trail: Trail): string | undefined {
  const array = Array.isArray(value)
  const foreign = array ? arrayProblem(value) : objectProblem(value)
  if (foreign !== undefined) return foreign
  const items = array ? value : valuesOf(value, trail)
  const hidden = array ? undefined : hiddenKeyProblem(value, items.length)
  if (hidden !== undefined) return hidden
  const next = skipScalars(items, 0)
  if (next >= items.length) return undefined
  // Only what holds something can be open already.
  const open = trail.indexOf(value)
  if (open >= 0) return `a cycle back to ${trail.path(open)}`
  trail.push(value, items, next)
  return undefined
}

/** An object's values in one read. When an accessor throws, the trail is left pointing at it. */
function valuesOf(value: object, trail: Trail): readonly unknown[] {
  try {
    return Object.values(value)
  } catch (error) {
    const keys = Object.keys(value)
    const at = keys.findIndex((key) => throwsAt(value, key))
    trail.push(value, [], at + 1)
    throw error
  }
}

function throwsAt(value: object, key: string): boolean {
  try {
    Reflect.get(value, key)
    return false
  } catch {
    return true
  }
}

function thrownText(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'a throwing accessor'
  }
}
