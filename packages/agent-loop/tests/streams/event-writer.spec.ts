import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { parseEventEntry } from '../../src/streams/event-entries.ts'
import { EventWriter } from '../../src/streams/event-writer.ts'
import type { RunEvent } from '../../src/streams/types.ts'
import { faultyLog } from '../support/faulty-log.ts'
import { settleDown } from '../support/until.ts'

const run = { runId: 'r', sessionId: 's' }

function final(seq: number, text = 'text'): RunEvent {
  const data = { phase: 'message-end', message: 1, text, images: [], toolCalls: 0 } as const
  return { ...run, seq, ts: 7, stream: 'assistant', data }
}

function setUp(log = memoryLog()) {
  const clock = { time: 0 }
  const warnings: string[] = []
  const ports = { log, now: () => clock.time, warn: (text: string) => void warnings.push(text) }
  const stored = async (): Promise<number[]> =>
    (await log.read('run-events/r')).map((entry) => (entry.data as { seq: number }).seq)
  return { writer: new EventWriter('r', 0, ports), clock, warnings, stored, log }
}

describe('the writer of a run', () => {
  it('gathers finals, each with the range it stands for, until it is told to write', async () => {
    const { writer, stored, log } = setUp()
    writer.add(final(4))
    writer.add(final(9))
    await settleDown()
    expect(await stored()).toEqual([])
    await writer.flush()
    const [first, second] = await log.read('run-events/r')
    expect(first && parseEventEntry(first, run)).toEqual({ ...final(4), firstSeq: 1 })
    expect(second && parseEventEntry(second, run)).toEqual({ ...final(9), firstSeq: 5 })
  })

  it('writes by itself when many have gathered, and when the oldest is a second old', async () => {
    const many = setUp()
    for (let seq = 1; seq <= 32; seq += 1) many.writer.add(final(seq))
    await settleDown()
    expect(await many.stored()).toHaveLength(32)
    const old = setUp()
    old.writer.add(final(1))
    old.clock.time = 1_000
    old.writer.add(final(2))
    await settleDown()
    expect(await old.stored()).toEqual([1, 2])
  })

  it('keeps what the log did not take while it was away', async () => {
    const faulty = faultyLog()
    const { writer, stored } = setUp(faulty.log)
    faulty.failNext(1, 'before')
    writer.add(final(1))
    await writer.flush()
    expect(await stored()).toEqual([])
    writer.add(final(2))
    await writer.flush()
    expect(await stored()).toEqual([1, 2])
  })

  it('leaves out the one entry that the log refuses, and says so', async () => {
    const { writer, stored, warnings } = setUp()
    writer.add(final(1))
    writer.add(final(2, 'x'.repeat(5_000_000)))
    writer.add(final(3))
    await writer.flush()
    expect(await stored()).toEqual([1, 3])
    expect(warnings).not.toEqual([])
  })

  it('is quiet when the log is closed', async () => {
    const { writer, warnings, log } = setUp()
    writer.add(final(1))
    await log.close()
    await writer.flush()
    expect(warnings).toEqual([])
  })
})

describe('a stored event', () => {
  const data = { v: 1, seq: 2, firstSeq: 1, ts: 7, stream: 'lifecycle' }
  const start = { phase: 'start', attempt: 1, startedAt: 5 }

  it('of another kind, version or shape is not read', () => {
    const parse = (entry: object, type = 'run/event') => parseEventEntry({ type, data: entry as never }, run)
    expect(parse({ ...data, data: start })).toMatchObject({ seq: 2, firstSeq: 1, data: start })
    expect(parse({ ...data, data: start }, 'run/other')).toBeUndefined()
    expect(parse({ ...data, v: 2, data: start })).toBeUndefined()
    expect(parse({ ...data, data: { ...start, phase: 'middle' } })).toBeUndefined()
    expect(parse({ ...data, data: { ...start, more: true } })).toBeUndefined()
    expect(parse({ ...data, firstSeq: 3, data: start })).toBeUndefined()
  })
})
