/**
 * A detached copy of lossless JSON. Graph nodes may write to their input, and a caller's arguments
 * are frozen or still in use, so a graph never gets the caller's own objects. Keeps its own stack.
 */

export interface CopyOptions {
  /** Leaves out object properties that are `undefined`. */
  readonly omitUndefined?: boolean
  /** Sees every object before it is copied; `path()` tells where it is, `a.b[0]`. */
  readonly onObject?: (source: Readonly<Record<string, unknown>>, path: () => string) => void
}

interface Copy {
  readonly source: object
  readonly target: object
  readonly parent: Copy | undefined
  readonly key: string | number
}

function pathOf(copy: Copy): string {
  const keys: string[] = []
  for (let at: Copy | undefined = copy; at?.parent !== undefined; at = at.parent) {
    keys.push(typeof at.key === 'number' ? `[${at.key}]` : `.${at.key}`)
  }
  return keys.toReversed().join('').replace(/^\./, '')
}

/**
 * Copies a value that is known to be lossless JSON, hence without cycles and accessors.
 *
 * @returns the copy; scalars as they are.
 */
export function copyJson<T>(root: T, options: CopyOptions = {}): T {
  const open: Copy[] = []
  const copyOf = (value: unknown, parent: Copy | undefined, key: string | number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const target = Array.isArray(value) ? [] : {}
    open.push({ source: value, target, parent, key })
    return target
  }
  const result = copyOf(root, undefined, '')
  for (let copy = open.pop(); copy !== undefined; copy = open.pop()) {
    const here = copy
    if (Array.isArray(here.source)) {
      const target = here.target as unknown[]
      here.source.forEach((item: unknown, index) => (target[index] = copyOf(item, here, index)))
      continue
    }
    const source = here.source as Record<string, unknown>
    options.onObject?.(source, () => pathOf(here))
    for (const key of Object.keys(source)) {
      const value = source[key]
      if (value === undefined && options.omitUndefined === true) continue
      setOwn(here.target, key, copyOf(value, here, key))
    }
  }
  return result as T
}

/** Assignment that makes an own property even of `__proto__`. */
export function setOwn(target: object, key: string, value: unknown): void {
  if (key !== '__proto__') (target as Record<string, unknown>)[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
