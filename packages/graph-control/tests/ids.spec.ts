import { describe, expect, it } from 'vitest'
import {
  epochGraphId,
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphRecordId,
  graphUpdateId,
  graphWakeAttemptId,
  graphWakeId,
  graphWorkId,
  runIdOf,
  stableHash,
} from '../src/index.ts'

const call = { graphId: 'g', sessionId: 's', runId: 'r', turnId: 't', toolCallId: 'c' }

describe('ids', () => {
  it('have a prefix and 32 hex digits', () => {
    const ids = {
      graph_update: graphUpdateId(call),
      graph_work: graphWorkId('u', 0),
      graph_intent: graphIntentId('g', 'w'),
      graph_claim: graphClaimId('g', 'i'),
      graph_provision: graphProvisionId('g', 'w'),
      graph_operator: graphOperatorId('g', 'w'),
      graph_session: graphOperatorSessionId('g', 'o'),
      graph_record: graphRecordId({ graphId: 'g', operatorId: 'o', activationId: 'a', kind: 'conclusion' }),
      graph_wake: graphWakeId('g', 1),
      graph_wake_attempt: graphWakeAttemptId('k', 1),
      agent_graph: epochGraphId('s', 1),
    }
    for (const [prefix, id] of Object.entries(ids)) expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
    expect(new Set(Object.values(ids)).size).toBe(Object.keys(ids).length)
  })

  it('are the same in every process and version: stored streams rely on them', () => {
    const ids = {
      first: epochGraphId('root', 1),
      second: epochGraphId('root', 2),
      update: graphUpdateId(call),
      record: graphRecordId({ graphId: 'g', operatorId: 'o', activationId: 'a', kind: 'conclusion' }),
    }
    expect(ids).toEqual({
      first: 'agent_graph_876e6f54bd8bcc5d0d2e288200331d51',
      second: 'agent_graph_d6a44c704a21a1e5e2b439da7b11708e',
      update: 'graph_update_3ab43b00cc77df3ed718a5e36ebfceb6',
      record: 'graph_record_f4f24a63f0a40100df47810d885760c1',
    })
  })

  it('of an update change with each part of the call', () => {
    const ids = (['graphId', 'sessionId', 'runId', 'turnId', 'toolCallId'] as const).map((key) =>
      graphUpdateId({ ...call, [key]: 'other' }),
    )
    expect(new Set([graphUpdateId(call), ...ids]).size).toBe(6)
  })

  it('of an update with a key of its own do not change with run, turn or call', () => {
    const keyed = { ...call, idempotencyKey: 'k' }
    expect(graphUpdateId({ ...keyed, runId: 'r2', turnId: 't2', toolCallId: 'c2' })).toBe(
      graphUpdateId(keyed),
    )
    expect(graphUpdateId({ ...keyed, idempotencyKey: 'k2' })).not.toBe(graphUpdateId(keyed))
    expect(graphUpdateId({ ...keyed, sessionId: 's2' })).not.toBe(graphUpdateId(keyed))
    expect(graphUpdateId(keyed)).not.toBe(graphUpdateId(call))
  })

  it('of runs count attempts from the second on', () => {
    const claim = { targetRunId: 'run' }
    expect([0, 1, 2, 11].map((attempt) => runIdOf(claim, attempt))).toEqual(['run', 'run', 'run#2', 'run#11'])
  })
})

describe('stableHash', () => {
  it('does not depend on key order, and leaves out what is undefined', () => {
    expect(stableHash({ a: 1, b: { c: [1, 2], d: null } })).toBe(
      stableHash({ b: { d: null, c: [1, 2] }, a: 1, e: undefined }),
    )
    expect(stableHash({ a: [1, 2] })).not.toBe(stableHash({ a: [2, 1] }))
    expect(stableHash({ b: [1, null, 'é'], a: true })).toBe(
      'sha256:eaa728c5bbdde78b94c0dd181a4e2c4dfced6609a4ac9ba8bd019c9e5e5366a1',
    )
  })

  it('tells a date by its instant, and keys by code unit', () => {
    expect(stableHash(new Date(0))).toBe(stableHash('1970-01-01T00:00:00.000Z'))
    expect(stableHash({ é: 1, z: 2 })).toBe(stableHash({ z: 2, é: 1 }))
    expect(stableHash(JSON.parse('{"__proto__":1}'))).not.toBe(stableHash({}))
  })

  it.each([[NaN], [Infinity], [1n], [() => 1], [undefined], [[undefined]]])(
    'refusal, refusedAs %s',
    (value) => {
      expect(() => stableHash(value)).toThrow(TypeError)
    },
  )
})
