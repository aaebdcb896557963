/**
 * The error codes that the packages' sources can give, found in the text of the sources: the closed
 * unions (`type …Code = 'a' | 'b'`), and the literals that are given where a code is wanted.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './composition.ts'

/** Calls whose first text is a code: errors that have no union of their own, and the ends of runs. */
const GIVERS = ['new \\w*Error', 'problem', 'timedOut', 'failed', 'failure'].join('|')
/** The arguments before the code, such as an exit number: no text, no bracket. */
const BEFORE = '(?:[\\w.]+,\\s*)?'

const UNION = /\btype \w*(?:Code|Rejection) =\s*((?:(?:\/\*\*[^]*?\*\/\s*)?\|?\s*'[^']+'\s*)+)/gu
const GIVEN = new RegExp(`\\b(?:${GIVERS})\\(\\s*${BEFORE}'([A-Za-z][A-Za-z_-]*)'`, 'gu')
const FIELD = /\bcode: '([A-Za-z][A-Za-z_-]*)'/gu
/** What stands for a failure that has no code of its own. */
const FALLBACK =
  /\berror\.code : '([A-Za-z][A-Za-z_-]*)'|\.code \|\| '([A-Za-z][A-Za-z_-]*)'|\bcode : '([A-Za-z][A-Za-z_-]*)'/gu

/** Codes by the folder of the package that gives them, and those of `start`. */
export function codesInSources(): Readonly<Record<string, ReadonlySet<string>>> {
  const folders = readdirSync(join(ROOT, 'packages')).map(
    (name) => [name, join(ROOT, 'packages', name, 'src')] as const,
  )
  return Object.fromEntries(
    [...folders, ['start', join(ROOT, 'start')] as const].map(([name, folder]) => [name, codesIn(folder)]),
  )
}

function codesIn(folder: string): ReadonlySet<string> {
  const codes = new Set<string>()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.split(/[\\/]/u).includes('testing')) continue
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, union = ''] of text.matchAll(UNION)) {
      const bare = union.replaceAll(/\/\*\*[^]*?\*\//gu, '')
      for (const [, code = ''] of bare.matchAll(/'([^']+)'/gu)) codes.add(code)
    }
    for (const pattern of [GIVEN, FIELD, FALLBACK])
      for (const [, ...found] of text.matchAll(pattern))
        for (const code of found) if (code !== undefined) codes.add(code)
  }
  return codes
}
