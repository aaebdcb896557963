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
