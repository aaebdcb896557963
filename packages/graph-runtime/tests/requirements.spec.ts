/**
 * Which requirement and which reported fault is shown by which test: by the tags at the end of the titles,
 * `(R55)` for a requirement, `(4.2 row 13)` for a fault. What a test shows is not judged here; the
 * mutations beside the tests do that.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const REQUIREMENTS = 132

/** Rows of the list of reported faults, by section; those that nobody could act on are left out there. */
const REPORTS: Readonly<Record<string, readonly number[]>> = {
  '4.1': [1, 2, 4, 5, 7, 8, 10, 11],
  '4.2': [13, 14, 16, 17, 19, 20, 22],
  '4.3': [23, 25, 26, 28, 29, 31],
  '4.4': [32, 34, 35],
  '4.5': [37, 38, 40, 41],
  '4.6': [43, 44, 46, 47, 49, 50],
  '4.7': [52, 53, 55, 56, 58, 59, 61, 62, 64],
  '4.8': [65, 67, 68, 70],
}

/** Texts that end in tags, in code as it is formatted here: a title is one literal. */
const TAGGED = /(['"`])(?:(?!\1).)*?((?: \((?:R\d+|4\.\d row \d+)\))+)\1/g

const titles = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.spec.ts'))
  .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))

const shown = new Set(
  titles.flatMap((text) =>
    Array.from(text.matchAll(TAGGED)).flatMap(([, , tags = '']) => tags.match(/[^()]+(?=\))/g) ?? []),
  ),
)

it('each requirement ends the title of a test', () => {
  const all = Array.from({ length: REQUIREMENTS }, (_, at) => `R${at + 1}`)
  expect(all.filter((tag) => !shown.has(tag))).toEqual([])
})

it('each reported fault ends the title of a test', () => {
  const all = Object.entries(REPORTS).flatMap(([section, rows]) => rows.map((row) => `${section} row ${row}`))
  expect(all.filter((tag) => !shown.has(tag))).toEqual([])
})

it('no title has a tag of something that does not exist', () => {
  const known = (tag: string): boolean => {
    const [section = '', row] = tag.split(' row ')
    if (row !== undefined) return REPORTS[section]?.includes(Number(row)) === true
    return Number(tag.slice(1)) >= 1 && Number(tag.slice(1)) <= REQUIREMENTS
  }
  expect(Array.from(shown).filter((tag) => !known(tag))).toEqual([])
})
