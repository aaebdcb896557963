/** Version 1 of the durable format, as it was first written. The fixture is only ever read. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RunReplies } from '../../src/replies/run-replies.ts'
import { parseEventEntry } from '../../src/streams/event-entries.ts'
import type { RunEvent } from '../../src/streams/types.ts'
import { isGapless } from '../support/scripted.ts'
import { final, lines } from '../support/tale.ts'

const stored = readFileSync(new URL('../fixtures/run-events-v1.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { type: string; data: never })

describe('the first version of stored events', () => {
  const events = stored.flatMap((entry) => parseEventEntry(entry, { runId: 'r', sessionId: 's' }) ?? [])

  it('is read in full, and each entry begins where the one before it ended', () => {
    expect(events).toHaveLength(stored.length)
    expect(isGapless(events)).toBe(true)
    const kinds = new Set(events.map(({ stream, data }) => `${stream}/${data.phase}`))
    expect([...kinds].toSorted()).toEqual([
      'assistant/message-end',
      'assistant/reset',
      'compaction/end',
      'compaction/start',
      'lifecycle/end',
      'lifecycle/error',
      'lifecycle/start',
      'thinking/end',
      'tool/end',
      'tool/start',
    ])
  })

  it('says to a person what it said then', () => {
    const replies = new RunReplies('r', { verbose: true, reasoning: 'on', target: 'aunt' })
    const told = events.flatMap((event: RunEvent) => [...replies.push(event)])
    expect(lines(final(told).payloads)).toEqual([
      'tool: send {"args":"a"}',
      'tool: look {"args":"a"} – failed',
      'answer: Counting.',
      'answer: Two, see there. +1',
      'answer: And',
    ])
  })
})
