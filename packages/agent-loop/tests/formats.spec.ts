import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryLog, type Entry } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { parseRunEntry } from '../src/entries.ts'
import { writeExample, writeKeyedExample } from './support/format-example.ts'
import { World } from './support/world.ts'

const FIXTURES = join(import.meta.dirname, 'fixtures')

function fixture(name: string): readonly Entry[] {
  return JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as readonly Entry[]
}

/** A world that finds these entries in the log. */
async function worldOn(stream: string, entries: readonly Entry[]): Promise<World> {
  const log = memoryLog()
  await log.append(stream, 0, entries)
  return await World.boot({ log })
}

describe('the run stream of format 1', () => {
  it('is read as it was meant, and its runs go on', async () => {
    const world = await worldOn('run/s', fixture('run-stream-1.json'))
    expect(await world.host.read('run_a')).toMatchObject({
      state: 'ok',
      acceptedAt: 1_700_000_000_000,
      startedAt: 1_700_000_000_010,
      endedAt: 1_700_000_000_030,
      turn: 3,
      reply: 'hi',
      usage: { inputTokens: 7, outputTokens: 3 },
    })
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: undefined, queued: ['run_b'] }])
    await world.createAgent('s')
    const call = await world.model.call(0)
    expect(call.prompt).toBe('and then')
    call.reply('done')
    expect(await world.host.wait({ runId: 'run_b' })).toMatchObject({ status: 'ok', reply: 'done' })
  })

  it('does not hold what only later ones have', () => {
    for (const [type, data] of [
      ['run/started', { v: 1, runId: 'a', attempt: 1, startedAt: 1, via: 'turn' }],
      ['run/settled', { v: 1, runId: 'a', state: 'superseded', endedAt: 1 }],
      ['run/settled', { v: 1, runId: 'a', state: 'ok', endedAt: 1, stopReason: 'completed' }],
      ['run/settled', { v: 1, runId: 'a', state: 'ok', endedAt: 1, payloads: [] }],
      ['run/settled', { v: 2, runId: 'a', state: 'ok', endedAt: 1, payloads: [] }],
    ] as const) {
      expect(() => parseRunEntry({ type, data, seq: 1 })).toThrow(/not readable/)
    }
  })
})

describe.each([
  ['run-stream-3.json', writeExample],
  ['run-stream-3-keyed.json', writeKeyedExample],
] as const)('the run stream of the newest format in %s', (name, write) => {
  it('is what this version writes', async () => {
    const written = await write()
    // Only ever for a format that has no file yet: the write fails when it has.
    if (process.env['WRITE_FIXTURE'] === name) {
      writeFileSync(join(FIXTURES, name), `${JSON.stringify(written, null, 2)}\n`, { flag: 'wx' })
    }
    expect(written).toEqual(fixture(name))
  })
})

describe.each([
  ['run-stream-2.json', 's'],
  ['run-stream-2-keyed.json', 'key'],
  ['run-stream-3.json', 's'],
  ['run-stream-3-keyed.json', 'key'],
] as const)('the run stream in %s', (name, sessionId) => {
  it('is read back to where it ended', async () => {
    const entries = fixture(name)
    const world = await worldOn(`run/${sessionId}`, entries)
    const settled = entries.filter(({ type }) => type === 'run/settled')
    expect(settled.length).toBeGreaterThan(0)
    for (const { data } of settled) {
      const { runId, state } = data as { runId: string; state: string }
      expect(await world.host.read(runId)).toMatchObject({ runId, state })
    }
    expect(world.host.lanes()).toEqual([])
  })
})

it.each([2, 3])('the fixtures of format %i have every kind of entry', (format) => {
  const names = [`run-stream-${format}.json`, `run-stream-${format}-keyed.json`]
  const kinds = new Set(names.flatMap((name) => fixture(name).map(({ type }) => type)))
  expect([...kinds].toSorted()).toEqual([
    'queue/echoed',
    'queue/moved',
    'run/accepted',
    'run/deferred',
    'run/settled',
    'run/started',
    'session/configured',
    'session/described',
  ])
})
