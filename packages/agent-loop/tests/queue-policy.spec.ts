/** What an arrival does to a queue, decided on the fold alone. */
import { describe, expect, it } from 'vitest'
import type { RunEntry } from '../src/entries.ts'
import { Config, type QueueMode, type QueueSettings } from '../src/index.ts'
import { decideArrival, membersOf } from '../src/queue-policy.ts'
import type { StoredRequest } from '../src/request-schemas.ts'
import { RunFold } from '../src/run-fold.ts'

const PLUGIN = { kind: 'plugin', plugin: 'p', summary: 's' } as const
const FRAME: StoredRequest = {
  message: 'hello',
  provenance: { kind: 'user' },
  mode: 'followup',
  lane: 'main',
}

/** A fold in which these wait, in order, by name. */
function foldOf(waiting: Readonly<Record<string, Partial<StoredRequest>>>): RunFold {
  const fold = new RunFold('s')
  for (const [index, [runId, more]] of Object.entries(waiting).entries()) {
    const entry: RunEntry = {
      type: 'run/accepted',
      data: {
        v: 2,
        runId,
        key: `key-${runId}`,
        fingerprint: 'f'.repeat(64),
        messageId: `m-${runId}`,
        acceptedAt: 10,
        request: { ...FRAME, ...more },
      },
    }
    fold.apply(entry, index + 1)
  }
  return fold
}

interface Coming extends Partial<StoredRequest> {
  readonly settings?: Partial<QueueSettings>
  readonly atMost?: number
}

/** Which runs end for an arrival, or `full`. */
function victimsOf(fold: RunFold, { settings = {}, atMost = 100, ...more }: Coming): unknown {
  const { mode, lane: _lane, ...asked } = { ...FRAME, ...more }
  const arrival = { runId: 'new', mode: mode as QueueMode, asked }
  const decided = decideArrival(fold, arrival, { ...Config({}).queue, ...settings }, atMost)
  return decided.kind === 'full' ? 'full' : decided.victims.map(({ run }) => run.runId)
}

describe('a queue that is full', () => {
  const steers = { one: { mode: 'steer' }, two: { mode: 'followup' } } as const

  it('gives way with as many as it takes to get back to its cap, the oldest first', () => {
    const fold = foldOf({ one: {}, two: {}, three: {}, four: {} })
    expect(victimsOf(fold, { settings: { cap: 5 } })).toEqual([])
    expect(victimsOf(fold, { settings: { cap: 4 } })).toEqual(['one'])
    expect(victimsOf(fold, { settings: { cap: 2 } })).toEqual(['one', 'two', 'three'])
  })

  it('gives way with no steer, and takes nothing in when nothing else can give way', () => {
    expect(victimsOf(foldOf(steers), { settings: { cap: 2 } })).toEqual(['two'])
    expect(victimsOf(foldOf(steers), { settings: { cap: 1 } })).toBe('full')
  })

  it('takes in a steer and a run of a plugin, whatever the policy', () => {
    const fold = foldOf({ one: {} })
    const settings = { cap: 1, drop: 'new' } as const
    expect(victimsOf(fold, { settings })).toBe('full')
    expect(victimsOf(fold, { settings, mode: 'steer' })).toEqual([])
    expect(victimsOf(fold, { settings, provenance: PLUGIN })).toEqual([])
  })

  it('counts no run of a plugin as one of a person', () => {
    const fold = foldOf({ one: { provenance: PLUGIN }, two: {} })
    expect(victimsOf(fold, { settings: { cap: 2 } })).toEqual([])
    expect(victimsOf(fold, { settings: { cap: 1 } })).toEqual(['two'])
  })

  it('takes in nobody beyond what a session may have at all, unless they replace what waits', () => {
    const fold = foldOf({ one: { provenance: PLUGIN }, two: { supersedeKey: 'k' } })
    expect(victimsOf(fold, { atMost: 2, provenance: PLUGIN })).toBe('full')
    expect(victimsOf(fold, { atMost: 2, mode: 'steer' })).toBe('full')
    expect(victimsOf(fold, { atMost: 3, provenance: PLUGIN })).toEqual([])
    expect(victimsOf(fold, { atMost: 2, supersedeKey: 'k' })).toEqual(['two'])
  })
})

describe('what is told in one turn', () => {
  const collect = { mode: 'collect' } as const
  const membersFor = (fold: RunFold, runId: string, atMost = 100): readonly string[] => {
    const leader = fold.get(runId)
    if (leader === undefined) throw new Error(`no run ${runId}`)
    return membersOf(fold, leader, atMost).map((run) => run.runId)
  }

  it('is what collects right behind the first, and nothing before it', () => {
    const fold = foldOf({ zero: collect, one: collect, two: collect, three: {}, four: collect })
    expect(membersFor(fold, 'one')).toEqual(['two'])
    expect(membersFor(fold, 'four')).toEqual([])
  })

  it('is a message alone that does not collect, whatever stands behind it', () => {
    expect(membersFor(foldOf({ one: {}, two: collect }), 'one')).toEqual([])
  })

  it('ends at the number of messages that one turn tells', () => {
    const fold = foldOf({ one: collect, two: collect, three: collect })
    expect(membersFor(fold, 'one', 2)).toEqual(['two'])
    expect(membersFor(fold, 'one', 3)).toEqual(['two', 'three'])
  })

  it('ends where it would grow beyond a million characters', () => {
    const half = { ...collect, message: 'x'.repeat(500_000) }
    const fold = foldOf({ one: half, two: half, three: { ...collect, message: 'y' } })
    expect(membersFor(fold, 'one')).toEqual(['two'])
  })

  it.each([
    ['another lane', { lane: 'cron' }],
    ['another author', { provenance: PLUGIN }],
    ['another model', { model: { provider: 'p', model: 'm' } }],
    ['another effort', { effort: 'high' }],
    ['other thinking', { thinking: 'on' }],
    ['other verbosity', { verbose: 'full' }],
    ['another extra system prompt', { extraSystemPrompt: 'be brief' }],
    ['another folder', { cwd: '/elsewhere' }],
  ] as const)('ends before a message that asks for %s', (_what, more) => {
    const fold = foldOf({ one: collect, two: { ...collect, ...(more as Partial<StoredRequest>) } })
    expect(membersFor(fold, 'one')).toEqual([])
  })
})
