import { type DurableLog, memoryLog } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it, vi } from 'vitest'
import { GraphControlStore, graphOperatorId, type GraphState } from '../src/index.ts'
import {
  begin,
  claim,
  claimRequest,
  commit,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openLog,
  plain,
  provision,
  provisionRequest,
  refusal,
  refusedAs,
  ROOT,
  settlement,
  statuses,
  storeOn,
  update,
  work,
} from './fixture.ts'
import { attemptId, LATER_HISTORY, wakeId, WHOLE_HISTORY } from './whole-history.ts'

function failingOnce(log: DurableLog, append: number, when: 'before' | 'after'): DurableLog {
  return faultyLog(log, [{ at: `${when}-append`, when: append, fault: 'fail' }])
}

/** A log that counts how many appends were asked for. */
function counted(inner: DurableLog) {
  let appends = 0
  const log = faultyLog(inner, [{ at: 'before-append', fault: 'call', call: () => (appends += 1) }])
  return { log, appends: () => appends }
}

/** A state without what differs between two clocks. */
function timeless(state: GraphState | undefined): unknown {
  return JSON.parse(JSON.stringify(plain(state), (key, value: unknown) => (key.endsWith('At') ? 0 : value)))
}

/** Memory is what the medium is, whatever became of the last write. */
async function expectMemoryIsMedium(store: GraphControlStore, log: DurableLog): Promise<void> {
  const fresh = await storeOn(log)
  expect(plain(await store.readGraph(GRAPH))).toEqual(plain(await fresh.readGraph(GRAPH)))
}

/** Plays the history, each step again when its write failed. */
async function play(log: DurableLog, history: typeof WHOLE_HISTORY): Promise<GraphControlStore> {
  const store = await storeOn(log)
  for (const step of history) {
    const failed: unknown = await step(store).then(
      () => undefined,
      (error: unknown) => error,
    )
    await expectMemoryIsMedium(store, log)
    if (failed === undefined) continue
    expect(failed).toMatchObject({ code: 'unavailable' })
    await step(store)
  }
  return store
}

describe('a write that fails', () => {
  it.each([
    // Opening the epoch writes two streams, and so does settling; every other step writes one.
    ['the first kinds', WHOLE_HISTORY, WHOLE_HISTORY.length + 2],
    // Here one settling has two artifacts.
    ['the later kinds', LATER_HISTORY, LATER_HISTORY.length + 5],
  ] as const)(
    'leaves nothing behind that a repetition would not, wherever it is (%s)',
    async (_, history, writes) => {
      const undisturbed = counted(memoryLog())
      const expected = timeless(await graph(await play(undisturbed.log, history)))
      expect(undisturbed.appends()).toBe(writes)
      for (let append = 1; append <= writes; append++) {
        for (const when of ['before', 'after'] as const) {
          const log = failingOnce(memoryLog(), append, when)
          const store = await play(log, history)
          expect(timeless(await graph(store)), `append ${append} fails ${when}`).toEqual(expected)
          const recordId = (await onlyRecord(store)) ?? ''
          expect(await (await storeOn(log)).readResult(GRAPH, recordId)).toMatchObject({
            text: 'result of a',
          })
        }
      }
    },
  )

  it.each<['before' | 'after', boolean, number]>([
    ['before', true, 0],
    ['after', false, 1],
  ])('%s it was written answers its repetition created: %s', async (when, created, revision) => {
    const { log } = await openLog('sqlite')
    const store = await storeOn(failingOnce(log, 1, when))
    const request = update('c1', { addWork: [work('a')] })
    await expect(store.commitScheduleUpdate(request)).rejects.toMatchObject({ code: 'unavailable' })
    expect((await store.readGraph(GRAPH))?.revision ?? 0).toBe(revision)
    expect(await store.commitScheduleUpdate(request)).toMatchObject({ created, update: { revision: 1 } })
    expect((await commit(store, 'c2', { addWork: [work('b')] })).revision).toBe(2)
    expect(await statuses(await storeOn(log))).toEqual({ a: 'ready', b: 'ready' })
  })

  it('is announced when it was written all the same, so that nobody sleeps on it', async () => {
    const store = await storeOn(failingOnce(memoryLog(), 1, 'after'))
    const heard: number[] = []
    store.onCommitted(({ revision }) => heard.push(revision))
    await expect(commit(store, 'c1', {})).rejects.toMatchObject({ code: 'unavailable' })
    expect(heard).toEqual([1])
  })

  it('does not stop the writes that wait behind it', async () => {
    const store = await storeOn(failingOnce(memoryLog(), 2, 'before'))
    const next = (n: number) => commit(store, `c${n}`, { addWork: [work(`w${n}`)] })
    await next(1)
    // What is asked for while an append is under way shares the next one, and its failure.
    const failing = Promise.allSettled([next(2), next(3)])
    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const behind = await Promise.all([next(2), next(3), next(4)])
    expect(behind.map(({ revision }) => revision)).toEqual([2, 3, 4])
    expect((await store.listScheduleUpdates(GRAPH)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4])
  })

  async function onlyRecord(store: GraphControlStore) {
    return [...(await graph(store)).records.keys()][0]
  }
})

describe.each(MEDIA)('two stores on one log (%s)', (medium) => {
  const pair = async () => {
    const { store, log } = await openGraph(medium)
    const other = await storeOn(log)
    // Both have the graph in memory before either writes.
    await graph(other)
    return { one: store, two: other, log }
  }

  it('lose no update and number them without a hole', async () => {
    const { one, two } = await pair()
    const updates = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        commit(n % 2 === 0 ? one : two, `c${n}`, { addWork: [work(`w${n}`)] }),
      ),
    )
    const revisions = updates.map(({ revision }) => revision).sort((a, b) => a - b)
    expect(revisions).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
    expect(plain(await graph(one))).toEqual(plain(await graph(two)))
  })

  it('see what the other committed before they refuse or answer', async () => {
    const { one, two } = await pair()
    await commit(one, 'c1', { addWork: [work('a')] })
    await two.provisionOperator(provisionRequest('a', 1))
    const { created } = await one.claimIntentAtScheduleRevision(claimRequest('a'), 1)
    expect(created).toBe(true)
    expect((await two.claimIntent(claimRequest('a'))).created).toBe(false)
    await commit(two, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    expect(
      await one.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, claimRequest('a').intentId, 2),
    ).toEqual({
      state: 'cancelled',
      previousState: 'cancelled',
      changed: false,
    })
  })

  it('compare with the medium before they say that nothing is to be done', async () => {
    const { one, two } = await pair()
    await commit(one, 'c1', { addWork: [work('a')] })
    const { intentId } = await begin(one, 'a')
    await two.cancelAgentGraphIntentExecution(GRAPH, intentId, 'no')
    const begun = await one.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, 1)
    expect(begun).toEqual({ state: 'cancelled', previousState: 'cancelled', changed: false })
  })

  it('take in what the other wrote once, however many ask at the same time', async () => {
    const { one, two } = await pair()
    for (let n = 0; n < 5; n++) await commit(two, `c${n}`, { addWork: [work(`w${n}`)] })
    const reads = await Promise.all([
      graph(one),
      commit(one, 'mine', { addWork: [work('mine')] }),
      graph(one),
      graph(one),
    ])
    expect(reads.map((read) => read.revision)).toContain(6)
    expect(plain(await graph(one))).toEqual(plain(await graph(two)))
  })

  it('hold every rule across both', async () => {
    const { one, two } = await pair()
    await commit(one, 'c1', { addWork: [work('a'), work('b')] })
    expect(await refusal(two, () => commit(two, 'c2', { addWork: [work('a')] }))).toMatchObject(
      refusedAs('work-conflict', 'taken'),
    )
    await claim(one, 'a')
    await provision(two, 'b')
    const stolen = { ...claimRequest('b'), targetRunId: 'run-of-a' }
    expect(await refusal(two, () => two.claimIntent(stolen))).toMatchObject(
      refusedAs('intent-claim-conflict'),
    )
    const stop = [{ targetId: GRAPH, reason: 'no' }]
    await commit(two, 'c3', { stop, finish: { resultIds: [], reason: 'end' } })
    expect(await refusal(one, () => commit(one, 'c4', { addWork: [work('c')] }))).toMatchObject(
      refusedAs('schedule-closed'),
    )
    expect(await refusal(one, () => one.claimIntent(claimRequest('b')))).toMatchObject(
      refusedAs('schedule-closed'),
    )
  })

  it('have one winner for a claim, a settling and a wake', async () => {
    const { one, two } = await pair()
    await commit(one, 'c1', { addWork: [work('a'), work('b')] })
    await provision(one, 'a')
    const claimed = await Promise.all([one, two].map((store) => store.claimIntent(claimRequest('a'))))
    expect(claimed.map(({ created }) => created).sort()).toEqual([false, true])
    const begun = await Promise.all(
      [one, two].map((store) =>
        store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, claimRequest('a').intentId, 1),
      ),
    )
    expect(begun.filter(({ changed }) => changed)).toHaveLength(1)
    const settled = await Promise.all(
      [one, two].map((store, n) => store.settleActivation(settlement('a', { conclusion: `from ${n}` }))),
    )
    expect(settled.map(({ created }) => created).sort()).toEqual([false, true])
    expect(settled[0]?.record).toEqual(settled[1]?.record)
    const record = settled[0]?.record
    expect((await one.readResult(GRAPH, record?.recordId ?? '')).text).toBe(record?.summary)
    const wake = { graphId: GRAPH, wakeId, snapshotVersion: 1, rootSessionId: ROOT }
    const woken = await Promise.all([one, two].map((store) => store.claimSupervisorWake(wake)))
    expect(woken.map(({ created }) => created).sort()).toEqual([false, true])
    const attempts = await Promise.all(
      [one, two].map((store) => store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId })),
    )
    expect(attempts.map(({ acquired }) => acquired).sort()).toEqual([false, true])
  })
})

describe('commits', () => {
  it('are announced once each, after they are durable, with the state they led to', async () => {
    const { store, log } = await openGraph()
    const seen: unknown[] = []
    const undo = store.onCommitted((state) => seen.push([state.graphId, state.seq, state.revision]))
    await commit(store, 'c1', { addWork: [work('a')] })
    await commit(store, 'c1', { addWork: [work('a')] })
    expect(await refusal(store, () => commit(store, 'c2', { addWork: [work('a')] }))).toMatchObject(
      refusedAs('work-conflict'),
    )
    expect(seen).toEqual([[GRAPH, 2, 1]])
    const [head] = (await log.list({ prefix: 'graph/' })).streams
    expect(head?.seq).toBe(2)
    undo()
    await commit(store, 'c3', { addWork: [work('b')] })
    expect(seen).toHaveLength(1)
  })

  it('of another process are announced although somebody had read them before the log told of them', async () => {
    const plain = memoryLog()
    const late: (() => void)[] = []
    /** A log of another process tells what is new only when it looks. */
    const subscribe: DurableLog['subscribe'] = (prefix, listener) =>
      plain.subscribe(prefix, (head) => void late.push(() => listener(head)))
    const log = new Proxy(plain, {
      get: (target, name) => {
        const member: unknown = name === 'subscribe' ? subscribe : Reflect.get(target, name)
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      },
    })
    const [here, there] = [await GraphControlStore.open(log), await GraphControlStore.open(plain)]
    await commit(there, 'c1', { addWork: [work('a')] })
    await here.readGraph(GRAPH)
    const heard: number[] = []
    here.onCommitted(({ seq }) => heard.push(seq))
    await commit(there, 'c2', { addWork: [work('b')] })
    // A page asks for something of it, a commit of its own is refused.
    const state = await here.readGraph(GRAPH)
    await expect(commit(here, 'c3', { addWork: [work('a')] })).rejects.toMatchObject({
      code: 'work-conflict',
    })
    await vi.waitFor(() => expect(late).not.toEqual([]))
    for (const tell of late.splice(0)) tell()
    await vi.waitFor(() => expect(heard).toEqual([state?.seq]))
  })

  it('of this process cost no reading of the log for that', async () => {
    let reads = 0
    const plain = memoryLog()
    const log = new Proxy(plain, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        if (name === 'read') reads += 1
        return (...args: readonly unknown[]) => Reflect.apply(member, target, args) as unknown
      },
    })
    const store = await GraphControlStore.open(log)
    store.onCommitted(() => undefined)
    await commit(store, 'c1', { addWork: [work('a')] })
    const before = reads
    for (const name of ['b', 'c', 'd']) await commit(store, `c-${name}`, { addWork: [work(name)] })
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(reads).toBe(before)
  })

  it('are not held up by a listener that throws, and the other listeners hear of them', async () => {
    const reported: unknown[] = []
    const store = await GraphControlStore.open(memoryLog(), { report: (error) => reported.push(error) })
    const heard: number[] = []
    store.onCommitted(() => {
      throw new Error('listener broke')
    })
    store.onCommitted(({ seq }) => heard.push(seq))
    await commit(store, 'c1', { addWork: [work('a')] })
    expect(heard).toEqual([1])
    expect(reported).toEqual([new Error('listener broke')])
  })

  it('of one graph are decided one after the other and written together, none of them twice', async () => {
    const { log, ...writes } = counted(memoryLog())
    const store = await storeOn(log)
    const updates = await Promise.all(Array.from({ length: 200 }, (_, n) => commit(store, `c${n}`, {})))
    expect(updates.map(({ revision }) => revision)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    expect(writes.appends()).toBeLessThan(20)
    expect(await (await storeOn(log)).listScheduleUpdates(GRAPH)).toEqual(
      await store.listScheduleUpdates(GRAPH),
    )
  })

  it('that share an append are refused one by one', async () => {
    const store = await storeOn(memoryLog())
    const outcomes = await Promise.allSettled([
      commit(store, 'c1', { addWork: [work('a')] }),
      commit(store, 'c2', { addWork: [work('b')] }),
      commit(store, 'c3', { addWork: [work('b')] }),
      commit(store, 'c4', { addWork: [work('c', { inputIds: ['b'] })] }),
    ])
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect((await store.listScheduleUpdates(GRAPH)).map(({ revision }) => revision)).toEqual([1, 2, 3])
  })

  it('of other graphs do not wait for each other', async () => {
    const gate = Promise.withResolvers<void>()
    const isSlow = ({ stream }: { stream: string }) => stream === 'graph/slow'
    const plan = [{ at: 'before-append', when: isSlow, fault: 'delay', until: gate.promise }] as const
    const store = await storeOn(faultyLog(memoryLog(), plan))
    const slow = commit(store, 'c1', { graphId: 'slow' })
    await commit(store, 'c2', { graphId: 'quick' })
    gate.resolve()
    expect((await slow).revision).toBe(1)
  })
})

describe('closing', () => {
  it('finishes what is under way, refusal, refusedAs what comes later, and leaves the log open', async () => {
    const { store, log } = await openGraph()
    const underWay = commit(store, 'c1', { addWork: [work('a')] })
    const closing = store.close()
    await expect(commit(store, 'c2', {})).rejects.toMatchObject({ code: 'closed' })
    await expect(store.readGraph(GRAPH)).rejects.toMatchObject({ code: 'closed' })
    await expect(store.listOpenGraphs()).rejects.toMatchObject({ code: 'closed' })
    await closing
    expect((await underWay).revision).toBe(1)
    await store.close()
    expect(await log.read(`graph/${GRAPH}`)).toHaveLength(2)
  })

  it('is not needed for another store to take over', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    const reopened = await reopenStore()
    expect((await graph(reopened)).operators.has(graphOperatorId(GRAPH, 'a'))).toBe(true)
    expect((await reopened.settleActivation(settlement('a'))).work.status).toBe('completed')
  })
})
