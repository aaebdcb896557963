import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CATALOGUE } from '../../src/index.ts'

const FILES = ['README.md', 'README.zh-CN.md']

/** The rows of the table of hooks: their names, and scope and kind of each. */
function rowsOf(file: string): readonly (readonly string[])[] {
  const text = readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8')
  return text.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells.length !== 7 || !cells[1]?.startsWith('`')) return []
    const names = [...cells[1].matchAll(/`([^`]+)`/gu)].map((match) => match[1] ?? '')
    return names.map((name) => [name, cells[4] ?? '', cells[5] ?? ''])
  })
}

describe.each(FILES)('the table of hooks in %s', (file) => {
  it('has every hook, with the scope and the kind of the catalogue', () => {
    const rows = rowsOf(file).filter(([name]) => name !== 'command:<name>')
    expect(new Set(rows.map(([name]) => name)).size).toBe(Object.keys(CATALOGUE).length)
    for (const [name = '', scope, kind] of rows) {
      const spec = Object.hasOwn(CATALOGUE, name) ? CATALOGUE[name as keyof typeof CATALOGUE] : undefined
      expect(`${name}: ${scope}`).toBe(`${name}: ${spec?.scope}`)
      expect(kind).toContain(spec?.kind)
      expect(kind?.includes('closed')).toBe(spec?.failMode === 'closed')
    }
  })
})
