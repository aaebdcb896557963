import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it } from 'vitest'
import { graphRecordId } from '../src/index.ts'
import {
  begin,
  commit,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openLog,
  refusal,
  refusedAs,
  ROOT,
  settlement,
  storeOn,
  work,
} from './fixture.ts'

const artifacts = [
  { name: 'plan.md', text: '# Plan' },
  { name: '汉 😀', text: 'x'.repeat(600) },
]

describe.each(MEDIA)('artifacts on %s', (medium) => {
  it('are records of their own behind the conclusion, with texts to be read', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const { targetOperatorId: operatorId } = await begin(store, 'a')
    const { work: ended, record } = await store.settleActivation(settlement('a', { artifacts }))
    const ids = artifacts.map(({ name }) =>
      graphRecordId({ graphId: GRAPH, operatorId, activationId: 'run-of-a', kind: 'artifact', name }),
    )
    expect(ended.recordIds).toEqual([record?.recordId, ...ids])
    const reopened = await reopenStore()
    const { records } = await graph(reopened)
    expect(records.get(ids[0] ?? '')).toMatchObject({ kind: 'artifact', name: 'plan.md', summary: '# Plan' })
    expect(records.get(ids[1] ?? '')).toMatchObject({ name: '汉 😀', bytes: 600, summaryTruncated: true })
    expect(records.get(record?.recordId ?? '')).not.toHaveProperty('name')
    expect((await reopened.readResult(GRAPH, ids[1] ?? '')).text).toBe('x'.repeat(600))
  })
})

describe('artifacts', () => {
  it('are left by a failed activation too, without a conclusion', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    const request = settlement('a', { outcome: 'failed', conclusion: '', artifacts })
    const { work: ended, record } = await store.settleActivation(request)
    expect([record, ended.recordIds.length]).toEqual([undefined, 2])
  })

  it('are refused with a name twice, a name of two lines, and more than 64', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    const part = { name: 'n', text: 't' }
    const cases = [
      [[part, part], '"n" twice'],
      [[{ name: 'a\nb', text: '' }], 'control character'],
      [Array.from({ length: 65 }, (_, n) => ({ name: `n${n}`, text: '' })), 'artifacts has 65'],
    ] as const
    for (const [bad, text] of cases) {
      const settle = () => store.settleActivation(settlement('a', { artifacts: bad }))
      expect(await refusal(store, settle)).toMatchObject(refusedAs('invalid', text))
    }
  })

  it('that were stored before a crash are taken up by the repetition', async () => {
    const { log } = await openLog('memory')
    const failing = faultyLog(log, [
      {
        at: 'before-append',
        when: ({ entries }) => entries.some(({ type }) => type === 'settle'),
        times: 1,
        fault: 'fail',
      },
    ])
    const store = await storeOn(failing)
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    await expect(store.settleActivation(settlement('a', { artifacts }))).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect((await log.list({ prefix: 'result/' })).streams).toHaveLength(3)
    const settled = await store.settleActivation(settlement('a', { artifacts }))
    expect(settled).toMatchObject({ created: true, work: { status: 'completed' } })
    expect((await log.list({ prefix: 'result/' })).streams).toHaveLength(3)
  })
})

describe('usage', () => {
  const usage = { inputTokens: 100, outputTokens: 7 }

  it('adds up over the attempts of a work and over the graph', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('silent')] })
    const a = await begin(store, 'a')
    await store.settleActivation(settlement('a', { outcome: 'failed', claimId: a.claimId, usage }))
    await commit(store, 'c2', { retry: [{ workId: 'a', reason: 'again' }] })
    const again = await begin(store, 'a')
    await store.settleActivation(settlement('a', { claimId: again.claimId, usage }))
    await begin(store, 'b')
    await store.settleActivation(settlement('b', { usage: { inputTokens: 0, outputTokens: 1 } }))
    await begin(store, 'silent')
    await store.settleActivation(settlement('silent'))
    const state = await graph(await reopenStore())
    expect(state.usage).toEqual({ inputTokens: 200, outputTokens: 15 })
    expect(state.works.get('a')?.usage).toEqual({ inputTokens: 200, outputTokens: 14 })
    expect(state.works.get('silent')).not.toHaveProperty('usage')
  })

  it.each([{ inputTokens: -1, outputTokens: 0 }, { inputTokens: 1 }, { ...usage, cost: 1 }])(
    'is refused as %o',
    async (bad) => {
      const { store } = await openGraph()
      await commit(store, 'c1', { addWork: [work('a')] })
      await begin(store, 'a')
      const settle = () => store.settleActivation({ ...settlement('a'), usage: bad as typeof usage })
      expect(await refusal(store, settle)).toMatchObject(refusedAs('invalid', 'usage'))
    },
  )
})
