/** Both READMEs name everything that the package has: exports, options, error codes. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as graphRuntime from '../src/index.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(resolve(root, file), 'utf8')

/** Fields of an interface, as the source declares them. */
function fieldsOf(file: string, name: string): readonly string[] {
  const body = new RegExp(`export interface ${name} [^{]*\\{\\n(.*?)\\n\\}`, 's').exec(
    read(`src/${file}`),
  )?.[1]
  const fields = Array.from(
    body?.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm) ?? [],
    ([, field = '']) => field,
  )
  if (fields.length === 0) throw new Error(`${file} has no interface ${name}`)
  return fields
}

const named: Readonly<Record<string, readonly string[]>> = {
  'every export that runs': Object.keys(graphRuntime).filter(
    (name) => !['Config', 'apply', 'inject', 'name'].includes(name),
  ),
  'every option of a definition': [
    ...fieldsOf('types.ts', 'GraphSettings'),
    ...fieldsOf('types.ts', 'GraphDefinitionOptions'),
  ],
  'every part of an entry and of its calls': [
    ...fieldsOf('types.ts', 'GraphEntry'),
    ...fieldsOf('types.ts', 'GraphCall'),
    ...fieldsOf('types.ts', 'GraphCallContext'),
  ],
  'every option of a router and every part of a request and an outcome': [
    ...fieldsOf('routing-types.ts', 'GraphRoutingConfig'),
    ...fieldsOf('routing-types.ts', 'GraphRoutingRequest'),
    ...fieldsOf('routing-types.ts', 'GraphRoutingOutcome'),
  ],
  'every part of a picture and of the news of a run': [
    ...fieldsOf('picture-types.ts', 'GraphPicture'),
    ...fieldsOf('progress.ts', 'GraphProgress'),
  ],
  'every error code': Array.from(
    read('src/errors.ts').matchAll(/^ {2}\| '(\w+)'$/gm),
    ([, code = '']) => code,
  ),
  'every event': Array.from(
    [...read('src/events.ts'), ...read('src/progress.ts')].join('').matchAll(/^ {4}'([\w/-]+)'\(/gm),
    ([, event = '']) => event,
  ),
}

describe.each(['README.md', 'README.zh-CN.md'])('%s', (file) => {
  /** What stands in backticks, or in a code block. */
  const code = Array.from(read(file).matchAll(/```.*?```|`[^`]+`/gs), ([text]) => text).join('\n')

  it.each(Object.entries(named))('names %s', (_, names) => {
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => !new RegExp(`(?<![\\w/-])${name}(?![\\w-])`).test(code))).toEqual([])
  })

  it('gives each error code a row with cause and cure', () => {
    for (const errorCode of named['every error code'] ?? []) {
      const row = read(file)
        .split('\n')
        .find((line) => line.startsWith(`| \`${errorCode}\` |`))
      expect(row?.split('|').filter((cell) => cell.trim() !== '')).toHaveLength(4)
    }
  })
})
