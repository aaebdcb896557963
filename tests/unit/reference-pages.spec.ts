/** Pages of the docs that tell again what a source says: hooks, states, tested versions. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CATALOGUE, TERMINAL_RUN_STATES } from '../../packages/agent-loop/src/index.ts'
import { describe, expect, it } from 'vitest'
import { DOCUMENTS, refreshed } from '../../scripts/compatibility.ts'
import { ROOT } from '../support/composition.ts'
import { snippetsOf, textOf } from '../support/snippets.ts'

/** Members of a union of texts in a source. */
function unionIn(file: string, name: string): readonly string[] {
  const text = readFileSync(join(ROOT, 'packages', file), 'utf8')
  const [, union = ''] =
    new RegExp(`export type ${name} =\\s*((?:\\|?\\s*'[^']+'\\s*)+)`, 'u').exec(text) ?? []
  return [...union.matchAll(/'([^']+)'/gu)].map(([, member = '']) => member)
}

const HOOK_TYPES = readFileSync(join(ROOT, 'packages', 'agent-loop', 'src', 'hooks', 'types.ts'), 'utf8')

/** Members of an interface of the hooks, those that it inherits among them. */
function membersOf(name: string): readonly string[] {
  const pattern = new RegExp(`interface ${name}(?: extends ([^{]+))? \\{\\n([^]*?)\\n\\}`, 'u')
  const [, bases = '', body = ''] = pattern.exec(HOOK_TYPES) ?? []
  return [...namesIn(bases).flatMap(membersOf), ...fieldsIn(body)]
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/\b[A-Z]\w+/gu)].map(([name]) => name).filter((name) => name !== 'Partial')
}

function fieldsIn(text: string): readonly string[] {
  return [...text.matchAll(/^ *readonly (\w+)\??:/gmu)].map(([, field = '']) => field)
}

/** Members of what an interface has for each hook: those written out, and those of the types it names. */
function membersByHook(name: string): ReadonlyMap<string, ReadonlySet<string>> {
  const body = new RegExp(`interface ${name} \\{\\n([^]*?)\\n\\}`, 'u').exec(HOOK_TYPES)?.[1] ?? ''
  const parts = body.split(/^ {2}(?=[a-z'[])/mu).filter((part) => part.trim() !== '' && !part.startsWith('/'))
  return new Map(
    parts.map((part) => {
      const [, key = '', type = ''] = /^(\[.*?\]|'[^']+'|\w+): ([^]*)$/u.exec(part) ?? []
      const inline = [...type.matchAll(/\breadonly (\w+)\??:/gu)].map(([, field = '']) => field)
      const named = namesIn(type.split('{')[0] ?? '').flatMap(membersOf)
      return [key.replaceAll("'", ''), new Set([...inline, ...named])]
    }),
  )
}

/** States of a drawing, without its begin and end. */
function statesIn(drawing: string): ReadonlySet<string> {
  const moves = [...drawing.matchAll(/^\s*(\S+) --> ([^\s:]+)/gmu)]
  return new Set(moves.flatMap(([, from = '', to = '']) => [from, to]).filter((state) => state !== '[*]'))
}

/** States that the drawing leads from to its end. */
function endsIn(drawing: string): readonly string[] {
  return [...drawing.matchAll(/^\s*(\S+) --> \[\*\]/gmu)].map(([, state = '']) => state)
}

describe.each(['docs/hooks.md', 'docs/hooks.zh-CN.md'])('%s', (file) => {
  const rows = textOf(file)
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length === 9 && cells[1]?.startsWith('`'))

  it('has every hook with scope, kind, deadline and meaning of a failure as in the catalogue', () => {
    const told = rows.map(([, hook = '', , , scope, kind, deadline, failure]) => [
      hook.replaceAll('`', ''),
      { scope, kind, timeoutMs: Number.parseInt(deadline ?? '', 10) * 1_000, failMode: failure },
    ])
    const { 'command:<name>': command, ...hooks } = Object.fromEntries(told) as Record<string, object>
    expect(hooks).toEqual(CATALOGUE)
    expect(command).toEqual({ scope: 'session', kind: 'observe', timeoutMs: 30_000, failMode: 'open' })
  })

  it('tells members that the events and the answers have', () => {
    const events = membersByHook('HookEvents')
    const answers = membersByHook('HookResults')
    const named = (cell = '') => [...cell.matchAll(/`([^`?]+)\??`/gu)].map(([, name = '']) => name)
    const lost = rows.flatMap(([, hook = '', told, answered]) => {
      const name = hook.replaceAll('`', '').replace('command:<name>', '[command: `command:${string}`]')
      const inEvent = named(told).filter((member) => events.get(name)?.has(member) !== true)
      const inAnswer = named(answered).filter((member) => answers.get(name)?.has(member) !== true)
      return [...inEvent, ...inAnswer].map((member) => `${name}: ${member}`)
    })
    expect(events.size).toBeGreaterThan(17)
    expect(lost).toEqual([])
    // Whatever may be answered is told.
    const silent = [...answers].filter(
      ([hook]) => !rows.some(([, name, , cell]) => name === `\`${hook}\`` && cell !== '–'),
    )
    expect(silent.map(([hook]) => hook)).toEqual([])
  })
})

describe.each(['docs/state-machines.md', 'docs/state-machines.zh-CN.md'])('%s', (file) => {
  const [work = '', run = '', wake = '', lease = '', call = ''] = snippetsOf(file).map(({ text }) => text)

  it('draws every state of a work', () => {
    const all = unionIn('graph-control/src/schedule-types.ts', 'WorkStatus')
    expect([...statesIn(work)].sort()).toEqual([...all].sort())
    // A work that is over may be done again, but for these.
    expect([...endsIn(work)].sort()).toEqual(['completed', 'superseded'])
  })

  it('draws every state of a run', () => {
    const all = unionIn('agent-loop/src/types.ts', 'RunState').map((state) => state.replace('-', '_'))
    expect([...statesIn(run)].sort()).toEqual([...all].sort())
    const ends = [...TERMINAL_RUN_STATES].map((state) => state.replace('-', '_'))
    expect([...endsIn(run)].sort()).toEqual([...ends].sort())
  })

  it('draws every state of a wake', () => {
    const all = unionIn('graph-control/src/wake-types.ts', 'WakeStatus')
    expect([...statesIn(wake)].sort()).toEqual([...all].sort())
    expect([...endsIn(wake)].sort()).toEqual(['delivered', 'exhausted', 'superseded'])
  })

  it('draws leases and calls of code graphs', () => {
    expect([...statesIn(lease)]).toEqual(expect.arrayContaining(['free', 'held']))
    expect(endsIn(call)).toEqual(['refused', 'failed', 'result'])
  })
})

describe.each(['en', 'zh'] as const)('the table of tested versions (%s)', (language) => {
  it('is what the manifests say', () => {
    const text = textOf(DOCUMENTS[language])
    expect(text).toBe(refreshed(text, language))
  })
})
