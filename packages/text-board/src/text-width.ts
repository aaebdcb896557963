/**
 * Text in columns of a terminal: what comes from models, files or other sessions is made harmless and
 * measured as a terminal shows it, so that a CJK character takes two columns.
 */
import { createRequire } from 'node:module'

// Control characters, and those that turn the direction of a line or hide in it.
const HARMFUL =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/gu
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/gu

const PLAIN = /^[\u0020-\u007e]*$/u

const require = createRequire(import.meta.url)
/** Loaded at the first text that needs it: its tables cost a process more than all else here. */
let stringWidth: ((text: string) => number) | undefined
let graphemes: Intl.Segmenter | undefined

function measured(text: string): number {
  stringWidth ??= (require('string-width') as { readonly default: (text: string) => number }).default
  return stringWidth(text)
}

/** One line without anything that a terminal would act on. */
export function cleanLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(ESCAPES, ' ')
    .replaceAll(HARMFUL, ' ')
    .replaceAll(/ {2,}/gu, ' ')
    .trim()
}

/** Columns that the text takes on a terminal. */
export function columnsOf(text: string): number {
  return PLAIN.test(text) ? text.length : measured(text)
}

/** Cut to at most so many columns, with `…` where something is missing. Never half a character. */
export function cutTo(text: string, columns: number): string {
  if (columns <= 0) return ''
  if (columnsOf(text) <= columns) return text
  let cut = ''
  let room = columns - 1
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  for (const { segment } of graphemes.segment(text)) {
    const width = columnsOf(segment)
    if (width > room) break
    cut += segment
    room -= width
  }
  return `${cut}…`
}

/** Exactly so many columns: cut, or filled up with spaces. */
export function fill(text: string, columns: number): string {
  const cut = cutTo(text, columns)
  return cut + ' '.repeat(Math.max(0, columns - columnsOf(cut)))
}

export function fillLeft(text: string, columns: number): string {
  const cut = cutTo(text, columns)
  return ' '.repeat(Math.max(0, columns - columnsOf(cut))) + cut
}
