import { describe, expect, it } from 'vitest'
import { AgentLoopError } from '../src/index.ts'
import {
  canonicalJson,
  checkAbortRequest,
  checkRunRequest,
  checkWaitRequest,
  defaultRunId,
} from '../src/request.ts'

const good = { sessionId: 's', message: 'do it', idempotencyKey: 'k' }

function refusal(check: () => unknown): AgentLoopError {
  try {
    check()
  } catch (error) {
    if (error instanceof AgentLoopError) return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('a run request', () => {
  it('gets its run id from session and key', () => {
    const { runId } = checkRunRequest(good)
    expect(runId).toMatch(/^run_[0-9a-f]{32}$/)
    expect(runId).toBe(defaultRunId('s', 'k'))
    expect(defaultRunId('s', 'other')).not.toBe(runId)
    expect(defaultRunId('a', 'bc')).not.toBe(defaultRunId('ab', 'c'))
  })

  it('is refused with every problem named at once', () => {
    const error = refusal(() =>
      checkRunRequest({
        sessionId: '',
        message: 7,
        idempotencyKey: 'x'.repeat(257),
        timeoutMs: 0,
        provenance: { kind: 'plugin', plugin: 'p' },
        colour: 'red',
      }),
    )
    expect(error.code).toBe('invalid')
    for (const named of ['sessionId', 'message', 'idempotencyKey', 'timeoutMs', 'provenance', 'colour']) {
      expect(error.message).toContain(named)
    }
  })

  it.each([
    ['no object', undefined],
    ['null', null],
    ['an array', [good]],
    ['an unknown field', { ...good, urgency: 1 }],
    ['an unknown priority', { ...good, priority: 1 }],
    ['an unknown queue mode', { ...good, queueMode: 'shout' }],
    ['half a moment', { ...good, expiresAt: 0.5 }],
    ['an unknown field of the provenance', { ...good, provenance: { kind: 'user', name: 'x' } }],
    ['an unknown provenance', { ...good, provenance: { kind: 'system' } }],
    ['a blank message', { ...good, message: ' \n\t' }],
    ['a message of 1,000,001 characters', { ...good, message: 'x'.repeat(1_000_001) }],
    ['a message too large once escaped', { ...good, message: `x${'\u0001'.repeat(900_000)}` }],
    ['a control character in the session id', { ...good, sessionId: 'a\nb' }],
    ['half a surrogate pair in the session id', { ...good, sessionId: 'a\uD800' }],
    ['a session id too long for a stream name', { ...good, sessionId: 's'.repeat(509) }],
    ['a control character in the run id', { ...good, runId: '\u0000' }],
    ['a fractional timeout', { ...good, timeoutMs: 1.5 }],
    ['a timeout no timer can hold', { ...good, timeoutMs: 2 ** 31 }],
    ['an endless timeout', { ...good, timeoutMs: Number.POSITIVE_INFINITY }],
  ])('is refused with %s', (_case, request) => {
    expect(refusal(() => checkRunRequest(request)).code).toBe('invalid')
  })

  it('takes a message of 1,000,000 characters of any script', () => {
    expect(checkRunRequest({ ...good, message: '語'.repeat(1_000_000) }).asked.message).toHaveLength(
      1_000_000,
    )
  })

  it('has one fingerprint however it is written down', () => {
    const { fingerprint } = checkRunRequest(good)
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/)
    const { idempotencyKey, message, sessionId } = good
    const spelled = {
      provenance: { kind: 'user' },
      idempotencyKey,
      timeoutMs: undefined,
      runId: defaultRunId('s', 'k'),
      message,
      sessionId,
    }
    expect(checkRunRequest(spelled).fingerprint).toBe(fingerprint)
  })

  it('has the fingerprint that earlier versions gave it', () => {
    const { fingerprint } = checkRunRequest({ ...good, timeoutMs: 5 })
    expect(fingerprint).toBe('9340b52c4714ca132d849a6dfd56c937ee6f7c1b31ee0c41fa3ad7522348545c')
  })

  it.each([
    ['message', { ...good, message: 'do it ' }],
    ['timeout', { ...good, timeoutMs: 600_000 }],
    ['run id', { ...good, runId: 'mine' }],
    ['provenance', { ...good, provenance: { kind: 'plugin', plugin: 'p', summary: 'x' } }],
    ['queue mode', { ...good, queueMode: 'steer' }],
    ['lane', { ...good, lane: 'cron' }],
    ['expiry', { ...good, expiresAt: 1 }],
    ['model', { ...good, model: { provider: 'p', model: 'm' } }],
    ['instruction', { ...good, extraSystemPrompt: 'be brief' }],
  ])('has another fingerprint with another %s', (_case, request) => {
    expect(checkRunRequest(request).fingerprint).not.toBe(checkRunRequest(good).fingerprint)
  })
})

describe('canonical JSON', () => {
  it('sorts keys at every depth and leaves undefined members out', () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: undefined, A: 'x' })).toBe(
      '{"A":"x","b":[{"c":null,"d":1}]}',
    )
  })
})

describe('wait and abort requests', () => {
  it('are refused when malformed', () => {
    expect(refusal(() => checkWaitRequest({ runId: '', timeoutMs: -1, signal: {} })).message).toMatch(
      /runId.*timeoutMs.*signal/s,
    )
    expect(refusal(() => checkAbortRequest({})).message).toContain('neither runId nor sessionId')
    expect(refusal(() => checkAbortRequest({ runId: 'r', why: 'x' })).code).toBe('invalid')
  })
})
