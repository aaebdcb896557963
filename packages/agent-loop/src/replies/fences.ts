/** Code fences of Markdown, line by line. Pure. */

export interface Fence {
  /** The run of backticks or tildes that opened it. */
  readonly marker: string
  /** The line that opened it, without its newline. */
  readonly line: string
}

const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})(.*)$/s

/**
 * The fence that is open after the line.
 *
 * @param line without its newline; a line that begins elsewhere than in the text is none.
 * @param maxMarker a longer run opens nothing.
 */
export function fenceAfter(line: string, open: Fence | undefined, maxMarker: number): Fence | undefined {
  const [, marker = '', info = ''] = FENCE_LINE.exec(line) ?? []
  if (open !== undefined) return closes(marker, info, open) ? undefined : open
  if (marker === '' || marker.length > maxMarker) return undefined
  return marker.startsWith('`') && info.includes('`') ? undefined : { marker, line }
}

/** Whether a line that begins so may be the line of a fence. */
export function looksLikeFence(line: string): boolean {
  return FENCE_LINE.test(line.split('\n', 1)[0] ?? '')
}

function closes(marker: string, info: string, open: Fence): boolean {
  return marker[0] === open.marker[0] && marker.length >= open.marker.length && info.trim() === ''
}

/** The fence that is open at the end of the text. */
export function openFence(text: string, maxMarker = Number.POSITIVE_INFINITY): Fence | undefined {
  return text
    .split('\n')
    .reduce<Fence | undefined>((open, line) => fenceAfter(line, open, maxMarker), undefined)
}
