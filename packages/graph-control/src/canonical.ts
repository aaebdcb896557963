/** Canonical JSON and the hash over it: the ground on which ids and fingerprints stand. */
import { createHash } from 'node:crypto'

/**
 * JSON with object keys in code-unit order and nothing optional about it. Keys that hold
 * `undefined` are left out; a `Date` is its ISO string.
 *
 * @throws TypeError for what JSON cannot hold without loss (NaN, functions, bigint, undefined).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`
  if (value instanceof Date) return JSON.stringify(value.toISOString())
  if (typeof value === 'object') {
    const held = value as Record<string, unknown>
    const keys = Object.keys(held).filter((key) => held[key] !== undefined)
    return `{${keys
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(held[key])}`)
      .join(',')}}`
  }
  throw new TypeError(`cannot hash a ${typeof value}: ${String(value)} has no canonical JSON`)
}

/** Lower-case hex of the SHA-256 over UTF-8. */
export function sha256Hex(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}
