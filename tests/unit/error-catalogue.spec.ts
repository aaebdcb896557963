/** The error catalogue of the docs against the sources: no code is missing, none is made up. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/composition.ts'
import { codesInSources } from '../support/error-codes.ts'

interface Row {
  readonly section: string
  readonly code: string
  readonly cause: string
  readonly cure: string
}

function rowsOf(file: string): readonly Row[] {
  const [, ...sections] = readFileSync(join(ROOT, 'docs', file), 'utf8').split(/^## /mu)
  return sections.flatMap((text) => {
    const section = /^`([^`]+)`/u.exec(text)?.[1] ?? ''
    return [...text.matchAll(/^\| `([^`|]+)` \| (.+?) \| (.+?) \|$/gmu)].map(
      ([, code = '', cause = '', cure = '']) => ({ section, code, cause, cure }),
    )
  })
}

/** Package folder to the name under which the catalogue has it. */
function sectionOf(folder: string): string {
  if (folder === 'start') return 'pnpm start'
  const manifest = JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8')) as {
    name: string
  }
  return manifest.name
}

const inSources = Object.entries(codesInSources()).filter(([, codes]) => codes.size > 0)

it('finds codes of every kind in the sources', () => {
  const found = Object.fromEntries(inSources.map(([folder, codes]) => [folder, codes.size]))
  // Each package that refuses anything, and not merely one union of it.
  expect(Object.keys(found).sort()).toEqual(
    [
      'agent-loop',
      'durable-log',
      'graph-control',
      'graph-host',
      'graph-runtime',
      'llm-scripted',
      'start',
      'tool-graph',
    ].sort(),
  )
  const { 'agent-loop': loop, 'graph-host': host } = Object.fromEntries(inSources)
  expect([...(loop ?? [])]).toEqual(expect.arrayContaining(['busy', 'run-timeout', 'NO_RESULT']))
  expect([...(host ?? [])]).toEqual(
    expect.arrayContaining(['git-failed', 'no-host', 'no-database', 'foreign-origin', 'internal']),
  )
})

describe.each(['errors.md', 'errors.zh-CN.md'])('docs/%s', (file) => {
  const rows = rowsOf(file)

  it.each(inSources)('has a row for every code of %s, and no other', (folder, codes) => {
    const section = sectionOf(folder)
    const told = new Set(rows.filter((row) => row.section === section).map(({ code }) => code))
    const missing = [...codes].filter((code) => !told.has(code)).sort()
    const madeUp = [...told].filter((code) => !codes.has(code)).sort()
    expect({ section, missing, madeUp }).toEqual({ section, missing: [], madeUp: [] })
  })

  it('tells cause and cure of each', () => {
    const bare = rows.filter(({ cause, cure }) => cause.length < 3 || cure.length < 3)
    expect(bare).toEqual([])
  })
})

it('has the same rows in both languages', () => {
  const names = (file: string) => rowsOf(file).map(({ code, section }) => `${section} ${code}`)
  expect(names('errors.zh-CN.md')).toEqual(names('errors.md'))
})

it.each(inSources.filter(([folder]) => folder !== 'start'))(
  'the README of %s tells no code that there is not',
  (folder) => {
    const all = new Set(inSources.flatMap(([, codes]) => [...codes]))
    for (const name of ['README.md', 'README.zh-CN.md']) {
      const text = readFileSync(join(ROOT, 'packages', folder, name), 'utf8')
      const tables = [
        ...text.matchAll(/^\|[^|]*(?:code|代码|错误码|码)[^|]*\|[^\n]*\n\|[-| ]+\n((?:\|.*\n)+)/gmu),
      ]
      const told = tables.flatMap(([, body = '']) =>
        [...body.matchAll(/^\| ([^|]*) \|/gmu)].flatMap(([, cell = '']) =>
          [...cell.matchAll(/`([^`]+)`/gu)].map(([, code = '']) => code),
        ),
      )
      expect(told.length, `${name} has a table of codes`).toBeGreaterThan(3)
      expect(told.filter((code) => !all.has(code))).toEqual([])
    }
  },
)
