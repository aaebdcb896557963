import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type DurableLog, KV_UNIT_DESCRIPTOR, type KvUnit, kvUnitLog, systemProcesses } from '../src/index.ts'
import { GLOBAL_SLOT, type KvMedium, memoryKvUnit, type MemoryKvUnit } from '../src/testing/index.ts'
import { startChild } from './fixtures/children.ts'
import { jsonBackend } from './fixtures/json-storage.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const entry = (data: number) => ({ type: 'test/entry', data })

function openLog(unit: KvUnit): DurableLog {
  const log = kvUnitLog(unit)
  onTestFinished(() => log.close())
  return log
}

/** The medium as a crash at this moment leaves it. */
function copyOf(unit: MemoryKvUnit): MemoryKvUnit {
  const medium: KvMedium = new Map([...unit.medium].map(([table, records]) => [table, new Map(records)]))
  return memoryKvUnit(KV_UNIT_DESCRIPTOR, medium)
}

/** A unit whose next calls of a method fail, before or after they reached the medium. */
function failing(inner: MemoryKvUnit) {
  const state = { puts: 0, deletes: 0, loads: 0, reachesMedium: false }
  const unit: KvUnit = {
    ...inner,
    putRecord: async (table, key, value) => {
      if (state.puts === 0) return inner.putRecord(table, key, value)
      state.puts -= 1
      if (state.reachesMedium) await inner.putRecord(table, key, value)
      throw new Error('disk is full')
    },
    deleteRecord: async (table, key) => {
      if (state.deletes === 0) return inner.deleteRecord(table, key)
      state.deletes -= 1
      throw new Error('disk is full')
    },
    loadAll: async () => {
      if (state.loads === 0) return inner.loadAll()
      state.loads -= 1
      throw new Error('disk is away')
    },
  }
  return { state, unit }
}

describe('KvUnit log', () => {
  it('writes one record for each append, under stream and first seq', async () => {
    const unit = memoryKvUnit()
    const log = openLog(unit)
    await log.append('s', 0, [entry(1), entry(2)])
    await log.append('s', 2, [entry(3)])
    expect([...(unit.medium.get('entries')?.keys() ?? [])]).toEqual([
      's 0000000000000001',
      's 0000000000000003',
    ])
    await log.saveSnapshot('s', 3, 'state')
    expect([...(unit.medium.get('snapshots')?.keys() ?? [])]).toEqual(['s'])
  })

  it('writes one put at a time, in the order of the calls', async () => {
    const inner = memoryKvUnit()
    let running = 0
    const order: string[] = []
    const unit: KvUnit = {
      ...inner,
      putRecord: async (table, key, value) => {
        expect((running += 1)).toBe(1)
        order.push(`${table} ${key}`)
        await new Promise((resolve) => setImmediate(resolve))
        await inner.putRecord(table, key, value)
        running -= 1
      },
    }
    const log = openLog(unit)
    await Promise.all([
      log.append('a', 'any', [entry(1)]),
      log.append('b', 'any', [entry(2)]),
      log.append('a', 'any', [entry(3)]),
      log.saveSnapshot('a', 2, 1),
    ])
    expect(order).toEqual([
      'entries a 0000000000000001',
      'entries b 0000000000000001',
      'entries a 0000000000000002',
      'snapshots a',
    ])
  })

  it('takes a waiting append out of the chain as soon as its signal fires', async () => {
    const inner = memoryKvUnit()
    let letGo = () => undefined as void
    const gate = new Promise<void>((resolve) => (letGo = resolve))
    const unit: KvUnit = {
      ...inner,
      putRecord: (table, key, value) => gate.then(() => inner.putRecord(table, key, value)),
    }
    const log = openLog(unit)
    const first = log.append('s', 0, [entry(1)])
    const controller = new AbortController()
    const waiting = log.append('s', 'any', [entry(2)], { signal: controller.signal })
    controller.abort('enough')
    await expect(waiting).rejects.toMatchObject({ code: 'aborted', cause: 'enough' })
    letGo()
    expect(await first).toBe(1)
    expect(await log.read('s')).toHaveLength(1)
  })

  it('keeps memory as the medium is when a put fails', async () => {
    const { state, unit } = failing(memoryKvUnit())
    const log = openLog(unit)
    await log.append('s', 0, [entry(1)])
    state.puts = 1
    await expect(log.append('s', 1, [entry(2)])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('disk is full') as string,
    })
    expect(await log.read('s')).toHaveLength(1)
    expect(await log.append('s', 1, [entry(2)])).toBe(2)
  })

  it('replaces a batch whose put failed although it reached the medium', async () => {
    const medium = memoryKvUnit()
    const { state, unit } = failing(medium)
    const log = openLog(unit)
    state.puts = 1
    state.reachesMedium = true
    await expect(log.append('s', 0, [entry(1), entry(2), entry(3)])).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(await openLog(medium.reopen()).read('s')).toHaveLength(3)
    expect(await log.append('s', 0, [entry(9)])).toBe(1)
    expect((await openLog(medium.reopen()).read('s')).map(({ data }) => data)).toEqual([9])
  })

  it('loads again after a loading that failed', async () => {
    const { state, unit } = failing(memoryKvUnit())
    state.loads = 1
    const log = openLog(unit)
    await expect(log.append('s', 0, [entry(1)])).rejects.toMatchObject({ code: 'unavailable' })
    expect(await log.append('s', 0, [entry(1)])).toBe(1)
  })

  it('leaves the unit open when it closes, and serves one log at a time', async () => {
    const unit = memoryKvUnit()
    const log = kvUnitLog(unit)
    await log.append('s', 0, [entry(1)])
    expect(() => kvUnitLog(unit)).toThrow(expect.objectContaining({ code: 'invalid' }))
    await log.close()
    expect(await openLog(unit).read('s')).toHaveLength(1)
    await unit.close()
  })

  it.each([undefined, null, {}, { loadAll: 1 }])('refuses %o as a unit', (unit) => {
    expect(() => kvUnitLog(unit as unknown as KvUnit)).toThrow(expect.objectContaining({ code: 'invalid' }))
  })

  it('refuses a unit of other tables and writes nothing', async () => {
    const unit = memoryKvUnit({ name: 'theirs', version: 3, tables: ['things'], hasGlobal: true })
    await unit.putRecord('things', 'a', 1)
    await expect(openLog(unit).append('s', 0, [entry(1)])).rejects.toMatchObject({ code: 'unavailable' })
    expect([...unit.medium.keys()]).toEqual(['things', GLOBAL_SLOT])
    expect(unit.medium.get(GLOBAL_SLOT)?.size).toBe(0)
  })
})

describe('KvUnit log with damaged records', () => {
  /** Three streams of two appends (two entries, then one); then the edit of one record. */
  async function damagedBy(key: string, change: (value: unknown) => unknown) {
    const unit = memoryKvUnit()
    const log = kvUnitLog(unit)
    for (const stream of ['before', 'damaged', 'later']) {
      await log.append(stream, 0, [entry(1), entry(2)])
      await log.append(stream, 2, [entry(3)])
      await log.saveSnapshot(stream, 3, { sum: 6 })
    }
    await log.close()
    const [table, ...rest] = key.split(':')
    const records = unit.medium.get(table ?? '')
    const name = rest.join(':')
    const text = records?.get(name)
    const changed = change(text === undefined ? undefined : JSON.parse(text))
    if (changed === undefined) records?.delete(name)
    else records?.set(name, JSON.stringify(changed))
    return openLog(unit.reopen())
  }

  type Batch = { format: unknown; entries: Record<string, unknown>[] }
  const second = (change: Record<string, unknown>) => (value: unknown) => {
    const { format, entries } = value as Batch
    return { format, entries: [entries[0], { ...entries[1], ...change }] }
  }

  it.each<[string, (value: unknown) => unknown]>([
    ['edited data', second({ data: '9' })],
    ['torn data', second({ data: '' })],
    ['edited type', second({ type: 'test/other' })],
    ['edited time', second({ appendedAt: 0 })],
    ['a time that is none', second({ appendedAt: '1' })],
    ['an entry of another shape', second({ data: { n: 1 } })],
    [
      'an entry of another place',
      (value) => ({ ...(value as Batch), entries: (value as Batch).entries.toReversed() }),
    ],
  ])('names stream and seq of %s', async (title, change) => {
    const log = await damagedBy('entries:damaged 0000000000000001', change)
    const seq = title === 'an entry of another place' ? 1 : 2
    await expect(log.read('damaged')).rejects.toMatchObject({ code: 'corrupt', stream: 'damaged', seq })
    expect(await log.read('damaged', { limit: seq - 1 })).toHaveLength(seq - 1)
    expect(await log.read('damaged', { afterSeq: 2 })).toHaveLength(1)
    expect(await log.read('before')).toHaveLength(3)
    expect((await log.list()).streams).toEqual(
      ['before', 'damaged', 'later'].map((stream) => ({ stream, seq: 3 })),
    )
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a number', 7],
    ['null', null],
    ['a list', [1]],
    ['a record without entries', { format: 1 }],
    ['a record of no entries', { format: 1, entries: [] }],
    [
      'a record of a newer format',
      { format: 2, entries: [{ type: 'x', appendedAt: 1, data: '1', checksum: 1 }] },
    ],
  ])('quarantines a stream with %s in the place of its first append', async (_, value) => {
    const log = await damagedBy('entries:damaged 0000000000000001', () => value)
    await expect(log.read('damaged')).rejects.toMatchObject({ code: 'corrupt', stream: 'damaged', seq: 1 })
    await expect(log.append('damaged', 'any', [entry(4)])).rejects.toMatchObject({
      code: 'corrupt',
      stream: 'damaged',
      seq: 1,
    })
    expect(await log.append('later', 3, [entry(4)])).toBe(4)
    expect(await log.append('new', 0, [entry(1)])).toBe(1)
  })

  it('quarantines a stream whose records overlap or leave a vast hole', async () => {
    const unit = memoryKvUnit()
    const log = kvUnitLog(unit)
    for (const stream of ['overlap', 'hole']) await log.append(stream, 0, [entry(1), entry(2)])
    await log.close()
    const records = unit.medium.get('entries')
    const text = records?.get('hole 0000000000000001') ?? ''
    records?.set('overlap 0000000000000002', text)
    records?.set('hole 9007199254740990', text)
    const reopened = openLog(unit.reopen())
    await expect(reopened.read('overlap')).rejects.toMatchObject({ code: 'corrupt', seq: 2 })
    await expect(reopened.read('hole')).rejects.toMatchObject({ code: 'corrupt', seq: 3 })
    expect(await reopened.read('hole', { limit: 2 })).toHaveLength(2)
  })

  it('names stream and seq of a damaged snapshot, takes a new one, and reads the entries', async () => {
    const log = await damagedBy('snapshots:damaged', (value) => ({ ...(value as object), data: '{"sum":7}' }))
    await expect(log.loadSnapshot('damaged')).rejects.toMatchObject({
      code: 'corrupt',
      stream: 'damaged',
      seq: 3,
    })
    expect(await log.read('damaged')).toHaveLength(3)
    expect(await log.loadSnapshot('later')).toEqual({ seq: 3, snapshot: { sum: 6 } })
    await log.saveSnapshot('damaged', 3, { sum: 6 })
    expect(await log.loadSnapshot('damaged')).toEqual({ seq: 3, snapshot: { sum: 6 } })
  })

  it('leaves records alone whose keys no log writes, and says so once', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => void warned.mockRestore())
    const unit = memoryKvUnit()
    const foreign = [
      's',
      's 1',
      's 0000000000000000',
      's_0000000000000001',
      ' 0000000000000001',
      'a\nb 0000000000000001',
    ]
    for (const key of foreign) await unit.putRecord('entries', key, { theirs: key })
    await unit.putRecord('snapshots', '', { theirs: true })
    const log = openLog(unit)
    expect(await log.append('s', 0, [entry(1)])).toBe(1)
    expect((await log.list()).streams).toEqual([{ stream: 's', seq: 1 }])
    expect(warned).toHaveBeenCalledTimes(1)
    for (const key of foreign) {
      expect(unit.medium.get('entries')?.get(key)).toBe(JSON.stringify({ theirs: key }))
    }
  })
})

describe('removal from a KvUnit', () => {
  async function fill(log: DurableLog): Promise<void> {
    for (const stream of ['before', 's', 's 2']) {
      await log.append(stream, 0, [entry(1), entry(2)])
      await log.append(stream, 2, [entry(3)])
      await log.append(stream, 3, [entry(4)])
      await log.saveSnapshot(stream, 3, { sum: 6 })
    }
  }

  it('leaves no record behind', async () => {
    const unit = memoryKvUnit()
    const log = openLog(unit)
    await fill(log)
    await log.remove('s')
    expect([...(unit.medium.get('entries')?.keys() ?? [])].filter((key) => /^s \d/u.test(key))).toEqual([
      's 2 0000000000000001',
      's 2 0000000000000003',
      's 2 0000000000000004',
    ])
    expect([...(unit.medium.get('snapshots')?.keys() ?? [])]).toEqual(['before', 's 2'])
  })

  it('is whole or gone wherever a crash comes, and finished by the next opening', async () => {
    const inner = memoryKvUnit()
    const crashes: MemoryKvUnit[] = []
    const state = { isRemoving: false }
    const recorded = async (act: () => Promise<void>): Promise<void> => {
      if (state.isRemoving) crashes.push(copyOf(inner))
      await act()
      if (state.isRemoving) crashes.push(copyOf(inner))
    }
    const log = openLog({
      ...inner,
      putRecord: (table, key, value) => recorded(() => inner.putRecord(table, key, value)),
      deleteRecord: (table, key) => recorded(() => inner.deleteRecord(table, key)),
    })
    await fill(log)
    state.isRemoving = true
    await log.remove('s')
    // A tombstone, three records, a snapshot, the tombstone again: before and after each.
    expect(crashes).toHaveLength(12)
    for (const [index, unit] of crashes.entries()) {
      const reopened = kvUnitLog(unit)
      const entries = await reopened.read('s')
      const snapshot = await reopened.loadSnapshot('s')
      expect([entries.length, snapshot?.seq]).toEqual(index === 0 ? [4, 3] : [0, undefined])
      expect(await reopened.read('s 2')).toHaveLength(4)
      expect(await reopened.append('s', 'any', [entry(9)])).toBe(index === 0 ? 5 : 1)
      await reopened.close()
      const again = kvUnitLog(unit.reopen())
      expect(await again.read('s')).toHaveLength(index === 0 ? 5 : 1)
      await again.close()
    }
  })

  it('keeps the stream when the medium takes no tombstone, and what is appended after that', async () => {
    const medium = memoryKvUnit()
    const { state, unit } = failing(medium)
    const log = openLog(unit)
    await fill(log)
    state.puts = 1
    state.reachesMedium = true
    await expect(log.remove('s')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await log.read('s')).toHaveLength(4)
    state.deletes = 1
    await expect(log.append('s', 4, [entry(5)])).rejects.toMatchObject({ code: 'unavailable' })
    expect(await log.append('s', 4, [entry(5)])).toBe(5)
    expect(await openLog(copyOf(medium)).read('s')).toHaveLength(5)
  })

  it('is done once the tombstone is on the medium, and its records go before the next append', async () => {
    const medium = memoryKvUnit()
    const { state, unit } = failing(medium)
    const log = openLog(unit)
    await fill(log)
    state.deletes = 2
    await log.remove('s')
    expect(await log.read('s')).toEqual([])
    expect(await openLog(copyOf(medium)).read('s')).toEqual([])
    await expect(log.append('s', 0, [entry(9)])).rejects.toMatchObject({ code: 'unavailable' })
    expect(await log.append('s', 0, [entry(9)])).toBe(1)
    expect((await openLog(copyOf(medium)).read('s')).map(({ data }) => data)).toEqual([9])
  })

  it('takes along a batch whose put failed although it reached the medium', async () => {
    const medium = memoryKvUnit()
    const { state, unit } = failing(medium)
    const log = openLog(unit)
    await fill(log)
    state.puts = 1
    state.reachesMedium = true
    await expect(log.append('s', 4, [entry(5)])).rejects.toMatchObject({ code: 'unavailable' })
    state.puts = 1
    await expect(log.append('new', 0, [entry(1)])).rejects.toMatchObject({ code: 'unavailable' })
    await log.remove('s')
    await log.remove('new')
    const reopened = openLog(copyOf(medium))
    expect((await reopened.list()).streams.map(({ stream }) => stream)).toEqual(['before', 's 2'])
  })

  it.each<[string, (records: Map<string, string>) => void]>([
    ['a record that is not of a log', (records) => void records.set('s 0000000000000001', '7')],
    ['a missing record', (records) => void records.delete('s 0000000000000003')],
    ['a record too many', (records) => void records.set('s 0000000000000002', '{"format":9,"entries":[1]}')],
  ])('ends the quarantine of a stream with %s', async (_, damage) => {
    const unit = memoryKvUnit()
    const first = kvUnitLog(unit)
    await fill(first)
    await first.close()
    damage(unit.medium.get('entries') ?? new Map<string, string>())
    const log = openLog(unit)
    await expect(log.append('s', 'any', [entry(5)])).rejects.toMatchObject({ code: 'corrupt' })
    await log.remove('s')
    expect(await log.append('s', 0, [entry(9)])).toBe(1)
    expect((await openLog(copyOf(unit)).read('s')).map(({ data }) => data)).toEqual([9])
  })

  it('is not begun by a tombstone that was edited or is of another stream', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => void warned.mockRestore())
    const tombstone: { text?: string } = {}
    const inner = memoryKvUnit()
    const log = openLog({
      ...inner,
      putRecord: async (table, key, value) => {
        if (key === 's 0000000000000000') tombstone.text = JSON.stringify(value)
        await inner.putRecord(table, key, value)
      },
    })
    await fill(log)
    await log.remove('s')
    const { text = '' } = tombstone
    expect(text).toContain('"removed":true')
    for (const [key, value] of [
      ['s 2 0000000000000000', text],
      ['before 0000000000000000', text.replace(/\d+(?=\}$)/u, '1')],
    ] as const) {
      const unit = copyOf(inner)
      unit.medium.get('entries')?.set(key, value)
      const reopened = openLog(unit)
      expect(await reopened.read('s 2')).toHaveLength(4)
      expect(await reopened.read('before')).toHaveLength(4)
    }
    expect(warned).toHaveBeenCalledTimes(2)
  })
})

describe('KvUnit log and other processes', () => {
  it('marks the unit while it is in use', async () => {
    const unit = memoryKvUnit()
    const log = kvUnitLog(unit)
    await log.list()
    const { self } = systemProcesses()
    expect((await unit.loadAll()).global).toEqual({ format: 1, owner: { ...self } })
    await log.close()
    expect((await unit.loadAll()).global).toBeNull()
  })

  it.each<[string, (self: object) => unknown]>([
    ['a process that is gone', (self) => ({ format: 1, owner: { ...self, pid: 2 ** 30 } })],
    ['an earlier process of the same pid', (self) => ({ format: 1, owner: { ...self, startedAt: '1' } })],
    ['a time before the machine started anew', (self) => ({ format: 1, owner: { ...self, bootId: 'x' } })],
    ['another machine', (self) => ({ format: 1, owner: { ...self, machineId: 'x' } })],
    ['this very process', (self) => ({ format: 1, owner: self })],
  ])('opens a unit with a mark of %s', async (_, mark) => {
    const unit = memoryKvUnit()
    await unit.setGlobal(mark(systemProcesses().self))
    expect(await openLog(unit).append('s', 0, [entry(1)])).toBe(1)
  })

  it.each([7, 'x', {}, { format: 2 }, { format: 1, owner: { pid: -1 } }])(
    'refuses a unit whose global slot holds %o, and leaves it as it is',
    async (mark) => {
      const unit = memoryKvUnit()
      await unit.setGlobal(mark)
      await expect(openLog(unit).append('s', 0, [entry(1)])).rejects.toMatchObject({ code: 'unavailable' })
      expect((await unit.loadAll()).global).toEqual(mark)
    },
  )

  it('refuses a second process by name while the first one lives, and opens once it was killed', async () => {
    const root = dirname(newPath())
    const child = startChild('kv-user.ts', [root])
    expect(await child.nextLine()).toBe('appended')
    const backend = await jsonBackend(root)
    onTestFinished(() => backend.close())
    const log = openLog(await backend.kv.open(KV_UNIT_DESCRIPTOR))
    await expect(log.append('s', 'any', [entry(1)])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`process ${child.pid}`) as string,
    })
    child.kill()
    await child.exited()
    expect(await log.append('s', 'any', [entry(1)])).toBe(2)
  })

  it('quarantines one stream of a file of the JSON backend that was edited by hand', async () => {
    const root = dirname(newPath())
    const first = await jsonBackend(root)
    const log = kvUnitLog(await first.kv.open(KV_UNIT_DESCRIPTOR))
    await log.append('damaged', 0, [{ type: 'test/entry', data: 'was here' }])
    await log.append('whole', 0, [entry(1)])
    await log.close()
    await first.close()
    const file = join(root, `${KV_UNIT_DESCRIPTOR.name}.json`)
    writeFileSync(file, readFileSync(file, 'utf8').replace('was here', 'was there'))
    const second = await jsonBackend(root)
    onTestFinished(() => second.close())
    const reopened = openLog(await second.kv.open(KV_UNIT_DESCRIPTOR))
    await expect(reopened.read('damaged')).rejects.toMatchObject({
      code: 'corrupt',
      stream: 'damaged',
      seq: 1,
    })
    expect(await reopened.read('whole')).toHaveLength(1)
  })
})
