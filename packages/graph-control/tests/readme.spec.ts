import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../src/index.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

async function examplesOf(name: string): Promise<readonly string[]> {
  const text = await readFile(`${root}/${name}`, 'utf8')
  return [...text.matchAll(/^```ts\n(?<code>.*?)^```$/gmsu)].map((match) => match.groups?.['code'] ?? '')
}

const READMES = ['README.md', 'README.zh-CN.md']

describe.each(READMES)('the examples of %s', (name) => {
  it('run as they stand and print what they say', async () => {
    const examples = await examplesOf(name)
    expect(examples.length).toBeGreaterThanOrEqual(2)
    for (const code of examples) {
      const said = [...code.matchAll(/console\.log\(.*\) \/\/ (?<output>.*)$/gmu)].map(
        (match) => match.groups?.['output'],
      )
      const args = ['--input-type=module-typescript', '--no-warnings', '--eval', code]
      const { stdout } = await run(process.execPath, args, { cwd: root })
      expect(stdout.trimEnd().split('\n')).toEqual(said)
    }
  })
})

describe('the READMEs', () => {
  it('name every operation, every error and the limits', async () => {
    const port = ['port', 'port-activations', 'port-wakes'].map((file) => `${root}/src/${file}.ts`)
    const sources = (await Promise.all(port.map((file) => readFile(file, 'utf8')))).join('\n')
    const operations = [...sources.matchAll(/^ {2}(?<name>[a-z]\w+)\(/gmu)].map(
      (match) => match.groups?.['name'],
    )
    const errors = await readFile(`${root}/src/errors.ts`, 'utf8')
    const codes = [...errors.matchAll(/^ {2}\| '(?<code>[\w-]+)'$/gmu)].map((match) => match.groups?.['code'])
    expect([operations.length, codes.length]).toEqual([expect.any(Number), 23])
    const wanted = [...operations, ...codes].filter((name) => name !== 'assertHeld')
    for (const readme of READMES) {
      const text = await readFile(`${root}/${readme}`, 'utf8')
      expect(wanted.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`\`${name}(`))).toEqual(
        [],
      )
      for (const limit of [LIMITS.items, LIMITS.addWork, LIMITS.instructionChars, LIMITS.retry]) {
        expect(text).toContain(limit.toLocaleString('en-US'))
      }
    }
  })
})
