import { memoryLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ScriptedGraph, type ScriptedWork } from '../../../../tests/support/scripted-graph.ts'
import { GraphWatch, PAGE_WORKS, type GraphWatchOptions } from '../../src/feed/graph-watch.ts'
import type { FeedMessage, WorkCard } from '../../src/feed/wire.ts'

const ROOT = 'session-root'

let store: GraphControlStore
let stopListening: () => void
const watches = new Set<GraphWatch>()

beforeEach(async () => {
  store = await GraphControlStore.open(memoryLog())
  stopListening = store.onCommitted((state) => {
    for (const watch of watches) watch.committed(state)
  })
})

afterEach(async () => {
  for (const watch of watches) watch.close()
  watches.clear()
  stopListening()
  await store.close()
})

function look(options: Partial<GraphWatchOptions> = {}): FeedMessage[] {
  const told: FeedMessage[] = []
  const send = (message: FeedMessage) => void told.push(message)
  watches.add(new GraphWatch({ store, key: 1, sessionId: ROOT, send, isFull: () => false, ...options }))
  return told
}

function worksIn(told: readonly FeedMessage[]): readonly WorkCard[] {
  return told.flatMap((message) => (message.type === 'works' ? message.works : []))
}

function cardOf(told: readonly FeedMessage[], id: string): WorkCard | undefined {
  return worksIn(told).findLast((work) => work.id === id)
}

const isWhole = (told: readonly FeedMessage[]) =>
  told.some((message) => message.type === 'works' && message.last === true)

describe('a look at a session', () => {
  it('says that there is no graph, and shows it once it is there', async () => {
    const told = look()
    await vi.waitFor(() => expect(told).toEqual([{ type: 'none', key: 1 }]))
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a', title: 'First' })
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    expect(told[1]).toMatchObject({
      type: 'snapshot',
      head: { graphId: graph.graphId, epoch: 1, phase: 'open', works: 1, pending: 1 },
    })
    expect(worksIn(told)).toMatchObject([{ id: 'a', ordinal: 1, title: 'First', target: 'agent:default' }])
  })

  it('gets large graphs in pages, each work once', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    const ids = Array.from({ length: 2 * PAGE_WORKS + 50 }, (_, n) => `work-${n}`)
    await graph.add(...ids.map((workId) => ({ workId })))
    const told = look()
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    const pages = told.flatMap((message) => (message.type === 'works' ? [message.works.length] : []))
    expect(pages.filter((count) => count > 0)).toEqual([PAGE_WORKS, PAGE_WORKS, 50])
    expect(worksIn(told).map((work) => work.id)).toEqual(ids)
  })

  it('then gets only what changed', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' }, { workId: 'b', inputIds: ['a'] }, { workId: 'c' })
    const told = look()
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    const before = told.length
    await graph.run('a', { usage: { inputTokens: 30, outputTokens: 4 } })
    await vi.waitFor(() => expect(cardOf(told, 'b')?.status).toBe('ready'))
    const after = told.slice(before)
    expect(after.every((message) => message.type === 'works')).toBe(true)
    expect(new Set(worksIn(after).map((work) => work.id))).toEqual(new Set(['a', 'b']))
    expect(cardOf(told, 'a')).toMatchObject({
      status: 'completed',
      attempt: 1,
      records: 1,
      inputTokens: 30,
      outputTokens: 4,
      sessionId: expect.stringMatching(/^graph_session_/u),
    })
  })

  it('gathers many commits into few messages', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add(...Array.from({ length: 30 }, (_, n) => ({ workId: `w${n}` })))
    const told = look()
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    const before = told.length
    for (let n = 0; n < 30; n++) await graph.run(`w${n}`)
    const { seq } = await graph.state()
    await vi.waitFor(() => expect(told.at(-1)).toMatchObject({ head: { seq } }))
    // Four commits a work.
    expect(told.length - before).toBeLessThan(60)
    expect(worksIn(told).filter((work) => work.status === 'completed')).not.toEqual([])
  })

  it('tells a page that comes back only what it missed', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' }, { workId: 'b' }, { workId: 'c' })
    const { seq } = await graph.state()
    await graph.run('b')
    const told = look({ have: { graphId: graph.graphId, seq } })
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(0))
    expect(told.map((message) => message.type)).toEqual(['works'])
    expect(worksIn(told).map((work) => work.id)).toEqual(['b'])
  })

  it('tells everything to a page that has something of another time or graph', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' })
    for (const have of [
      { graphId: graph.graphId, seq: 10_000 },
      { graphId: 'another', seq: 1 },
    ]) {
      const told = look({ have })
      await vi.waitFor(() => expect(isWhole(told)).toBe(true))
      expect(told[0]?.type).toBe('snapshot')
    }
  })

  it('goes over to the next graph of the session, unless it is at one', async () => {
    const first = await ScriptedGraph.open(store, ROOT)
    await first.add({ workId: 'a' })
    await first.update({
      stop: [{ targetId: 'a', reason: 'enough' }],
      finish: { resultIds: [], reason: 'done' },
    })
    const [newest, fixed] = [look(), look({ key: 2, graphId: first.graphId })]
    await vi.waitFor(() => expect(isWhole(newest) && isWhole(fixed)).toBe(true))
    const second = await ScriptedGraph.open(store, ROOT)
    await second.add({ workId: 'z' })
    await vi.waitFor(() => expect(cardOf(newest, 'z')).toBeDefined())
    expect(newest.findLast((message) => message.type === 'snapshot')).toMatchObject({
      head: { epoch: 2, epochs: [{ epoch: 1 }, { epoch: 2 }] },
    })
    await vi.waitFor(() => expect(fixed.at(-1)).toMatchObject({ head: { epochs: [{}, {}] } }))
    expect(cardOf(fixed, 'z')).toBeUndefined()
  })

  it('sees nothing of another session', async () => {
    const graph = await ScriptedGraph.open(store, 'somebody-else')
    await graph.add({ workId: 'a' })
    const told = look({ graphId: graph.graphId })
    await vi.waitFor(() => expect(told).toEqual([{ type: 'none', key: 1 }]))
  })

  it('waits while the page takes nothing', async () => {
    let isFull = false
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' })
    const told = look({ isFull: () => isFull })
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    isFull = true
    const before = told.length
    await graph.run('a')
    const later = look({ key: 2 })
    await vi.waitFor(() => expect(cardOf(later, 'a')?.status).toBe('completed'))
    expect(told.length).toBe(before)
    isFull = false
    await vi.waitFor(() => expect(cardOf(told, 'a')?.status).toBe('completed'))
  })
})

describe('a work', () => {
  async function shown(...works: readonly ScriptedWork[]) {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add(...works)
    const told = look()
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    return { graph, told }
  }

  it('says which works it waits for, the first of many', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const { told } = await shown(...ids.map((workId) => ({ workId })), { workId: 'z', inputIds: ids })
    expect(cardOf(told, 'z')?.waits).toEqual({ for: 'works', ids: ['a', 'b', 'c', 'd'], more: 2 })
    expect(cardOf(told, 'a')?.waits).toEqual({ for: 'slot' })
  })

  it('says that it waits for a person, and what for', async () => {
    const { graph, told } = await shown({ workId: 'a', replay: 'confirm' })
    const { claimId } = await graph.start('a')
    const hold = {
      graphId: graph.graphId,
      claimId,
      attempt: 1,
      kind: 'person',
      reason: 'lost in a crash',
    } as const
    await store.holdActivation(hold)
    await vi.waitFor(() =>
      expect(cardOf(told, 'a')).toMatchObject({
        status: 'running',
        waits: { for: 'person', reason: 'lost in a crash' },
      }),
    )
  })

  it('that was let go by a person is shown at work again', async () => {
    const { graph, told } = await shown({ workId: 'a', replay: 'confirm' })
    const { claimId } = await graph.start('a')
    const { graphId } = graph
    await store.holdActivation({ graphId, claimId, attempt: 1, kind: 'person', reason: 'lost' })
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toEqual({ for: 'person', reason: 'lost' }))
    await store.retryActivation(graphId, claimId, 1, 'a person said so')
    await vi.waitFor(() => expect(cardOf(told, 'a')?.attempt).toBe(2))
    expect(cardOf(told, 'a')?.waits).toBeUndefined()
  })

  it('says when it is tried again', async () => {
    const { graph, told } = await shown({ workId: 'a' })
    const { claimId } = await graph.start('a')
    await store.retryActivation(graph.graphId, claimId, 1, 'the run was lost', { notBefore: 5_000 })
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toEqual({ for: 'time', at: 5_000 }))
  })

  it('has one line of text as its title, cut at a character', async () => {
    const { told } = await shown(
      { workId: 'a', instruction: `first\n\tsecond ${'𝒳'.repeat(300)}` },
      { workId: 'b', instruction: '<script>alert(1)</script>' },
    )
    const title = cardOf(told, 'a')?.title ?? ''
    expect(title).toMatch(/^first second 𝒳+…$/u)
    expect(title.length).toBeLessThanOrEqual(201)
    expect(cardOf(told, 'b')?.title).toBe('<script>alert(1)</script>')
  })

  it('of a draft waits for the draft', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.update({
      draft: 'open',
      addWork: [{ workId: 'a', target: { kind: 'agent', id: 'default' }, instruction: 'x', inputIds: [] }],
    })
    const told = look()
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toEqual({ for: 'draft' }))
  })
})

describe('what is in line', () => {
  const LANE = { lane: 'subagent', width: 1, depth: 2 }

  /** A page, and lanes that the test moves. */
  function lookWithLanes(slots = 8) {
    let wait: typeof LANE | undefined = LANE
    const told = look({ standing: () => ({ slots, laneWait: () => wait }) })
    const moveTo = (next: typeof LANE | undefined) => {
      wait = next
      for (const watch of watches) watch.lanesMoved()
    }
    return { told, moveTo }
  }

  it('is told of a work that has begun, and that it is not any more, without a commit', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' })
    await graph.start('a')
    const { moveTo, told } = lookWithLanes()
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toEqual({ for: 'lane', ...LANE }))
    moveTo({ ...LANE, depth: 1 })
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toEqual({ for: 'lane', ...LANE, depth: 1 }))
    moveTo(undefined)
    await vi.waitFor(() => expect(cardOf(told, 'a')).not.toHaveProperty('waits'))
    expect(cardOf(told, 'a')?.status).toBe('running')
  })

  it('costs no message when nothing of this graph moved', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' })
    await graph.start('a')
    const { moveTo, told } = lookWithLanes()
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toEqual({ for: 'lane', ...LANE }))
    const before = told.length
    moveTo(LANE)
    moveTo({ ...LANE, depth: 1 })
    await vi.waitFor(() => expect(cardOf(told, 'a')?.waits).toMatchObject({ depth: 1 }))
    expect(told).toHaveLength(before + 1)
  })

  it('is a permit first, where a graph has more under way than it may', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' }, { workId: 'b' })
    await graph.start('a')
    await graph.start('b')
    const { told } = lookWithLanes(1)
    await vi.waitFor(() => expect(cardOf(told, 'b')?.waits).toEqual({ for: 'slot' }))
    expect(cardOf(told, 'a')?.waits).toEqual({ for: 'lane', ...LANE })
  })
})

describe('a graph that cannot be read for a moment', () => {
  it('is told of, and shown as soon as it can, although nobody commits', async () => {
    const graph = await ScriptedGraph.open(store, ROOT)
    await graph.add({ workId: 'a' })
    let failures = 1
    const flaky = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (name !== 'readGraph' || failures-- <= 0)
          return typeof member === 'function' ? (member.bind(target) as unknown) : member
        return () => Promise.reject(new Error('the database is locked'))
      },
    })
    const told = look({ store: flaky })
    await vi.waitFor(() =>
      expect(told[0]).toMatchObject({ type: 'refused', message: 'the database is locked' }),
    )
    await vi.waitFor(() => expect(cardOf(told, 'a')?.status).toBe('ready'), { timeout: 5_000 })
  })
})

describe('an epoch that another process opened', () => {
  it('is shown at once, and then what happens in it', async () => {
    const first = await ScriptedGraph.open(store, ROOT)
    await first.add({ workId: 'a' })
    await first.run('a')
    const recordIds = [...(await first.state()).records.keys()]
    await first.update({ finish: { resultIds: recordIds.slice(0, 1), reason: 'done' } })
    const told = look()
    await vi.waitFor(() => expect(isWhole(told)).toBe(true))
    // Nothing of what comes is announced by the store of this process.
    stopListening()
    const next = await ScriptedGraph.open(store, ROOT)
    for (const watch of watches) watch.epochsMoved(ROOT)
    await vi.waitFor(() =>
      expect(told.at(-1)).toMatchObject({ head: { graphId: next.graphId, epochs: [{}, {}] } }),
    )
    await next.add({ workId: 'b' })
    for (const watch of watches) watch.graphMoved(next.graphId)
    await vi.waitFor(() => expect(cardOf(told, 'b')?.status).toBe('ready'))
    expect(told.some(({ type }) => type === 'none')).toBe(false)
  })
})
