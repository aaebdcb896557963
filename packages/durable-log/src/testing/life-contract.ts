/** Contract of `subscribe`, `close`, and of what a restart finds. */
import assert from 'node:assert/strict'
import type { DurableLog, StreamHead } from '../types.ts'
import { assertRefused, dataOf, entry, heard, type LogTest } from './harness.ts'

export function lifeContract(test: LogTest): void {
  subscribing(test)
  closing(test)
  reopening(test)
}

function subscribing(test: LogTest): void {
  test('tells a listener about appends to its prefix after they are readable', async (log) => {
    const news = heard<{ head: StreamHead; readable: Promise<number> }>()
    log.subscribe('graph/', (head) =>
      news.tell({ head, readable: log.read(head.stream).then((entries) => entries.length) }),
    )
    await log.append('run/1', 0, [entry(0)])
    await log.append('graph/1', 0, [entry(1), entry(2)])
    const { head, readable } = await news.first(() => true)
    assert.deepEqual(head, { stream: 'graph/1', seq: 2 })
    assert.equal(await readable, 2)
  })

  test('tells the newest head of each of many streams', async (log) => {
    const news = heard<StreamHead>()
    log.subscribe('', news.tell)
    const names = ['a', 'b', 'c']
    await Promise.all(names.flatMap((name) => [1, 2, 3].map((n) => log.append(name, 'any', [entry(n)]))))
    for (const name of names) {
      const head = await news.first(({ stream, seq }) => stream === name && seq === 3)
      assert.ok(Object.isFrozen(head))
    }
  })

  test('tells nothing of a refused append, and nothing after the undo', async (log) => {
    const heardByGone: StreamHead[] = []
    const undo = log.subscribe('', (head) => heardByGone.push(head))
    undo()
    undo()
    const news = heard<StreamHead>()
    const all: StreamHead[] = []
    log.subscribe('', (head) => {
      all.push(head)
      news.tell(head)
    })
    await assertRefused(log.append('a', 5, [entry(1)]), 'conflict')
    await log.append('b', 0, [entry(1)])
    await news.first(({ stream }) => stream === 'b')
    assert.deepEqual(all, [{ stream: 'b', seq: 1 }])
    assert.deepEqual(heardByGone, [])
  })
}

function closing(test: LogTest): void {
  test('finishes what is under way, then refuses everything', async (log) => {
    const appends = Array.from({ length: 10 }, (_, index) => log.append('a', index, [entry(index)]))
    await log.close()
    assert.deepEqual(await Promise.all(appends), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await assertRefused(log.append('a', 'any', [entry(1)]), 'closed')
    await assertRefused(log.read('a'), 'closed')
    await assertRefused(log.list(), 'closed')
    await assertRefused(log.saveSnapshot('a', 1, 1), 'closed')
    await assertRefused(log.loadSnapshot('a'), 'closed')
    assert.throws(() => log.subscribe('', () => undefined), { code: 'closed' })
  })

  test('closes twice, before use and concurrently', async (log) => {
    await Promise.all([log.close(), log.close()])
    await log.close()
  })
}

function reopening(test: LogTest): void {
  const state = async (log: DurableLog) => ({
    a: await log.read('a'),
    b: await log.read('b'),
    heads: await log.list(),
    snapshot: await log.loadSnapshot('a'),
  })

  test('finds every acknowledged append and snapshot again, unchanged', async (log, reopen) => {
    await log.append('a', 0, [entry({ n: 1 }), entry({ n: 2 })])
    await Promise.all([log.append('a', 2, [entry(3)]), log.append('b', 0, [entry('b')])])
    await log.saveSnapshot('a', 2, { sum: 3 })
    const before = await state(log)
    const reopened = await reopen()
    assert.deepEqual(await state(reopened), before)
  })

  test('goes on at the same seq after a restart', async (log, reopen) => {
    await log.append('a', 0, [entry(1)])
    const reopened = await reopen()
    await assertRefused(reopened.append('a', 0, [entry('no')]), 'conflict', { currentSeq: 1 })
    assert.equal(await reopened.append('a', 1, [entry(2)]), 2)
    assert.deepEqual(await dataOf(reopened, 'a'), [1, 2])
  })

  test('keeps refusing an older snapshot after a restart', async (log, reopen) => {
    await log.append('a', 0, [entry(1), entry(2)])
    await log.saveSnapshot('a', 2, 'new')
    const reopened = await reopen()
    await assertRefused(reopened.saveSnapshot('a', 1, 'old'), 'conflict')
    assert.deepEqual(await reopened.loadSnapshot('a'), { seq: 2, snapshot: 'new' })
  })
}
