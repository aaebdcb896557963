/** Contract of `remove`: gone as a whole, for readers, listeners, writers and a restart. */
import assert from 'node:assert/strict'
import type { DurableLog, StreamHead } from '../types.ts'
import { assertRefused, dataOf, entry, heard, type LogTest } from './harness.ts'

export function removeContract(test: LogTest): void {
  removing(test)
  order(test)
  telling(test)
  restarting(test)
}

async function fill(log: DurableLog, stream: string): Promise<void> {
  await log.append(stream, 0, [entry(1), entry(2)])
  await log.append(stream, 2, [entry(3)])
  await log.saveSnapshot(stream, 3, { sum: 6 })
}

async function assertGone(log: DurableLog, stream: string): Promise<void> {
  assert.deepEqual(await log.read(stream), [])
  assert.equal(await log.loadSnapshot(stream), undefined)
  assert.ok(
    (await log.list()).streams.every((head) => head.stream !== stream),
    `${stream} is not listed`,
  )
}

function removing(test: LogTest): void {
  test('removes a stream with its entries and its snapshot, and no other one', async (log) => {
    for (const stream of ['a', 'a ', 'a 1', 'ab', 'A']) await fill(log, stream)
    await log.remove('a')
    await assertGone(log, 'a')
    for (const stream of ['a ', 'a 1', 'ab', 'A']) {
      assert.deepEqual(await dataOf(log, stream), [1, 2, 3])
      assert.deepEqual(await log.loadSnapshot(stream), { seq: 3, snapshot: { sum: 6 } })
    }
    assert.deepEqual(
      (await log.list()).streams.map(({ stream }) => stream),
      ['A', 'a ', 'a 1', 'ab'],
    )
  })

  test('removes an unknown stream without an error, and one twice', async (log) => {
    await log.remove('nothing')
    await fill(log, 'a')
    await Promise.all([log.remove('a'), log.remove('a')])
    await log.remove('a')
    assert.deepEqual(await log.list(), { streams: [] })
  })

  test('begins a removed stream anew at seq 1', async (log) => {
    await fill(log, 'a')
    await log.remove('a')
    await assertRefused(log.append('a', 3, [entry('no')]), 'conflict', { stream: 'a', currentSeq: 0 })
    await assertRefused(log.saveSnapshot('a', 1, 'early'), 'conflict', { currentSeq: 0 })
    assert.equal(await log.append('a', 0, [entry('new')]), 1)
    await log.saveSnapshot('a', 1, 'new')
    assert.deepEqual(await dataOf(log, 'a'), ['new'])
    assert.deepEqual(await log.loadSnapshot('a'), { seq: 1, snapshot: 'new' })
    assert.deepEqual(await log.list(), { streams: [{ stream: 'a', seq: 1 }] })
  })

  test('removes a stream of many appends', async (log) => {
    const count = 40
    for (let seq = 0; seq < count; seq += 1) await log.append('a', seq, [entry(seq)])
    await log.append('b', 0, [entry('b')])
    await log.remove('a')
    await assertGone(log, 'a')
    assert.deepEqual(await log.list(), { streams: [{ stream: 'b', seq: 1 }] })
  })

  test('refuses malformed names and a closed log', async (log) => {
    for (const name of [undefined, null, 7, {}, '', 'x'.repeat(513), 'a\nb', '\ud800'] as readonly string[]) {
      await assertRefused(log.remove(name), 'invalid')
    }
    await log.close()
    await assertRefused(log.remove('a'), 'closed')
  })
}

function order(test: LogTest): void {
  test('takes its place among appends in the order of the calls', async (log) => {
    const outcomes = await Promise.all([
      log.append('a', 0, [entry(1), entry(2)]),
      log.remove('a'),
      log.append('a', 0, [entry(3)]),
      log.append('a', 1, [entry(4)]),
      log.remove('a'),
      log.append('a', 'any', [entry(5)]),
    ])
    assert.deepEqual(outcomes, [2, undefined, 1, 2, undefined, 1])
    assert.deepEqual(await dataOf(log, 'a'), [5])
  })

  test('gives a read all of the old stream or all of the new one', async (log) => {
    const count = 1500
    const whole = (label: string) => Array.from({ length: count }, () => entry(label))
    await log.append('a', 0, whole('old'))
    const reads = [log.read('a')]
    await Promise.all([log.remove('a'), log.append('a', 0, whole('new'))])
    reads.push(log.read('a'))
    await log.remove('a')
    reads.push(log.read('a'))
    for (const entries of await Promise.all(reads)) {
      const labels = new Set(entries.map(({ data }) => data))
      assert.ok(labels.size <= 1, 'nothing is mixed')
      assert.ok(entries.length === count || entries.length === 0, 'nothing is cut')
    }
  })
}

function telling(test: LogTest): void {
  test('tells a head with seq 0, then what is appended anew', async (log) => {
    const told: StreamHead[] = []
    const news = heard<StreamHead>()
    await fill(log, 'graph/1')
    log.subscribe('graph/', (head) => {
      told.push(head)
      news.tell(head)
    })
    await log.append('graph/1', 3, [entry(4)])
    await news.first(({ seq }) => seq === 4)
    await log.remove('graph/1')
    await log.append('graph/1', 0, [entry('new')])
    const head = await news.first(({ seq }) => seq === 1)
    // Of the appends before, a listener may still have heard, and more than once.
    const since = told.slice(told.findIndex(({ seq }) => seq === 0))
    assert.ok(Object.isFrozen(since[0]))
    assert.deepEqual(since, [{ stream: 'graph/1', seq: 0 }, head])
  })

  test('tells nothing of the removal of an unknown stream', async (log) => {
    const told: StreamHead[] = []
    const news = heard<StreamHead>()
    log.subscribe('', (head) => {
      told.push(head)
      news.tell(head)
    })
    await log.remove('nothing')
    await log.append('b', 0, [entry(1)])
    await news.first(({ stream }) => stream === 'b')
    assert.deepEqual(told, [{ stream: 'b', seq: 1 }])
  })
}

function restarting(test: LogTest): void {
  test('finds a removed stream gone and the others whole after a restart', async (log, reopen) => {
    await fill(log, 'a')
    await fill(log, 'b')
    await log.remove('a')
    const reopened = await reopen()
    await assertGone(reopened, 'a')
    assert.deepEqual(await dataOf(reopened, 'b'), [1, 2, 3])
    assert.equal(await reopened.append('a', 0, [entry('new')]), 1)
  })

  test('finds what was appended after a removal, and nothing of before, after a restart', async (log, reopen) => {
    await fill(log, 'a')
    await log.remove('a')
    await log.append('a', 0, [entry('new')])
    const reopened = await reopen()
    assert.deepEqual(await dataOf(reopened, 'a'), ['new'])
    assert.equal(await reopened.loadSnapshot('a'), undefined)
    await assertRefused(reopened.append('a', 3, [entry('no')]), 'conflict', { currentSeq: 1 })
  })
}
