/** Contract of arguments: what is refused, that refusals write nothing, and that values are isolated. */
import assert from 'node:assert/strict'
import type { AppendOptions, DurableLog, Entry, JsonValue, ListOptions, ReadOptions } from '../types.ts'
import { assertRefused, dataOf, entry, type LogTest } from './harness.ts'

const ENTRY_LIMIT = 4 * 1024 * 1024

export function argumentContract(test: LogTest): void {
  refusedArguments(test)
  refusedData(test)
  sizes(test)
  isolation(test)
}

/** Values a caller without types might pass. */
function cyclic(): unknown {
  const value: Record<string, unknown> = {}
  value['self'] = { value }
  return value
}

function nested(depth: number): unknown {
  let value: unknown = 0
  for (let level = 0; level < depth; level += 1) value = [value]
  return value
}

function refusedArguments(test: LogTest): void {
  const badNames: readonly unknown[] = [
    undefined,
    null,
    7,
    {},
    '',
    'x'.repeat(513),
    'a\nb',
    'a\0',
    '\u007f',
    '\ud800',
  ]

  test('refuses malformed stream names everywhere', async (log) => {
    for (const name of badNames as readonly string[]) {
      await assertRefused(log.append(name, 'any', [entry(1)]), 'invalid')
      await assertRefused(log.read(name), 'invalid')
      await assertRefused(log.saveSnapshot(name, 1, 1), 'invalid')
      await assertRefused(log.loadSnapshot(name), 'invalid')
    }
    assert.deepEqual(await log.list(), { streams: [] })
  })

  test('takes stream names up to 512 characters and __proto__', async (log) => {
    for (const name of ['x'.repeat(512), '__proto__', 'constructor', '\u{1f600}']) {
      assert.equal(await log.append(name, 0, [entry(name)]), 1)
      assert.deepEqual(await dataOf(log, name), [name])
    }
  })

  test('refuses malformed conditions, entries and options, and writes nothing', async (log) => {
    for (const seq of [
      undefined,
      null,
      -1,
      0.5,
      NaN,
      Infinity,
      '0',
      'latest',
      2 ** 53,
    ] as readonly number[]) {
      await assertRefused(log.append('a', seq, [entry(1)]), 'invalid')
    }
    const badEntries: readonly unknown[] = [
      undefined,
      null,
      [],
      {},
      'xy',
      [null],
      [7],
      [[]],
      [{}],
      [{ data: 1 }],
    ]
    for (const entries of badEntries) {
      await assertRefused(log.append('a', 0, entries as readonly Entry[]), 'invalid')
    }
    for (const type of badNames as readonly string[]) {
      await assertRefused(log.append('a', 0, [entry(1), { type, data: 1 }]), 'invalid')
    }
    await assertRefused(log.append('a', 0, [{ type: 'x'.repeat(65), data: 1 }]), 'invalid')
    for (const options of [null, 7, [], { signal: {} }, { signal: null }] as readonly unknown[]) {
      await assertRefused(log.append('a', 0, [entry(1)], options as AppendOptions), 'invalid')
    }
    assert.deepEqual(await log.list(), { streams: [] })
  })

  test('refuses malformed options of read, list, snapshots and subscribe', async (log) => {
    for (const number of [-1, 0.5, NaN, '1', null] as readonly number[]) {
      await assertRefused(log.read('a', { afterSeq: number }), 'invalid')
      await assertRefused(log.read('a', { limit: number }), 'invalid')
      await assertRefused(log.list({ limit: number }), 'invalid')
      await assertRefused(log.saveSnapshot('a', number, 1), 'invalid')
    }
    await assertRefused(log.list({ limit: 0 }), 'invalid')
    await assertRefused(log.list({ limit: 1001 }), 'invalid')
    for (const text of [7, null, 'a\nb', '\udc00', 'x'.repeat(513)] as readonly string[]) {
      await assertRefused(log.list({ prefix: text }), 'invalid')
      await assertRefused(log.list({ cursor: text }), 'invalid')
      assert.throws(() => log.subscribe(text, () => undefined), { code: 'invalid' })
    }
    assert.throws(() => log.subscribe('', undefined as unknown as () => void), { code: 'invalid' })
    await assertRefused(log.read('a', null as unknown as ReadOptions), 'invalid')
    await assertRefused(log.list(7 as unknown as ListOptions), 'invalid')
  })
}

function refusedData(test: LogTest): void {
  test('refuses data that JSON cannot hold without loss, and writes nothing', async (log) => {
    await log.append('a', 0, [entry('kept')])
    const values: readonly unknown[] = [
      undefined,
      NaN,
      -Infinity,
      -0,
      1n,
      Symbol('s'),
      () => 1,
      new Date(0),
      new Map(),
      /x/,
      Buffer.from('x'),
      Object('boxed'),
      new URL('file:///x'),
      Object.create({ inherited: 1 }),
      cyclic(),
      nested(300),
      Object.assign([1], { length: 3 }),
      Object.assign([1], { extra: 1 }),
      { [Symbol('key')]: 1 },
      Object.defineProperty({}, 'hidden', { value: 1 }),
      { toJSON: () => 'changed' },
      {
        get thrown(): never {
          throw new TypeError('getter')
        },
      },
    ]
    for (const value of values) {
      for (const data of [value, [value], { deep: { value } }] as readonly JsonValue[]) {
        await assertRefused(log.append('a', 1, [entry('before'), entry(data)]), 'invalid')
        await assertRefused(log.saveSnapshot('a', 1, data), 'invalid')
      }
    }
    assert.deepEqual(await dataOf(log, 'a'), ['kept'])
    assert.equal(await log.loadSnapshot('a'), undefined)
  })

  test('returns every lossless value as it was, __proto__ keys included', async (log, reopen) => {
    const values: readonly JsonValue[] = [
      null,
      true,
      false,
      0,
      -1.5e300,
      Number.MAX_SAFE_INTEGER,
      5e-324,
      '',
      '\0\n\u2028\ud800 lone \u{1f600}',
      [],
      {},
      [[[]], { a: [{}] }],
      { '': 1, 'a b': [1, 2], constructor: 'x' },
      JSON.parse('{"__proto__": {"polluted": true}, "z": 1}') as JsonValue,
      Object.assign(Object.create(null) as object, { bare: 1 }) as JsonValue,
      nested(200) as JsonValue,
    ]
    await log.append('a', 0, values.map(entry))
    const texts = values.map((value) => JSON.stringify(value))
    assert.deepEqual(
      (await dataOf(log, 'a')).map((value) => JSON.stringify(value)),
      texts,
    )
    const reopened = await reopen()
    assert.deepEqual(
      (await dataOf(reopened, 'a')).map((value) => JSON.stringify(value)),
      texts,
    )
    const [proto] = (await dataOf(reopened, 'a')).slice(13) as [Record<string, unknown>]
    assert.deepEqual(Object.keys(proto), ['__proto__', 'z'])
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
  })
}

function sizes(test: LogTest): void {
  const string = (bytes: number) => 'x'.repeat(bytes - 2)

  test('takes an entry of 4 MiB of JSON and refuses one byte more', async (log) => {
    await log.append('a', 0, [entry(string(ENTRY_LIMIT))])
    await assertRefused(log.append('a', 1, [entry(1), entry(string(ENTRY_LIMIT + 1))]), 'too-large')
    await assertRefused(
      log.append('a', 1, [entry(Array.from({ length: ENTRY_LIMIT / 2 }, () => 1))]),
      'too-large',
    )
    await assertRefused(log.append('a', 1, [entry('é'.repeat(ENTRY_LIMIT / 2))]), 'too-large')
    const [stored, ...others] = await dataOf(log, 'a')
    assert.equal(stored, string(ENTRY_LIMIT))
    assert.equal(others.length, 0)
  })

  test('refuses an endless value after bounded work', async (log) => {
    const endless: unknown = new Proxy([], {
      get: (target, key) => (key === 'length' ? Number.MAX_SAFE_INTEGER : key in target ? undefined : 1),
    })
    await assertRefused(log.append('a', 0, [entry(endless as JsonValue)]), 'too-large')
    assert.deepEqual(await log.list(), { streams: [] })
  })

  test('takes a snapshot larger than one entry may be', async (log) => {
    await log.append('a', 0, [entry(1)])
    await log.saveSnapshot('a', 1, string(ENTRY_LIMIT * 2))
    assert.deepEqual(await log.loadSnapshot('a'), { seq: 1, snapshot: string(ENTRY_LIMIT * 2) })
  })
}

function isolation(test: LogTest): void {
  test('stores what was passed at the time of the call', async (log) => {
    const data: { n: number; list: number[] } = { n: 1, list: [1] }
    const entries: Entry[] = [{ type: 'test/entry', data }]
    const append = log.append('a', 0, entries)
    data.n = 2
    data.list.push(2)
    entries.push(entry('late'))
    await append
    const snapshot: Record<string, number> = { sum: 1 }
    const save = log.saveSnapshot('a', 1, snapshot)
    snapshot['sum'] = 2
    await save
    assert.deepEqual(await dataOf(log, 'a'), [{ n: 1, list: [1] }])
    assert.deepEqual(await log.loadSnapshot('a'), { seq: 1, snapshot: { sum: 1 } })
  })

  test('hands out values that a reader cannot change', async (log) => {
    await log.append('a', 0, [entry({ deep: { n: 1 }, list: [1] })])
    await log.saveSnapshot('a', 1, { deep: { n: 1 } })
    const change = async (read: () => Promise<unknown>) => {
      const value = await read()
      assert.ok(Object.isFrozen(value))
      const { deep } = value as { readonly deep: object }
      assert.throws(() => Object.assign(deep, { n: 2 }), TypeError)
      assert.throws(() => Object.assign(value as object, { more: 1 }), TypeError)
    }
    const entryOf = async (reader: DurableLog) => (await reader.read('a'))[0]
    assert.ok(Object.isFrozen(await entryOf(log)))
    await change(async () => (await entryOf(log))?.data)
    await change(async () => (await log.loadSnapshot('a'))?.snapshot)
    assert.deepEqual(await dataOf(log, 'a'), [{ deep: { n: 1 }, list: [1] }])
  })
}
