/**
 * Text that comes from another session is data. It is cut to a bound, its angle brackets are
 * escaped, and it stands between tags that it therefore cannot close.
 */

const encoder = new TextEncoder()

/** Cuts at a code point so that the UTF-8 form has at most `maxBytes` bytes. */
export function cutToBytes(text: string, maxBytes: number): { text: string; truncated: boolean } {
  // A UTF-16 unit is at most three bytes, so short texts need no count.
  if (text.length * 3 <= maxBytes) return { text, truncated: false }
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes))
  return read === text.length ? { text, truncated: false } : { text: text.slice(0, read), truncated: true }
}

/**
 * Cuts at a code point so that neither the text's JSON form nor its escaped form has more than
 * `maxBytes` bytes of UTF-8. At least one code point stays, so that whoever pages gets on.
 */
export function cutToCost(text: string, maxBytes: number): string {
  // No unit takes more than six bytes in either form.
  if (text.length * 6 <= maxBytes) return text
  let [json, escaped, end] = [0, 0, 0]
  for (const point of text) {
    const code = point.codePointAt(0) ?? 0
    json += jsonBytes(code)
    escaped += escapedBytes(code)
    if (end > 0 && Math.max(json, escaped) > maxBytes) return text.slice(0, end)
    end += point.length
  }
  return text
}

/** Bytes of the JSON form of a string, or of its escaped form, whichever is more. */
export function costOf(text: string): number {
  return Math.max(Buffer.byteLength(JSON.stringify(text)) - 2, Buffer.byteLength(escapeData(text)))
}

/** The first items, as many as fit, at least one. */
export function firstOf<T>(
  items: readonly T[],
  maxBytes: number,
  bytesOf: (item: T) => number,
): readonly T[] {
  let left = maxBytes
  let count = 0
  for (const item of items) {
    left -= bytesOf(item) + 3
    if (left < 0 && count > 0) break
    count += 1
  }
  return items.slice(0, count)
}

function plainBytes(code: number): number {
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}

function jsonBytes(code: number): number {
  if (code < 0x20 || (code >= 0xd800 && code < 0xe000)) return 6
  return code === 0x22 || code === 0x5c ? 2 : plainBytes(code)
}

function escapedBytes(code: number): number {
  if (code === 0x26) return 5
  return code === 0x3c || code === 0x3e ? 4 : plainBytes(code)
}

/** The first words on one line: at most `maxChars` characters, and twice as many bytes in any form. */
export function brief(text: string, maxChars: number): string {
  // Only so much is looked at as can matter, however long the text is.
  const line = oneLine(text.length > 8 * maxChars ? text.slice(0, 8 * maxChars) : text, maxChars)
  const cut = cutToCost(line, 2 * maxChars)
  return cut.length === line.length ? line : `${cut}…`
}

/** The first `maxChars` characters, cut at a code point, on one line. */
export function oneLine(text: string, maxChars: number): string {
  const flat = text.replace(/\s+/gu, ' ').trim()
  if (flat.length <= maxChars) return flat
  const cut = flat.slice(0, maxChars)
  return `${/[\uD800-\uDBFF]$/u.test(cut) ? cut.slice(0, -1) : cut}…`
}

/** Escapes what could open or close a tag. */
export function escapeData(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * One block of foreign text.
 *
 * @param tag element name.
 * @param attributes shown in the opening tag; values are escaped.
 */
export function dataBlock(tag: string, attributes: Readonly<Record<string, string>>, text: string): string {
  const head = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeData(value).replaceAll('"', '&quot;')}"`)
    .join('')
  return `<${tag}${head}>\n${escapeData(text)}\n</${tag}>`
}
