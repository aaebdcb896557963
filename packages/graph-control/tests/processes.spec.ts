import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leaseStore, sqliteLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GraphControlStore } from '../src/index.ts'
import { commit, GRAPH, graph, provision, ROOT, work } from './fixture.ts'
import { startWorker, type WorkerProcess } from './fixtures/worker-process.ts'

const WORKER = 'graph-worker.ts'

/** The test's own store on a file with the first epoch open, and the file for others. */
async function openShared() {
  const folder = mkdtempSync(join(tmpdir(), 'graph-processes-'))
  const path = join(folder, 'log.sqlite')
  const log = sqliteLog({ path })
  const store = await GraphControlStore.open(log)
  onTestFinished(async () => {
    await store.close()
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
  const worker = (name: string): Promise<WorkerProcess> => startWorker(WORKER, [path, GRAPH, ROOT, name])
  return { path, log, store, worker }
}

/** Turns a timer of 5 ms while the condition holds. Returns the milliseconds between its turns. */
function turnsWhile(condition: () => boolean): Promise<number[]> {
  return new Promise((resolve) => {
    const gaps: number[] = []
    let last = performance.now()
    const timer = setInterval(() => {
      const now = performance.now()
      gaps.push(now - last)
      last = now
      if (condition()) return
      clearInterval(timer)
      resolve(gaps)
    }, 5)
  })
}

describe('two processes on one file', () => {
  it('lose no update of each other, and number them all', { timeout: 60_000 }, async () => {
    const count = 60
    const { store, worker } = await openShared()
    const workers = await Promise.all(['left', 'right'].map(worker))
    const own = async () => {
      for (let n = 0; n < count; n += 1) await commit(store, `own-${n}`, { addWork: [work(`own-${n}`)] })
    }
    const answers = await Promise.all([...workers.map((held) => held.ask(`update ${count}`)), own()])
    expect(answers.slice(0, 2)).toEqual(['done', 'done'])

    const updates = await store.listScheduleUpdates(GRAPH)
    expect(updates.map((update) => update.revision)).toEqual(
      Array.from({ length: 3 * count }, (_, n) => n + 1),
    )
    for (const name of ['left', 'right', 'own']) {
      const ids = updates.flatMap(({ addWork }) => addWork.map(({ workId }) => workId))
      const numbers = ids
        .filter((id) => id.startsWith(`${name}-`))
        .map((id) => Number(id.slice(name.length + 1)))
      expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n))
    }
    expect((await graph(store)).counts).toMatchObject({ works: 3 * count, pending: 3 * count })
  })

  it('claim each work once between them', { timeout: 60_000 }, async () => {
    const { store, worker } = await openShared()
    const ids = Array.from({ length: 24 }, (_, n) => `w${n}`)
    await commit(store, 'c1', { addWork: ids.map((id) => work(id)) })
    for (const id of ids) await provision(store, id)
    const [left, right] = await Promise.all(['left', 'right'].map(worker))
    if (left === undefined || right === undefined) throw new Error('two workers were started')
    // From both ends, so that they meet.
    const [one, other] = await Promise.all([
      left.ask(`claim ${ids.join(',')}`),
      right.ask(`claim ${ids.toReversed().join(',')}`),
    ])
    expect([...one.split(','), ...other.split(',')].filter((id) => id !== '').sort()).toEqual([...ids].sort())
    const state = await graph(store)
    expect(state.live.claims.size).toBe(ids.length)
    for (const claim of state.claims.values()) {
      const winner = one.split(',').includes(claim.workId) ? 'left' : 'right'
      expect(claim.targetRunId).toBe(`${winner} run of ${claim.workId}`)
    }
  })

  it('go on while a third one holds the lock for two seconds', { timeout: 60_000 }, async () => {
    const { path, store } = await openShared()
    await commit(store, 'c1', { addWork: [work('a')] })
    const locker = await startWorker('locker.ts', [path, '2000'])
    expect(await locker.nextLine()).toBe('locked')
    const lock = { isHeld: true }
    const unlocked = locker.nextLine().then((line) => {
      lock.isHeld = false
      return line
    })
    const writes = Promise.all(
      Array.from({ length: 12 }, (_, n) => commit(store, `d${n}`, { addWork: [work(`d${n}`)] })),
    )
    let reads = 0
    const reading = turnsWhile(() => {
      void store.readGraph(GRAPH).then(() => (reads += 1))
      return lock.isHeld
    })
    const gaps = await turnsWhile(() => lock.isHeld)
    expect(await unlocked).toBe('unlocked')
    // Without a freeze of more than 50 ms two seconds hold at least 40 turns, and usually some
    // hundreds. A busy machine may stretch a few; waiting for the lock would stretch every one.
    expect(gaps.length).toBeGreaterThan(80)
    expect(gaps.filter((gap) => gap > 50).length).toBeLessThan(gaps.length / 20)
    await reading
    expect(reads).toBeGreaterThan(10)
    expect((await writes).map((update) => update.revision)).toEqual(
      Array.from({ length: 12 }, (_, n) => n + 2),
    )
  })
})

describe('the lease of a root between processes', () => {
  it('is refused to a second holder while the first lives, and passes on when it is killed', async () => {
    const { log, store, worker } = await openShared()
    const [first, second] = await Promise.all(['first', 'second'].map(worker))
    if (first === undefined || second === undefined) throw new Error('two workers were started')
    expect(await first.ask('acquire')).toBe('epoch 1')
    expect(await first.ask('commit a')).toBe('1')
    expect(await second.ask('acquire')).toBe(`lease-held ${first.pid}`)
    await expect(leaseStore({ log }).acquire(ROOT)).rejects.toMatchObject({ code: 'lease-held' })
    await first.kill()
    expect(await second.ask('acquire')).toBe('epoch 2')
    expect(await second.ask('commit b')).toBe('2')
    const state = await graph(store)
    expect([...state.works.keys()]).toEqual(['a', 'b'])
    expect(state.fence).toEqual({ epoch: 2, holderId: 'second' })
  })

  it('is not held by what a killed holder had asked for and was not told of', async () => {
    const { store, worker } = await openShared()
    const first = await worker('first')
    expect(await first.ask('acquire')).toBe('epoch 1')
    // It dies on the way: the commit is there once, or not at all.
    const dying = first.ask('commit a').catch(() => 'no answer')
    await first.kill()
    const answer = await dying
    const second = await worker('second')
    expect(await second.ask('acquire')).toBe('epoch 2')
    expect(await second.ask('commit b')).toMatch(answer === '1' ? /^2$/ : /^[12]$/)
    expect([...(await graph(store)).works.keys()].filter((id) => id === 'b')).toEqual(['b'])
  })
})
