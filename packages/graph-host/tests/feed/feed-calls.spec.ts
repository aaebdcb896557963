import { memoryLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ScriptedGraph } from '../../../../tests/support/scripted-graph.ts'
import { FeedDesk } from '../../src/feed/feed-calls.ts'
import { Tickets } from '../../src/feed/same-origin.ts'
import type { FeedCalls, FeedEndpoint } from '../../src/feed/wire.ts'

const ROOT = 'session-root'

let store: GraphControlStore
let desk: FeedDesk
let graph: ScriptedGraph
let tickets: Tickets
/** The root sessions that are open here, and whether they supervise. */
let switches: Map<string, boolean>

beforeEach(async () => {
  store = await GraphControlStore.open(memoryLog())
  tickets = new Tickets()
  switches = new Map([[ROOT, true]])
  const supervision = {
    of: (sessionId: string) => switches.get(sessionId),
    set: async (sessionId: string, supervised: boolean) => void switches.set(sessionId, supervised),
  }
  desk = new FeedDesk({ store, tickets, supervision, codeGraphs: () => undefined })
  graph = await ScriptedGraph.open(store, ROOT)
  await graph.add({ workId: 'a', title: 'First' }, { workId: 'b', inputIds: ['a'] }, { workId: 'c' })
})

afterEach(() => store.close())

function ask<E extends FeedEndpoint>(endpoint: E, more: object = {}): Promise<FeedCalls[E]['answer']> {
  const payload = { sessionId: ROOT, graphId: graph.graphId, ...more }
  return desk.answer(endpoint, payload) as Promise<FeedCalls[E]['answer']>
}

async function statusOf(workId: string): Promise<string | undefined> {
  return (await graph.state()).works.get(workId)?.status
}

describe('supervision', () => {
  it('is switched by a person, as often as they like', async () => {
    for (const supervised of [false, false, true])
      expect(await ask('supervise', { supervised })).toEqual({ supervised })
  })

  it('is not switched by what cannot be meant, nor for a session that is not there', async () => {
    await expect(ask('supervise', { supervised: 'yes' })).rejects.toMatchObject({ code: 'invalid' })
    await expect(ask('supervise', { sessionId: 'gone', supervised: true })).rejects.toMatchObject({
      code: 'not-found',
    })
    expect([...switches]).toEqual([[ROOT, true]])
  })
})

describe('reading', () => {
  it('gives a ticket that the socket takes', async () => {
    const { ticket } = await ask('ticket')
    expect(tickets.redeem(ticket)).toBe(true)
  })

  it('gives everything about a work', async () => {
    await graph.run('a')
    expect(await ask('work', { workId: 'a' })).toMatchObject({
      card: { id: 'a', title: 'First', status: 'completed' },
      instruction: 'Do a.',
      replay: 'safe',
      when: 'all',
      records: [{ kind: 'conclusion', summary: 'a is done.', bytes: 10 }],
    })
  })

  it('gives a long result page by page, whole', async () => {
    const text = '𝒳ö'.repeat(15_000)
    await graph.run('a', { conclusion: text })
    const [recordId = ''] = (await graph.state()).works.get('a')?.recordIds ?? []
    let read = ''
    let offset: number | undefined = 0
    while (offset !== undefined) {
      const page: FeedCalls['result']['answer'] = await ask('result', { recordId, offset })
      expect(page.totalChars).toBe(text.length)
      read += page.text
      offset = page.nextOffset
    }
    expect(read).toBe(text)
  })

  it('gives the history with its works and where they stood', async () => {
    await graph.run('a', { outcome: 'failed', reason: 'no luck' })
    const { events, omittedAfter } = await ask('timeline', { afterSeq: 0 })
    expect(omittedAfter).toBe(0)
    const told = events.map(({ kind, workIds, status }) => [kind, workIds.join(), status])
    expect(told).toContainEqual(['schedule_committed', 'a,b,c', 'waiting'])
    expect(told).toContainEqual(['activation_started', 'a', 'running'])
    expect(told).toContainEqual(['activation_terminal', 'a', 'failed'])
    expect(events.find(({ status }) => status === 'failed')?.note).toBe('failed: no luck')
    const later = await ask('timeline', { afterSeq: events[1]?.seq ?? 0 })
    expect(later.events).toEqual(events.slice(2))
  })
})

describe('a person', () => {
  it('stops one work, once for each click', async () => {
    expect(await ask('stop', { workId: 'a', click: '1' })).toEqual({ said: 'work a is stopped' })
    const { revision } = await graph.state()
    await ask('stop', { workId: 'a', click: '1' })
    expect((await graph.state()).revision).toBe(revision)
    expect([await statusOf('a'), await statusOf('b'), await statusOf('c')]).toEqual([
      'stopped',
      'skipped',
      'ready',
    ])
    expect((await graph.state()).works.get('a')?.reason).toBe('A person stopped it in the web app.')
  })

  it('stops a work with what follows', async () => {
    await ask('stop', { workId: 'a', cascade: true, click: '1' })
    expect([await statusOf('a'), await statusOf('b'), await statusOf('c')]).toEqual([
      'stopped',
      'stopped',
      'ready',
    ])
  })

  it('stops everything', async () => {
    await ask('stop', { click: '1' })
    const { counts, changeSeq, seenChangeSeq } = await graph.state()
    expect(counts).toEqual({ works: 3, pending: 0, terminal: 3 })
    // The session is not woken for it.
    expect(seenChangeSeq).toBe(changeSeq)
  })

  it('retries what failed, and what was skipped for it waits again', async () => {
    await graph.run('a', { outcome: 'failed', reason: 'no luck' })
    expect(await statusOf('b')).toBe('skipped')
    expect(await ask('retry', { workId: 'a', click: '1' })).toEqual({ said: 'work a is done once more' })
    expect([await statusOf('a'), await statusOf('b')]).toEqual(['ready', 'waiting'])
  })

  it('lets a held attempt run again, and no other', async () => {
    await graph.add({ workId: 'held', replay: 'confirm' })
    const { claimId } = await graph.start('held')
    await expect(ask('confirm', { workId: 'held', attempt: 1 })).rejects.toMatchObject({ code: 'not-held' })
    const hold = { graphId: graph.graphId, claimId, attempt: 1, kind: 'person', reason: 'lost' } as const
    await store.holdActivation(hold)
    await expect(ask('confirm', { workId: 'held', attempt: 7 })).rejects.toMatchObject({
      code: expect.any(String),
      message: expect.stringContaining('attempt'),
    })
    expect(await ask('confirm', { workId: 'held', attempt: 1 })).toEqual({
      said: 'work held goes on with attempt 2',
    })
    expect((await graph.state()).claims.get(claimId)).toMatchObject({
      attempt: 2,
      admissionStatus: 'executing',
    })
    expect((await graph.state()).claims.get(claimId)?.hold).toBeUndefined()
  })
})

describe('what cannot be meant', () => {
  it.each([
    ['an unknown call', 'purge', {}, 'invalid'],
    ['a name of Object', 'constructor', {}, 'invalid'],
    ['a session that has no such graph', 'stop', { sessionId: 'somebody-else', click: '1' }, 'not-found'],
    ['a graph that is not there', 'work', { graphId: 'nope', workId: 'a' }, 'not-found'],
    ['a work that is not there', 'stop', { workId: 'nope', click: '1' }, 'unknown-work'],
    ['the word for everything as a work', 'stop', { workId: 'all', click: '1' }, 'not-found'],
    ['a record of another graph', 'result', { recordId: 'graph_record_1', offset: 0 }, 'not-found'],
    ['an offset that is none', 'result', { recordId: 'x', offset: '0' }, 'not-found'],
    ['a stop without a click', 'stop', { workId: 'a' }, 'invalid'],
    ['a work id that is no text', 'retry', { workId: ['a'], click: '1' }, 'invalid'],
    ['a place that is negative', 'timeline', { afterSeq: -1 }, 'invalid'],
  ])('%s is refused, and nothing is committed', async (_, endpoint, more, code) => {
    const { seq } = await graph.state()
    const payload = { sessionId: ROOT, graphId: graph.graphId, ...more }
    await expect(desk.answer(endpoint, payload)).rejects.toMatchObject({ code })
    expect((await graph.state()).seq).toBe(seq)
  })

  it('a call that is no object is refused', async () => {
    await expect(desk.answer('work', 'a')).rejects.toMatchObject({ code: 'invalid' })
  })
})
