import { describe, expect, it } from 'vitest'
import { graphOperatorId, graphUpdateId, LIMITS, type ScheduleUpdateRequest } from '../src/index.ts'
import {
  begin,
  claim,
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openStore,
  provision,
  refusal,
  refusedAs,
  ROOT,
  statuses,
  update,
  work,
} from './fixture.ts'

describe.each(MEDIA)('schedule updates on %s', (medium) => {
  it('get revisions 1, 2, … and are listed in that order', async () => {
    const { store } = await openGraph(medium)
    const first = await store.commitScheduleUpdate(update('c1', { addWork: [work('a')] }))
    const second = await store.commitScheduleUpdate(update('c2', { addWork: [work('b')] }))
    expect([first.update.revision, second.update.revision]).toEqual([1, 2])
    expect(first).toMatchObject({ created: true, update: { ...update('c1', { addWork: [work('a')] }) } })
    expect(await store.listScheduleUpdates(GRAPH)).toEqual([first.update, second.update])
    expect(await store.readScheduleUpdate(GRAPH, second.update.updateId)).toEqual(second.update)
    expect(first.update.committedAt).toBeLessThan(second.update.committedAt)
  })

  it('answer a retry with the row that is there, also after the graph went on', async () => {
    const { store } = await openGraph(medium)
    const request = update('c1', { addWork: [work('a')] })
    const { update: first } = await store.commitScheduleUpdate(request)
    await commit(store, 'c2', {
      stop: [{ targetId: GRAPH, reason: 'enough' }],
      finish: { resultIds: [], reason: 'done' },
    })
    const seq = (await graph(store)).seq
    expect(await store.commitScheduleUpdate(request)).toEqual({ update: first, created: false })
    expect((await graph(store)).seq).toBe(seq)
  })

  it('with a key of their own answer a retry from a later turn', async () => {
    const { store } = await openGraph(medium)
    const updateId = graphUpdateId({
      graphId: GRAPH,
      sessionId: ROOT,
      runId: '',
      turnId: '',
      toolCallId: '',
      idempotencyKey: 'mine',
    })
    const one = { ...update('c1', { addWork: [work('a')] }), updateId }
    const two = { ...one, source: { ...one.source, turnId: 'graph_turn_9', toolCallId: 'c9' } }
    const first = await store.commitScheduleUpdate(one)
    expect(await store.commitScheduleUpdate(two)).toEqual({ update: first.update, created: false })
  })

  it('are refused under the same id with another payload or fingerprint', async () => {
    const { store } = await openGraph(medium)
    const request = update('c1', { addWork: [work('a')] })
    await store.commitScheduleUpdate(request)
    const changed: ScheduleUpdateRequest[] = [
      { ...request, updateFingerprint: 'another' },
      { ...request, addWork: [work('b')] },
      { ...request, stop: [{ targetId: 'a', reason: 'no' }] },
    ]
    for (const other of changed) {
      expect(await refusal(store, () => store.commitScheduleUpdate(other))).toMatchObject(
        refusedAs('schedule-update-conflict', request.updateId),
      )
    }
  })

  it('are refused when their tool call committed another update', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const other = { ...update('c1', { addWork: [work('b')] }), updateId: 'another-id' }
    expect(await refusal(store, () => store.commitScheduleUpdate(other))).toMatchObject(
      refusedAs('schedule-update-conflict', 'c1'),
    )
    const laterRun = { ...other, source: { ...other.source, runId: 'graph_run_2' } }
    expect((await store.commitScheduleUpdate(laterRun)).created).toBe(true)
  })

  it('are refused after the graph is finished', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { finish: { resultIds: [], reason: 'nothing to do' } })
    expect(await refusal(store, () => commit(store, 'c2', { addWork: [work('a')] }))).toMatchObject(
      refusedAs('schedule-closed', 'next epoch'),
    )
    expect(await refusal(store, () => commit(store, 'c3', { stop: [] }))).toMatchObject(
      refusedAs('schedule-closed'),
    )
    const reopened = await reopenStore()
    expect(await refusal(reopened, () => commit(reopened, 'c4', { addWork: [work('a')] }))).toMatchObject(
      refusedAs('schedule-closed'),
    )
    expect(await graph(reopened)).toMatchObject({ closed: true, finish: { reason: 'nothing to do' } })
  })

  it('are refused when a work id is taken, by an earlier update or within one', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    expect(
      await refusal(store, () => commit(store, 'c2', { addWork: [work('b'), work('a')] })),
    ).toMatchObject(refusedAs('work-conflict', 'a is taken'))
    expect(
      await refusal(store, () => commit(store, 'c2', { addWork: [work('b'), work('b')] })),
    ).toMatchObject(refusedAs('invalid', '"b" twice'))
    expect(await statuses(await reopenStore())).toEqual({ a: 'ready' })
  })

  it('are refused when a work id would name two things', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    for (const workId of [GRAPH, graphOperatorId(GRAPH, 'a'), 'graph_record_0']) {
      expect(await refusal(store, () => commit(store, 'c2', { addWork: [work(workId)] }))).toMatchObject(
        refusedAs('work-conflict', workId),
      )
    }
  })

  it('are refused for an operator that is not there', async () => {
    const { store } = await openGraph(medium)
    const followUp = work('b', { target: { kind: 'operator', id: 'nobody' } })
    expect(await refusal(store, () => commit(store, 'c1', { addWork: [followUp] }))).toMatchObject(
      refusedAs('provision-not-found', 'nobody'),
    )
  })
})

describe('inputs', () => {
  it('may name works of the same update, in any order', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', {
      addWork: [
        work('last', { inputIds: ['first', 'middle'] }),
        work('middle', { inputIds: ['first'] }),
        work('first'),
      ],
    })
    expect(await statuses(store)).toEqual({ last: 'waiting', middle: 'waiting', first: 'ready' })
    expect((await graph(store)).works.get('last')?.waitingFor).toEqual(['first', 'middle'])
  })

  it('are refused when they are not there, are named twice, or form a circle', async () => {
    const { store } = await openGraph()
    const attempt =
      (...addWork: ReturnType<typeof work>[]) =>
      () =>
        commit(store, 'c1', { addWork })
    expect(await refusal(store, attempt(work('a', { inputIds: ['ghost'] })))).toMatchObject(
      refusedAs('work-conflict', 'ghost'),
    )
    expect(await refusal(store, attempt(work('a'), work('b', { inputIds: ['a', 'a'] })))).toMatchObject(
      refusedAs('invalid', '"a" twice'),
    )
    expect(await refusal(store, attempt(work('a', { inputIds: ['a'] })))).toMatchObject(
      refusedAs('work-conflict', 'circle: a'),
    )
    expect(
      await refusal(
        store,
        attempt(
          work('x'),
          work('a', { inputIds: ['c', 'x'] }),
          work('b', { inputIds: ['a'] }),
          work('c', { inputIds: ['b'] }),
        ),
      ),
    ).toMatchObject(refusedAs('work-conflict', /circle: [abc], [abc], [abc]$/))
  })

  it('may be a committed record of this graph', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const recordId = await complete(store, 'a')
    await commit(store, 'c2', { addWork: [work('b', { inputIds: [recordId, 'a'] })] })
    expect((await statuses(store))['b']).toBe('ready')
  })
})

describe('replaces', () => {
  it('supersedes a work that is not over, and leaves one that is', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('done')] })
    await complete(store, 'done')
    await commit(store, 'c2', {
      addWork: [work('a2', { replaces: 'a' }), work('done2', { replaces: 'done' })],
    })
    expect(await statuses(store)).toEqual({ a: 'superseded', done: 'completed', a2: 'ready', done2: 'ready' })
    expect((await graph(store)).works.get('a')?.reason).toBe('replaced by a2')
  })

  it('is refused for itself, for a work that is not there, and for what it waits for', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const attempt =
      (...addWork: ReturnType<typeof work>[]) =>
      () =>
        commit(store, 'c2', { addWork })
    expect(await refusal(store, attempt(work('b', { replaces: 'b' })))).toMatchObject(
      refusedAs('work-conflict', 'replaces itself'),
    )
    expect(await refusal(store, attempt(work('b', { replaces: 'ghost' })))).toMatchObject(
      refusedAs('work-conflict', 'ghost'),
    )
    expect(await refusal(store, attempt(work('c'), work('b', { replaces: 'c' })))).toMatchObject(
      refusedAs('work-conflict', 'no earlier update'),
    )
    expect(await refusal(store, attempt(work('b', { replaces: 'a', inputIds: ['a'] })))).toMatchObject(
      refusedAs('work-conflict', 'waits for the result'),
    )
  })
})

describe('stop', () => {
  it('takes a work, an operator with all its works, or the whole graph', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('c')] })
    await provision(store, 'a')
    const operatorId = graphOperatorId(GRAPH, 'a')
    await commit(store, 'c2', { addWork: [work('a+', { target: { kind: 'operator', id: operatorId } })] })
    await commit(store, 'c3', { stop: [{ targetId: 'b', reason: 'not needed' }] })
    expect(await statuses(store)).toEqual({ a: 'ready', b: 'stopped', c: 'ready', 'a+': 'ready' })
    await commit(store, 'c4', { stop: [{ targetId: operatorId, reason: 'wrong agent' }] })
    expect(await statuses(store)).toEqual({ a: 'stopped', b: 'stopped', c: 'ready', 'a+': 'stopped' })
    await commit(store, 'c5', { addWork: [work('new')], stop: [{ targetId: GRAPH, reason: 'start anew' }] })
    expect(await statuses(store)).toMatchObject({ c: 'stopped', new: 'ready', b: 'stopped' })
    expect((await graph(store)).works.get('b')?.reason).toBe('not needed')
  })

  it('is refused for a target that is not there before the update', async () => {
    const { store } = await openGraph()
    const stop = [{ targetId: 'a', reason: 'why not' }]
    expect(await refusal(store, () => commit(store, 'c1', { stop }))).toMatchObject(
      refusedAs('work-conflict', 'cannot stop a'),
    )
    expect(await refusal(store, () => commit(store, 'c1', { addWork: [work('a')], stop }))).toMatchObject(
      refusedAs('work-conflict', 'cannot stop a'),
    )
  })

  it('takes back a claim that has not begun, so that it cannot begin', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const { intentId } = await claim(store, 'a')
    const { revision } = await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'too late' }] })
    expect(await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, revision)).toEqual({
      state: 'cancelled',
      previousState: 'cancelled',
      changed: false,
    })
    expect((await store.readAgentGraphIntentClaim(GRAPH, intentId))?.cancellationReason).toBe('too late')
  })

  it('ends a running work at once, while its activation is still live', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const { claimId } = await begin(store, 'a')
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'changed my mind' }] })
    const state = await graph(store)
    expect(state.works.get('a')).toMatchObject({ status: 'stopped', reason: 'changed my mind' })
    expect(state.claims.get(claimId)?.admissionStatus).toBe('executing')
  })
})

describe('finish', () => {
  it('closes the graph with committed results', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const recordId = await complete(store, 'a')
    const { committedAt } = await commit(store, 'c2', {
      finish: { resultIds: [recordId], reason: 'all there' },
    })
    expect(await graph(store)).toMatchObject({
      closed: true,
      finish: { resultIds: [recordId], reason: 'all there', finishedAt: committedAt },
      counts: { works: 1, pending: 0, terminal: 1 },
    })
  })

  it('is refused with added work, while works are pending, and with unknown results', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    const finish = { resultIds: [], reason: 'done' }
    expect(await refusal(store, () => commit(store, 'c2', { addWork: [work('c')], finish }))).toMatchObject(
      refusedAs('invalid', 'cannot add work'),
    )
    expect(await refusal(store, () => commit(store, 'c2', { finish }))).toMatchObject(
      refusedAs('work-conflict', 'a, b'),
    )
    const recordId = await complete(store, 'a')
    await complete(store, 'b')
    const results = { resultIds: [recordId, 'graph_record_ghost'], reason: 'done' }
    expect(await refusal(store, () => commit(store, 'c2', { finish: results }))).toMatchObject(
      refusedAs('record-not-found', 'graph_record_ghost'),
    )
  })

  it('may stop in the same update what is pending, and what waits for it falls with it', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('z', { inputIds: ['a'] }), work('a'), work('b')] })
    const finish = { resultIds: [], reason: 'enough' }
    const stop = [{ targetId: 'a', reason: 'enough' }]
    expect(await refusal(store, () => commit(store, 'c2', { stop, finish }))).toMatchObject(
      refusedAs('work-conflict', /not over: b;/),
    )
    await commit(store, 'c2', { stop: [...stop, { targetId: 'b', reason: 'enough' }], finish })
    expect(await statuses(store)).toEqual({ z: 'skipped', a: 'stopped', b: 'stopped' })
    expect((await graph(store)).closed).toBe(true)
  })
})

describe('bounds of an update', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => index)
  const reasonOf = (chars: number) => 'r'.repeat(chars)

  it('hold at the edge and not past it', async () => {
    const { store } = await openGraph()
    const add = (count: number) => ({ addWork: many(count).map((n) => work(`w${n}`)) })
    expect(await refusal(store, () => commit(store, 'c', add(LIMITS.addWork + 1)))).toMatchObject(
      refusedAs('invalid', 'addWork has 33 items'),
    )
    await commit(store, 'c1', add(LIMITS.addWork))
    await commit(store, 'c2', { addWork: many(32).map((n) => work(`v${n}`)) })
    await commit(store, 'c3', { addWork: [work('u0')] })

    const inputs = (count: number) => [...many(32).flatMap((n) => [`w${n}`, `v${n}`]), 'u0'].slice(0, count)
    const joins = (count: number) => ({ addWork: [work('join', { inputIds: inputs(count) })] })
    expect(await refusal(store, () => commit(store, 'c', joins(65)))).toMatchObject(
      refusedAs('invalid', /addWork\[0\]\.inputIds has 65/),
    )
    await commit(store, 'c4', joins(64))

    const stops = (count: number) => ({ stop: many(count).map((n) => ({ targetId: `w${n}`, reason: 'r' })) })
    expect(await refusal(store, () => commit(store, 'c', stops(21)))).toMatchObject(
      refusedAs('invalid', 'stop has 21'),
    )
    await commit(store, 'c5', stops(20))

    const long = (chars: number) => ({ addWork: [work('long', { instruction: reasonOf(chars) })] })
    expect(await refusal(store, () => commit(store, 'c', long(60_001)))).toMatchObject(
      refusedAs('invalid', 'instruction has 60001'),
    )
    await commit(store, 'c6', long(60_000))

    const why = (chars: number) => ({ stop: [{ targetId: 'u0', reason: reasonOf(chars) }] })
    expect(await refusal(store, () => commit(store, 'c', why(4_001)))).toMatchObject(
      refusedAs('invalid', 'reason has 4001'),
    )
    await commit(store, 'c7', why(4_000))
  })

  it('count selected results over the whole update', async () => {
    const { store } = await openGraph()
    const selecting = (workId: string, count: number) =>
      work(workId, {
        selectedResultInputs: many(count).map((n) => ({ sourceGraphId: 'before', resultId: `r${n}` })),
      })
    expect(await refusal(store, () => commit(store, 'c', { addWork: [selecting('a', 65)] }))).toMatchObject(
      refusedAs('invalid', 'has 65'),
    )
    expect(
      await refusal(store, () => commit(store, 'c', { addWork: [selecting('a', 40), selecting('b', 25)] })),
    ).toMatchObject(refusedAs('invalid', 'selects 65'))
    await commit(store, 'c1', { addWork: [selecting('a', 40), selecting('b', 24)] })
    expect((await graph(store)).works.get('b')?.selectedResultInputs).toHaveLength(24)
  })

  it('name the cure when an update is too large for one entry', async () => {
    const { store } = await openGraph()
    const addWork = many(32).map((n) => work(`w${n}`, { instruction: '汉'.repeat(60_000) }))
    expect(await refusal(store, () => commit(store, 'c1', { addWork }))).toMatchObject(
      refusedAs('invalid', 'split it'),
    )
  })
})

describe('a graph without an epoch', () => {
  it('begins with its first update and has no root', async () => {
    const { store } = await openStore()
    await commit(store, 'c1', { graphId: 'free', addWork: [work('a')] })
    expect(await graph(store, 'free')).toMatchObject({ rootSessionId: undefined, revision: 1, seq: 1 })
    expect(await store.listOpenGraphs()).toEqual([{ graphId: 'free', rootSessionId: undefined }])
  })

  it('that was never begun reads as nothing, and is not begun by reading', async () => {
    const { store, log } = await openStore()
    expect(await store.readGraph('ghost')).toBeUndefined()
    expect(await store.listScheduleUpdates('ghost')).toEqual([])
    expect(await store.readScheduleUpdate('ghost', 'u')).toBeUndefined()
    expect(await store.listAgentGraphIntentClaims('ghost')).toEqual([])
    expect(await store.readAgentGraphIntentClaim('ghost', 'i')).toBeUndefined()
    expect((await log.list()).streams).toEqual([])
  })
})
