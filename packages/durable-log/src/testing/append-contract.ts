/** Contract of `append`: conditions, atomicity, order. */
import assert from 'node:assert/strict'
import { assertRefusal, assertRefused, dataOf, entry, type LogTest } from './harness.ts'

export function appendContract(test: LogTest): void {
  conditions(test)
  concurrency(test)
  aborts(test)
}

function conditions(test: LogTest): void {
  test('appends to a new stream at 0 and returns the seq of the last entry', async (log) => {
    assert.equal(await log.append('a', 0, [entry(1), entry(2)]), 2)
    assert.equal(await log.append('a', 2, [entry(3)]), 3)
    assert.deepEqual(await dataOf(log, 'a'), [1, 2, 3])
  })

  test('refuses an append at a wrong seq and says where the stream is', async (log) => {
    await log.append('a', 0, [entry(1), entry(2)])
    await assertRefused(log.append('a', 1, [entry('no')]), 'conflict', { stream: 'a', currentSeq: 2 })
    await assertRefused(log.append('a', 3, [entry('no')]), 'conflict', { currentSeq: 2 })
    await assertRefused(log.append('a', 0, [entry('no')]), 'conflict', { currentSeq: 2 })
    await assertRefused(log.append('new', 1, [entry('no')]), 'conflict', { currentSeq: 0 })
    assert.deepEqual(await dataOf(log, 'a'), [1, 2])
    assert.deepEqual(await dataOf(log, 'new'), [])
  })

  test('appends at any seq when told so', async (log) => {
    assert.equal(await log.append('a', 'any', [entry(1)]), 1)
    assert.equal(await log.append('a', 'any', [entry(2)]), 2)
  })

  test('appends all entries of a call or none', async (log) => {
    const entries = Array.from({ length: 50 }, (_, index) => entry(index))
    await log.append('a', 0, entries)
    await assertRefused(log.append('a', 0, entries), 'conflict', { currentSeq: 50 })
    await assertRefused(log.append('a', 50, [...entries, { type: '', data: 0 }]), 'invalid')
    assert.equal((await log.read('a')).length, 50)
  })

  test('keeps streams apart', async (log) => {
    await log.append('a', 0, [entry('a')])
    await log.append('ab', 0, [entry('ab')])
    await log.append('A', 0, [entry('A')])
    assert.deepEqual(await dataOf(log, 'a'), ['a'])
    assert.deepEqual(await dataOf(log, 'ab'), ['ab'])
    assert.deepEqual(await dataOf(log, 'A'), ['A'])
  })
}

function concurrency(test: LogTest): void {
  test('lets exactly one of many concurrent appends at the same seq win', async (log) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => log.append('a', 0, [entry(index), entry(index)])),
    )
    const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []))
    assert.equal(winners.length, 1)
    assert.deepEqual(await dataOf(log, 'a'), [winners[0], winners[0]])
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        assertRefusal(outcome.reason, { code: 'conflict', currentSeq: 2 })
      }
    }
  })

  test('puts concurrent appends at any seq into the order of the calls', async (log) => {
    const count = 100
    const seqs = await Promise.all(
      Array.from({ length: count }, (_, index) => log.append('a', 'any', [entry(index)])),
    )
    assert.deepEqual(
      seqs,
      Array.from({ length: count }, (_, index) => index + 1),
    )
    assert.deepEqual(
      await dataOf(log, 'a'),
      Array.from({ length: count }, (_, index) => index),
    )
  })

  test('lets a conflicting append fail alone among concurrent ones', async (log) => {
    const [first, second, third] = await Promise.allSettled([
      log.append('a', 0, [entry('first')]),
      log.append('a', 0, [entry('second')]),
      log.append('a', 1, [entry('third')]),
    ])
    assert.deepEqual([first?.status, second?.status, third?.status], ['fulfilled', 'rejected', 'fulfilled'])
    assert.deepEqual(await dataOf(log, 'a'), ['first', 'third'])
  })

  test('shows an append to a read that follows it', async (log) => {
    for (let seq = 0; seq < 10; seq += 1) {
      await log.append('a', seq, [entry(seq)])
      assert.equal((await log.read('a')).length, seq + 1)
    }
  })
}

function aborts(test: LogTest): void {
  test('writes nothing when the signal fired before the call', async (log) => {
    const signal = AbortSignal.abort(new Error('stop'))
    await assertRefused(log.append('a', 0, [entry(1)], { signal }), 'aborted')
    assert.deepEqual(await dataOf(log, 'a'), [])
  })

  test('appends with a signal that never fires, and a later abort changes nothing', async (log) => {
    const controller = new AbortController()
    assert.equal(await log.append('a', 0, [entry(1)], { signal: controller.signal }), 1)
    controller.abort()
    assert.deepEqual(await dataOf(log, 'a'), [1])
  })

  test('writes all or nothing when the signal fires right after the call', async (log) => {
    const controller = new AbortController()
    const append = log.append('a', 0, [entry(1), entry(2)], { signal: controller.signal })
    controller.abort()
    const [outcome] = await Promise.allSettled([append])
    if (outcome.status === 'rejected') assertRefusal(outcome.reason, { code: 'aborted' })
    assert.equal((await log.read('a')).length, outcome.status === 'fulfilled' ? 2 : 0)
  })
}
