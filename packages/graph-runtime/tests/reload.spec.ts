import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createGraphDefinition, defineGraph } from '../src/index.ts'
import { echoBuilder, topicOnly } from './graphs.ts'
import { aliveAfterGc, heapAfterGc, stopOptimizing } from './heap.ts'
import { bootGraphs, bootTools, define, published, valueOf } from './host.ts'

const ROUNDS = 50
const MEGABYTE = 2 ** 20

describe('fifty rounds', () => {
  it('of loading the plugin leave no earlier life of it behind (R18)', async () => {
    const host = await bootTools()
    for (let i = 0; i < 20; i++) {
      define({ name: `tool_${i}`, description: 'd', parameters: topicOnly, build: echoBuilder, asTool: true })
    }
    const lives: WeakRef<object>[] = []
    const round = async () => {
      const plugin = await host.load()
      lives.push(new WeakRef(host.graphTools()), new WeakRef(host.graphTools().list()[0] ?? {}))
      valueOf(await host.call('tool_0', { topic: 'x' }))
      await plugin.dispose()
    }
    for (let i = 0; i < 10; i++) await round()
    const before = await heapAfterGc()
    for (let i = 0; i < ROUNDS; i++) await round()
    expect((await heapAfterGc()) - before).toBeLessThan(MEGABYTE)
    expect(await aliveAfterGc(lives.slice(0, -2))).toBe(0)
    expect(host.log).toEqual([])
  })

  it('of editing a graph module keep its newest definition only', async () => {
    const host = await bootGraphs()
    const older: WeakRef<object>[] = []
    const edit = (version: number) => {
      const ballast = Array.from({ length: 20_000 }, () => version)
      return defineGraph({
        name: 'edited',
        description: `version ${version}`,
        parameters: {},
        asTool: true,
        build: () => ({ invoke: async () => ballast.length + version }),
      })
    }
    let newest = published(edit(0))
    for (let version = 1; version <= ROUNDS; version++) {
      older.push(new WeakRef(newest))
      // A module that is evaluated again is so in a later turn.
      await Promise.resolve()
      newest = edit(version)
      expect(valueOf(await host.call('edited', {}))).toBe(20_000 + version)
    }
    published(newest)
    expect(host.toolNames()).toEqual(['edited'])
    expect(host.graphTools().get('edited')?.definition).toBe(newest)
    expect(host.warnings()).toEqual([])
    // The first one is held by the cleanup of this test.
    expect(await aliveAfterGc(older)).toBeLessThanOrEqual(1)
  })

  it('of mounting and unmounting by hand leave nothing in the registry', async () => {
    const host = await bootGraphs()
    const definition = createGraphDefinition({
      name: 'echo',
      parameters: topicOnly,
      description: 'd',
      build: echoBuilder,
      asTool: true,
    })
    const entries: WeakRef<object>[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const entry = host.graphTools().mount(definition, host.ctx)
      entries.push(new WeakRef(entry))
      await entry.dispose()
    }
    expect([host.graphTools().list(), host.toolNames()]).toEqual([[], []])
    // The last one may still be held by the loop.
    expect(await aliveAfterGc(entries)).toBeLessThanOrEqual(1)
  })
})

it('retains nothing over three thousand calls, and no listener on a signal they share (R72)', async () => {
  stopOptimizing()
  const host = await bootGraphs()
  define({ name: 'echo', description: 'd', parameters: topicOnly, build: echoBuilder, asTool: true })
  const { signal } = new AbortController()
  const call = async () => valueOf(await host.call('echo', { topic: 'x' }, { signal }))
  for (let i = 0; i < 500; i++) await call()
  const before = await heapAfterGc()
  for (let i = 0; i < 3000; i++) await call()
  expect((await heapAfterGc()) - before).toBeLessThan(MEGABYTE / 16)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(host.log).toEqual([])
})
