/**
 * The text a model reads: JSON with two spaces a level. `JSON.stringify` recurses, and indentation
 * grows with the square of the depth, so a value nested deeper than anybody reads is written compact
 * by a loop instead.
 */
import type { JsonValue } from '@deepseek-ai/dsh-tools'

/** Deepest nesting that is indented. */
const INDENTED_DEPTH = 100

/** Pretty JSON of any lossless JSON value. */
export function prettyJson(value: JsonValue): string {
  return isDeeperThan(value, INDENTED_DEPTH) ? compactJson(value) : JSON.stringify(value, null, 2)
}

function isDeeperThan(root: JsonValue, limit: number): boolean {
  let level: JsonValue[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    const below: JsonValue[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      if (depth === limit) return true
      for (const child of Array.isArray(value) ? value : Object.values(value)) {
        if (typeof child === 'object' && child !== null) below.push(child)
      }
    }
    level = below
  }
  return false
}

/** Text that is ready, or a value still to be written. */
type Pending = { readonly text: string } | { readonly value: JsonValue }

/** JSON without white space, of any lossless JSON value. */
export function compactJson(root: JsonValue): string {
  const chunks: string[] = []
  const pending: Pending[] = [{ value: root }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ('text' in next) chunks.push(next.text)
    else if (typeof next.value !== 'object' || next.value === null) chunks.push(JSON.stringify(next.value))
    else for (const part of partsOf(next.value).toReversed()) pending.push(part)
  }
  return chunks.join('')
}

function partsOf(container: JsonValue[] | { [key: string]: JsonValue }): Pending[] {
  const array = Array.isArray(container)
  const parts: Pending[] = [{ text: array ? '[' : '{' }]
  for (const [key, value] of Object.entries(container)) {
    const comma = parts.length === 1 ? '' : ','
    parts.push({ text: array ? comma : `${comma}${JSON.stringify(key)}:` }, { value })
  }
  parts.push({ text: array ? ']' : '}' })
  return parts
}
