/** Contract of `read`, `list` and snapshots. */
import assert from 'node:assert/strict'
import type { DurableLog, StreamHead } from '../types.ts'
import { assertRefused, entry, type LogTest } from './harness.ts'

export function readContract(test: LogTest): void {
  reading(test)
  listing(test)
  snapshots(test)
}

function reading(test: LogTest): void {
  test('reads an unknown stream as an empty one', async (log) => {
    assert.deepEqual(await log.read('nothing'), [])
  })

  test('returns entries with their seq, type, data and time', async (log) => {
    const before = Date.now()
    await log.append('a', 0, [
      { type: 'x/one', data: { n: 1 } },
      { type: 'x/two', data: [null] },
    ])
    const after = Date.now()
    const entries = await log.read('a')
    assert.deepEqual(
      entries.map(({ seq, type, data }) => ({ seq, type, data })),
      [
        { seq: 1, type: 'x/one', data: { n: 1 } },
        { seq: 2, type: 'x/two', data: [null] },
      ],
    )
    for (const { appendedAt } of entries) assert.ok(appendedAt >= before && appendedAt <= after)
  })

  test('reads after a seq and up to a limit', async (log) => {
    await log.append(
      'a',
      0,
      Array.from({ length: 10 }, (_, index) => entry(index + 1)),
    )
    const seqs = async (options: { afterSeq?: number; limit?: number }) =>
      (await log.read('a', options)).map(({ seq }) => seq)
    assert.deepEqual(await seqs({ afterSeq: 7 }), [8, 9, 10])
    assert.deepEqual(await seqs({ limit: 2 }), [1, 2])
    assert.deepEqual(await seqs({ afterSeq: 4, limit: 3 }), [5, 6, 7])
    assert.deepEqual(await seqs({ afterSeq: 9, limit: 100 }), [10])
    assert.deepEqual(await seqs({ afterSeq: 10 }), [])
    assert.deepEqual(await seqs({ afterSeq: 99 }), [])
    assert.deepEqual(await seqs({ limit: 0 }), [])
  })

  test('reads a long stream whole and in order', async (log) => {
    const count = 2500
    await log.append(
      'a',
      0,
      Array.from({ length: count }, (_, index) => entry({ index, text: 'x'.repeat(600) })),
    )
    const entries = await log.read('a')
    assert.equal(entries.length, count)
    assert.ok(entries.every(({ seq }, index) => seq === index + 1))
  })
}

async function pagesOf(
  log: DurableLog,
  options: { prefix?: string; limit: number },
): Promise<StreamHead[][]> {
  const pages: StreamHead[][] = []
  let cursor: string | undefined
  do {
    const page = await log.list({ ...options, ...(cursor === undefined ? {} : { cursor }) })
    pages.push([...page.streams])
    cursor = page.cursor
  } while (cursor !== undefined)
  return pages
}

function listing(test: LogTest): void {
  test('lists nothing in an empty log', async (log) => {
    assert.deepEqual(await log.list(), { streams: [] })
  })

  test('lists streams with their heads in code-point order', async (log) => {
    const names = ['b', 'a', 'a/2', 'a/10', 'Z', 'é', '\uffee', '\u{1f600}', 'a b', '~']
    for (const name of names) await log.append(name, 0, [entry(0)])
    await log.append('a', 1, [entry(1)])
    assert.deepEqual(await log.list(), {
      streams: ['Z', 'a', 'a b', 'a/10', 'a/2', 'b', '~', 'é', '\uffee', '\u{1f600}'].map((stream) => ({
        stream,
        seq: stream === 'a' ? 2 : 1,
      })),
    })
  })

  test('lists by prefix, taken literally', async (log) => {
    for (const name of ['graph/1', 'graph/2', 'graph%', 'graph_', 'Graph/1', 'run/1']) {
      await log.append(name, 0, [entry(0)])
    }
    const names = async (prefix: string) => (await log.list({ prefix })).streams.map(({ stream }) => stream)
    assert.deepEqual(await names('graph/'), ['graph/1', 'graph/2'])
    assert.deepEqual(await names('graph%'), ['graph%'])
    assert.deepEqual(await names('graph_'), ['graph_'])
    assert.deepEqual(await names('graph/1'), ['graph/1'])
    assert.deepEqual(await names('nothing'), [])
  })

  test('pages through a prefix with a cursor that ends', async (log) => {
    const names = Array.from({ length: 10 }, (_, index) => `graph/${index}`)
    for (const name of ['a', ...names, 'z']) await log.append(name, 0, [entry(0)])
    for (const [limit, sizes] of [
      [3, [3, 3, 3, 1]],
      [5, [5, 5]],
      [10, [10]],
      [11, [10]],
    ] as const) {
      const pages = await pagesOf(log, { prefix: 'graph/', limit })
      assert.deepEqual(
        pages.map((page) => page.length),
        sizes,
      )
      assert.deepEqual(
        pages.flat().map(({ stream }) => stream),
        names,
      )
    }
  })

  test('goes on after a cursor while streams are added on both sides of it', async (log) => {
    for (const name of ['b', 'd', 'f']) await log.append(name, 0, [entry(0)])
    const first = await log.list({ limit: 2 })
    assert.ok(first.cursor !== undefined)
    await log.append('a', 0, [entry(0)])
    await log.append('e', 0, [entry(0)])
    const second = await log.list({ limit: 2, cursor: first.cursor })
    assert.deepEqual(
      [...first.streams, ...second.streams].map(({ stream }) => stream),
      ['b', 'd', 'e', 'f'],
    )
  })
}

function snapshots(test: LogTest): void {
  test('has no snapshot until one is saved, then keeps the newest', async (log) => {
    await log.append('a', 0, [entry(1), entry(2), entry(3)])
    assert.equal(await log.loadSnapshot('a'), undefined)
    await log.saveSnapshot('a', 1, { sum: 1 })
    await log.saveSnapshot('a', 3, { sum: 6 })
    assert.deepEqual(await log.loadSnapshot('a'), { seq: 3, snapshot: { sum: 6 } })
    await log.saveSnapshot('a', 3, { sum: 'again' })
    assert.deepEqual(await log.loadSnapshot('a'), { seq: 3, snapshot: { sum: 'again' } })
    assert.equal(await log.loadSnapshot('b'), undefined)
  })

  test('refuses a snapshot older than the stored one', async (log) => {
    await log.append('a', 0, [entry(1), entry(2), entry(3)])
    await log.saveSnapshot('a', 3, 'new')
    await assertRefused(log.saveSnapshot('a', 2, 'old'), 'conflict', { stream: 'a', currentSeq: 3 })
    assert.deepEqual(await log.loadSnapshot('a'), { seq: 3, snapshot: 'new' })
  })

  test('refuses a snapshot ahead of its stream', async (log) => {
    await assertRefused(log.saveSnapshot('a', 1, 'early'), 'conflict', { currentSeq: 0 })
    await log.append('a', 0, [entry(1)])
    await assertRefused(log.saveSnapshot('a', 2, 'early'), 'conflict', { currentSeq: 1 })
    assert.equal(await log.loadSnapshot('a'), undefined)
  })

  test('keeps snapshots out of reads and lists', async (log) => {
    await log.append('a', 0, [entry(1)])
    await log.saveSnapshot('a', 1, 'state')
    assert.equal((await log.read('a')).length, 1)
    assert.deepEqual(await log.list(), { streams: [{ stream: 'a', seq: 1 }] })
  })
}
