import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { ATTEMPT_ROOM, RunHub } from '../../src/streams/run-hub.ts'
import { delta, messageEnd } from '../support/tale.ts'

function hubOf(attempt: number) {
  const limits = { maxTextCharacters: 100, maxImageBytes: 1, maxImages: 1 }
  let changes = 0
  const hub = new RunHub(
    { runId: 'r', sessionId: 's', attempt },
    {
      log: memoryLog(),
      now: () => 7,
      warn: () => undefined,
      receiptOf: () => undefined,
      limits,
      ring: { maxCharacters: 1_000, maxSegments: 10 },
      changed: () => void (changes += 1),
    },
  )
  return { hub, changes: () => changes }
}

const end = { phase: 'end', state: 'ok', endedAt: 9 } as const

describe('the hub of a run', () => {
  it('begins behind the room of the attempts before it', () => {
    const { hub } = hubOf(2)
    hub.tell([delta('a')])
    expect(hub.ring.after(2 * ATTEMPT_ROOM)).toMatchObject({ seq: 2 * ATTEMPT_ROOM + 1, ts: 7 })
  })

  it('tells nothing behind its end, and ends once', () => {
    const { hub, changes } = hubOf(0)
    hub.tell([delta('a'), messageEnd('a')])
    hub.end(end)
    hub.tell([delta('too late')])
    hub.end(end)
    expect(hub.ring.lastSeq).toBe(3)
    expect(changes()).toBe(2)
  })

  it('tells nobody of nothing', () => {
    const { hub, changes } = hubOf(0)
    hub.tell([])
    expect(changes()).toBe(0)
  })
})
