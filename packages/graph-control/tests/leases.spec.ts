import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { leaseStore, sqliteLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GraphControlStore, type GraphLease } from '../src/index.ts'
import {
  begin,
  claimRequest,
  commit,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openLog,
  openStore,
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

/** A lease that the test takes away. */
function lease(epoch: number, parts: Partial<GraphLease> = {}): GraphLease & { lose(): void } {
  let isHeld = true
  return {
    rootSessionId: ROOT,
    epoch,
    holderId: `holder-${epoch}`,
    assertHeld: () => {
      if (!isHeld) throw Object.assign(new Error('the lease is gone'), { code: 'lease-lost' })
    },
    lose: () => (isHeld = false),
    ...parts,
  }
}

async function fences(log: { read(stream: string): Promise<readonly { type: string; data: unknown }[]> }) {
  return (await log.read(`graph/${GRAPH}`)).filter(({ type }) => type === 'fence').map(({ data }) => data)
}

describe.each(MEDIA)('a store under a lease on %s', (medium) => {
  it('says so once in the graph, with its first commit, and what is committed is ordinary', async () => {
    const { store, log, reopenStore } = await openGraph(medium)
    const leased = store.leased(lease(3))
    const add = (call: string, id: string) =>
      leased.commitScheduleUpdate(update(call, { addWork: [work(id)] }))
    expect(await add('c1', 'a')).toMatchObject({ created: true, update: { revision: 1 } })
    await add('c2', 'b')
    expect(await add('c1', 'a')).toMatchObject({ created: false })
    expect(await fences(log)).toMatchObject([{ epoch: 3, holderId: 'holder-3' }])
    const state = await graph(await reopenStore())
    expect(state).toMatchObject({ fence: { epoch: 3, holderId: 'holder-3' }, revision: 2, seq: 4 })
  })

  it('is refused once a later holder took the graph, whatever it asks for', async () => {
    const { log } = await openLog(medium)
    const [one, two] = [await storeOn(log), await storeOn(log)]
    await one.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    const [old, next] = [one.leased(lease(1)), two.leased(lease(2))]
    await old.commitScheduleUpdate(update('c1', { addWork: [work('a'), work('b')] }))
    await begin(one, 'a')
    await next.takeGraph(GRAPH)
    const operations = [
      () => old.commitScheduleUpdate(update('c2', { addWork: [work('z')] })),
      () => old.provisionOperator(provisionRequest('b', 1)),
      () => old.settleActivation(settlement('a')),
      () => old.claimIntent(claimRequest('a')),
      () => old.acknowledgeChanges(GRAPH, 0),
      () => old.recoverSupervisorWakes(GRAPH),
      () => old.takeGraph(GRAPH),
    ]
    for (const operation of operations) {
      expect(await refusal(two, operation)).toMatchObject(refusedAs('lease-lost', 'holder-2'))
    }
    expect((await log.list({ prefix: 'result/' })).streams).toEqual([])
    expect((await next.settleActivation(settlement('a'))).work.status).toBe('completed')
    expect((await old.readGraph(GRAPH))?.works.get('a')?.status).toBe('completed')
  })
})

describe('a store under a lease', () => {
  it('is refused what the lease refuses, before anything is written', async () => {
    const { store, log } = await openStore()
    const held = lease(1)
    const leased = store.leased(held)
    await leased.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await leased.commitScheduleUpdate(update('c1', { addWork: [work('a')] }))
    held.lose()
    const before = await log.list()
    const operations = [
      () => leased.commitScheduleUpdate(update('c2', { addWork: [work('b')] })),
      () => leased.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 1 }),
      () => leased.createGraph({ graphId: 'g', rootSessionId: ROOT }),
      () => leased.purge(ROOT),
      () => leased.compact(ROOT),
    ]
    for (const operation of operations)
      await expect(operation()).rejects.toMatchObject({ code: 'lease-lost' })
    expect(await log.list()).toEqual(before)
    expect((await store.commitScheduleUpdate(update('c2', { addWork: [work('b')] }))).created).toBe(true)
  })

  it('opens an epoch and takes it in one append', async () => {
    const { store, log } = await openStore()
    await store.leased(lease(7)).advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    expect((await log.read(`graph/${GRAPH}`)).map(({ type }) => type)).toEqual(['graph/opened', 'fence'])
  })

  it('is for one root, and for none where a graph has none yet', async () => {
    const { store } = await openGraph()
    const foreign = store.leased(lease(1, { rootSessionId: 'other' }))
    const add = () => foreign.commitScheduleUpdate(update('c1', { addWork: [work('a')] }))
    expect(await refusal(store, add)).toMatchObject(refusedAs('invalid', 'the lease is for root other'))
    for (const operation of [
      () => foreign.purge(ROOT),
      () => foreign.compact(ROOT),
      () => foreign.createGraph({ graphId: 'g', rootSessionId: ROOT }),
      () => foreign.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 }),
    ]) {
      expect(await refusal(store, operation)).toMatchObject(refusedAs('invalid', 'lease is for root other'))
    }
  })

  it('takes a graph once, and one that is not there not at all', async () => {
    const { store, log } = await openGraph()
    const leased = store.leased(lease(2))
    await leased.takeGraph(GRAPH)
    await leased.takeGraph(GRAPH)
    await leased.takeGraph('ghost')
    expect(await fences(log)).toHaveLength(1)
    expect((await log.list()).streams).toHaveLength(2)
    expect(await refusal(store, () => store.takeGraph(GRAPH))).toMatchObject(
      refusedAs('invalid', 'needs a store under a lease'),
    )
  })

  it('is closed with its store, and does not close it', async () => {
    const { store } = await openGraph()
    const leased = store.leased(lease(1))
    await leased.close()
    expect(await statuses(store)).toEqual({})
    await store.close()
    await expect(leased.readGraph(GRAPH)).rejects.toMatchObject({ code: 'closed' })
    expect(() => store.leased(lease(1))).toThrow(expect.objectContaining({ code: 'closed' }))
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no object', 7],
    ['no way to ask', { rootSessionId: ROOT, epoch: 1, holderId: 'h' }],
    ['epoch 0', lease(0)],
    ['half an epoch', lease(1.5)],
    ['a holder of two lines', lease(1, { holderId: 'a\nb' })],
    ['a huge holder', lease(1, { holderId: 'x'.repeat(300) })],
  ])('is refused a lease that is %s', async (_, bad) => {
    const { store } = await openStore()
    expect(() => store.leased(bad as GraphLease)).toThrow(expect.objectContaining({ code: 'invalid' }))
  })

  it('takes the lease of the durable log', async () => {
    const { log } = await openLog('sqlite')
    const held = await leaseStore({ log }).acquire(ROOT)
    const store = await storeOn(log)
    await store.leased(held).advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    expect((await graph(store)).fence).toEqual({ epoch: held.epoch, holderId: held.holderId })
    await held.release()
    await expect(store.leased(held).takeGraph(GRAPH)).rejects.toMatchObject({ code: 'lease-lost' })
    await expect(
      store.leased(held).commitScheduleUpdate(update('c1', { addWork: [work('a')] })),
    ).rejects.toMatchObject({ code: 'lease-lost' })
  })
})

/** The child of fixtures/lease-child.ts, on the same file as the test's own store. */
async function twoProcesses() {
  const folder = mkdtempSync(join(tmpdir(), 'graph-lease-'))
  const path = join(folder, 'log.sqlite')
  const log = sqliteLog({ path })
  const store = await GraphControlStore.open(log)
  await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
  const script = fileURLToPath(new URL('fixtures/lease-child.ts', import.meta.url))
  const child = spawn(process.execPath, [script, path, GRAPH, ROOT, '1'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  onTestFinished(async () => {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await exited
    await store.close()
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const nextLine = async () => String((await lines.next()).value)
  expect(await nextLine()).toBe('ready')
  return { store, child, nextLine, tell: (line: string) => child.stdin.write(`${line}\n`) }
}

describe('a holder that was frozen', () => {
  it('looks again where others wrote meanwhile, and is refused where a later holder took the graph', async () => {
    const { store, child, nextLine, tell } = await twoProcesses()
    tell('first')
    expect(await nextLine()).toBe('revision 1')
    child.kill('SIGSTOP')
    tell('second')
    await commit(store, 'c1', { addWork: [work('a')] })
    child.kill('SIGCONT')
    expect(await nextLine()).toBe('revision 3')
    child.kill('SIGSTOP')
    tell('third')
    await store.leased(lease(2)).takeGraph(GRAPH)
    child.kill('SIGCONT')
    expect(await nextLine()).toBe('lease-lost')
    expect(Object.keys(await statuses(store))).toEqual(['first', 'a', 'second'])
    expect((await graph(store)).fence).toEqual({ epoch: 2, holderId: 'holder-2' })
  })
})
