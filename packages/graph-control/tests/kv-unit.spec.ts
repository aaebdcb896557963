import type { KvUnit } from 'dsh-durable-log'
import { memoryKvUnit } from 'dsh-durable-log/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GraphControlStore } from '../src/index.ts'
import { commit, complete, GRAPH, graph, ROOT, statuses, work } from './fixture.ts'

async function openOn(unit: KvUnit): Promise<GraphControlStore> {
  const store = await GraphControlStore.open(unit)
  onTestFinished(() => store.close())
  return store
}

describe('a store on a storage unit of the host', () => {
  it('keeps everything in the unit, and leaves the unit open when it closes', async () => {
    const unit = memoryKvUnit()
    const store = await openOn(unit)
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    const recordId = await complete(store, 'a', 'the whole text')
    await store.close()
    expect((await unit.loadAll()).global).toBeNull()
    const again = await openOn(unit)
    expect(await statuses(again)).toEqual({ a: 'completed', b: 'ready' })
    expect((await again.readResult(GRAPH, recordId)).text).toBe('the whole text')
  })

  it('has the unit for itself', async () => {
    const unit = memoryKvUnit()
    await openOn(unit)
    await expect(openOn(unit)).rejects.toMatchObject({ code: 'invalid' })
  })

  it('sets a graph aside whose records were edited, and writes nothing over them', async () => {
    const unit = memoryKvUnit()
    const first = await openOn(unit)
    await commit(first, 'c1', { addWork: [work('a')] })
    await commit(first, 'c2', { graphId: 'other', addWork: [work('a')] })
    await first.close()
    const entries = unit.medium.get('entries') ?? new Map<string, string>()
    for (const foreign of ['7', 'null', '{"theirs":true}', '{"format":1,"entries":[{"type":"update"}]}']) {
      const key = [...entries.keys()].find((name) => name.startsWith(`graph/${GRAPH} `)) ?? ''
      entries.set(key, foreign)
      const store = await openOn(unit.reopen())
      await expect(store.readGraph(GRAPH)).rejects.toMatchObject({ code: 'quarantined' })
      await expect(commit(store, 'c3', { addWork: [work('b')] })).rejects.toMatchObject({
        code: 'quarantined',
      })
      expect(entries.get(key)).toBe(foreign)
      expect((await graph(store, 'other')).works.size).toBe(1)
      await store.close()
    }
  })

  it('passes over records of others, and a foreign snapshot of its own', async () => {
    const unit = memoryKvUnit()
    const first = await openOn(unit)
    await commit(first, 'c1', { addWork: [work('a')] })
    await first.close()
    unit.medium.set('snapshots', new Map([[`graph/${GRAPH}`, '{"format":1,"theirs":[]}']]))
    const store = await openOn(unit.reopen())
    expect(await statuses(store)).toEqual({ a: 'ready' })
  })

  it('is refused a unit of other tables, and what is no unit at all', async () => {
    const theirs = memoryKvUnit({ name: 'theirs', version: 1, tables: ['things'], hasGlobal: true })
    await expect(GraphControlStore.open(theirs)).rejects.toMatchObject({ code: 'unavailable' })
    for (const bad of [undefined, null, 7, 'unit']) {
      await expect(GraphControlStore.open(bad as unknown as KvUnit)).rejects.toMatchObject({
        code: 'invalid',
      })
    }
    await expect(GraphControlStore.open({ loadAll: 1 } as unknown as KvUnit)).rejects.toMatchObject({
      code: 'invalid',
    })
  })
})

describe('a store whose clock', () => {
  it('tells fractions floors them, so that what it writes can be read', async () => {
    const unit = memoryKvUnit()
    const store = await GraphControlStore.open(unit, { now: () => 12.75 })
    await commit(store, 'c1', { addWork: [work('a')] })
    await store.close()
    expect((await graph(await openOn(unit))).createdAt).toBe(12)
  })

  it.each([NaN, -1, Infinity, 2 ** 60])('says %d commits nothing', async (time) => {
    const unit = memoryKvUnit()
    const store = await GraphControlStore.open(unit, { now: () => time })
    await expect(commit(store, 'c1', { addWork: [work('a')] })).rejects.toMatchObject({ code: 'invalid' })
    expect(unit.medium.get('entries')?.size ?? 0).toBe(0)
    await store.close()
  })
})
