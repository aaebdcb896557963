/** The house commands from outside: help, mistakes, and the shape of their JSON Lines. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const SCRIPTS = resolve(import.meta.dirname, '..', '..', 'scripts')

function run(script: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve(SCRIPTS, script), ...args], {
    encoding: 'utf8',
  })
  const lines = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { status, stdout, stderr, lines }
}

describe.each(['bench.ts', 'chaos.ts', 'fuzz.ts'])('%s', (script) => {
  it('explains itself', () => {
    const { status, stdout } = run(script, ['--help'])
    expect(status).toBe(0)
    expect(stdout).toContain(`pnpm ${script.slice(0, -3)}`)
    expect(stdout).toContain('--json')
  })

  it('refuses an unknown target and names those there are', () => {
    const { status, stderr } = run(script, ['nothing-of-that-name'])
    expect(status).toBe(2)
    expect(stderr).toContain('there are: ')
  })

  it('refuses an option that it does not have', () => {
    expect(run(script, ['--loud']).status).toBe(2)
  })
})

describe('the report of the benches', () => {
  it('explains itself, and refuses what it cannot run before it runs anything', () => {
    expect(run('bench-report.ts', ['--help']).stdout).toContain('pnpm bench:report')
    expect(run('bench-report.ts', ['--rounds', '0']).status).toBe(2)
    expect(run('bench-report.ts', ['--check', 'nothing-of-that-name'])).toMatchObject({ status: 2 })
    expect(run('bench-report.ts', ['agent-loop'])).toMatchObject({ status: 2 })
  })
})

describe('chaos', () => {
  it('prints a summary that programs can read, and repeats a seed', () => {
    const { status, lines } = run('chaos.ts', ['store', '--rounds', '3', '--seed', '7', '--json'])
    expect(status).toBe(0)
    expect(lines.at(-1)).toMatchObject({ suite: 'store', rounds: 3, failed: 0, lost: 0, doubled: 0 })
  })
})

describe('a run of nothing', () => {
  it.each([
    ['chaos.ts', '--rounds'],
    ['fuzz.ts', '--runs'],
  ])('is refused by %s', (script, option) => {
    expect(run(script, [option, '0'])).toMatchObject({ status: 2, lines: [] })
  })
})

describe('fuzz', () => {
  it('prints a summary for each target', { timeout: 180_000 }, () => {
    const { status, lines } = run('fuzz.ts', ['--runs', '50', '--seed', '7', '--json'])
    expect(status).toBe(0)
    expect(lines.length).toBeGreaterThanOrEqual(3)
    for (const line of lines) expect(line).toMatchObject({ runs: 50, failed: 0 })
  })
})
