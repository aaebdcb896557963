import { describe, expect, it } from 'vitest'
import { parseRunEntry, type RunEntry } from '../src/entries.ts'
import { AgentLoopError } from '../src/index.ts'
import { RunFold } from '../src/run-fold.ts'
import { viewOf } from '../src/run-record.ts'

const accepted = (runId: string, key = `key-${runId}`): RunEntry => ({
  type: 'run/accepted',
  data: {
    v: 2,
    runId,
    key,
    fingerprint: 'f'.repeat(64),
    messageId: `m-${runId}`,
    acceptedAt: 10,
    request: { message: 'hello', provenance: { kind: 'user' }, mode: 'followup', lane: 'main' },
  },
})
const started = (runId: string, attempt = 1): RunEntry => ({
  type: 'run/started',
  data: { v: 2, runId, attempt, startedAt: 20 + attempt, via: 'turn' },
})
const settled = (runId: string): RunEntry => ({
  type: 'run/settled',
  data: { v: 3, runId, state: 'ok', endedAt: 30, turn: 2, reply: 'done' },
})

function foldOf(...entries: readonly RunEntry[]): RunFold {
  const fold = new RunFold('s')
  for (const [index, entry] of entries.entries()) fold.apply(entry, index + 1)
  return fold
}

describe('the fold of a session', () => {
  it('keeps runs in the order of acceptance', () => {
    const fold = foldOf(accepted('b'), accepted('a'), started('b'), settled('b'), accepted('c'))
    expect([...fold.all()].map((run) => run.runId)).toEqual(['b', 'a', 'c'])
    expect(fold.open()).toEqual(['a', 'c'])
    expect(fold.seq).toBe(5)
    expect(fold.withKey('key-a')?.runId).toBe('a')
  })

  it('shows a run with what its entries say', () => {
    const fold = foldOf(accepted('a'), started('a'), started('a', 2), settled('a'))
    const run = fold.get('a')
    expect(run && viewOf(run)).toMatchObject({
      runId: 'a',
      sessionId: 's',
      state: 'ok',
      acceptedAt: 10,
      startedAt: 22,
      endedAt: 30,
      turn: 2,
      reply: 'done',
    })
    expect(run?.request).toBeUndefined()
  })

  it.each([
    ['a second acceptance', [accepted('a'), accepted('a', 'other')]],
    ['a key that is taken', [accepted('a', 'k'), accepted('b', 'k')]],
    ['a start of an unknown run', [started('a')]],
    ['a settlement of an unknown run', [settled('a')]],
    ['a second settlement', [accepted('a'), settled('a'), settled('a')]],
    ['a start after the settlement', [accepted('a'), settled('a'), started('a')]],
    ['an attempt out of order', [accepted('a'), started('a', 2)]],
  ])('refuses %s and stays as it was', (_case, entries) => {
    const before = entries.slice(0, -1)
    const last = entries.at(-1)
    if (last === undefined) throw new Error('no entry')
    const fold = foldOf(...before)
    const open = fold.open()
    expect(() => fold.apply(last, entries.length)).toThrow(AgentLoopError)
    expect(fold.seq).toBe(before.length)
    expect(fold.open()).toEqual(open)
  })
})

describe('an entry of the medium', () => {
  const stored = (entry: { type: string; data: unknown }) => ({ ...entry, seq: 3 }) as never

  it('is read when it has the shape of version 1', () => {
    for (const entry of [accepted('a'), started('a'), settled('a')]) {
      expect(parseRunEntry(stored(entry))).toEqual(entry)
    }
  })

  it.each([
    ['of an unknown kind', { type: 'run/forgotten', data: {} }],
    ['of another version', { type: 'run/started', data: { ...started('a').data, v: 3 } }],
    ['with an unknown member', { type: 'run/started', data: { ...started('a').data, extra: 1 } }],
    ['without a member', { type: 'run/settled', data: { v: 2, runId: 'a', state: 'ok' } }],
    ['with an unknown state', { type: 'run/settled', data: { ...settled('a').data, state: 'running' } }],
    ['that is no object', { type: 'run/accepted', data: [1] }],
  ])('is refused %s, naming its place', (_case, entry) => {
    expect(() => parseRunEntry(stored(entry))).toThrow(/entry 3/)
  })
})
