/** At every moment each work that is not over has an owner, a timer, or something it waits for by name. */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { leaseStore } from 'dsh-durable-log'
import type { Work } from 'dsh-graph-control'
import { describe, expect, it } from 'vitest'
import { waitOf as waitTextOf } from '../src/board/waits.ts'
import { Host, settleDown, textOf, until, type HostOptions } from './host.ts'

interface SeenWork {
  readonly workId: string
  readonly status: string
  readonly waitsFor?: readonly string[]
  readonly operatorId?: string
  readonly claim?: object
}

async function look(host: Host, root: Agent): Promise<readonly SeenWork[]> {
  const { value } = await host.call(root, 'view_agent_graph', {})
  return (value as unknown as { live: readonly SeenWork[] }).live
}

const waitOf = (seen: readonly SeenWork[], workId: string) =>
  seen.find((work) => work.workId === workId)?.waitsFor?.join('; ')

const gate = (workId: string, more: object = {}) => ({
  workId,
  instruction: `stand at gate ${workId}`,
  ...more,
})

async function withWorks(options: HostOptions, ...works: Parameters<Host['add']>[1][]) {
  const host = await Host.boot(options)
  const root = await host.root()
  await host.add(root, ...works)
  return { host, root }
}

describe('a work that is not over', () => {
  it('names its place in line, its upstream, its operator', async () => {
    const { host, root } = await withWorks(
      { config: { maxNewActivations: 1 } },
      gate('a'),
      gate('b'),
      gate('c'),
      gate('d', { inputIds: ['a', 'b'] }),
    )
    await host.gates.reached('a')
    const { operatorId } = await host.work('a')
    await host.add(root, gate('e', { targetKind: 'existing_operator', operatorId }))
    const seen = await look(host, root)
    expect(waitOf(seen, 'a')).toBeUndefined()
    expect(waitOf(seen, 'b')).toBe('a free slot: all 1 are taken, place 1 of 3 in line')
    expect(waitOf(seen, 'c')).toBe('a free slot: all 1 are taken, place 2 of 3 in line')
    expect(waitOf(seen, 'd')).toBe('a; b')
    expect(waitOf(seen, 'e')).toBe('its operator, which does a')
  })

  it('names its place in line once it was confirmed, and not an operator that does nothing yet', async () => {
    const { host, root } = await withWorks({ config: { maxNewActivations: 1 } }, gate('a'))
    await host.gates.reached('a')
    const { graphId } = await host.graph()
    const { claimId = '' } = await host.work('a')
    const { graphControl } = host.ctx
    await graphControl.holdActivation({ graphId, claimId, attempt: 1, kind: 'person', reason: 'it may not' })
    await host.add(root, gate('b'), gate('c'))
    await host.gates.reached('b')
    await graphControl.retryActivation(graphId, claimId, 1, 'it may')
    const seen = await look(host, root)
    expect(waitOf(seen, 'a')).toBe('a free slot: all 1 are taken, place 1 of 2 in line')
    expect(waitOf(seen, 'b')).toBeUndefined()
    expect(waitOf(seen, 'c')).toBe('a free slot: all 1 are taken, place 2 of 2 in line')
    const graph = await host.graph()
    const shown = ['a', 'b', 'c'].map((id) =>
      waitTextOf(graph, graph.works.get(id) as Work, { now: Date.now(), slots: 1 }),
    )
    expect(shown).toEqual([
      'one of 1 slots, place 1 in line',
      'its operator',
      'one of 1 slots, place 2 in line',
    ])
  })

  it('names the lane where its operator is not the only one of the host', async () => {
    const host = await Host.boot()
    const [root, other] = [await host.root('root'), await host.root('other')]
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    await host.add(other, ...names.map((name) => gate(name)))
    for (const name of names) await host.gates.reached(name)
    await host.add(root, gate('late'))
    await until(async () => (await host.work('late')).status === 'running')
    const wait = 'a slot of lane subagent: all 8 are taken, 1 in line'
    await until(async () => waitOf(await look(host, root), 'late') === wait, 'the wait to be named')
    host.gates.open('a')
    await host.gates.reached('late')
    expect(waitOf(await look(host, root), 'late')).toBeUndefined()
  })

  it('names the time of its next attempt', async () => {
    const { host, root } = await withWorks({}, gate('a'))
    for (const times of [1, 2]) {
      await host.gates.reached('a', times)
      ;(await host.operatorOf('a')).cancel({ kind: 'disposed' })
      await until(async () => [...(await host.graph()).claims.values()][0]?.attempt === times + 1)
    }
    expect(waitOf(await look(host, root), 'a')).toMatch(/^a retry at \d{4}-/u)
  })

  it('names the other process that has its graph', async () => {
    const host = await Host.boot()
    const lease = await leaseStore({ log: host.ctx.durableLog, holderId: 'another' }).acquire('root')
    const root = await host.root()
    await host.add(root, gate('a'))
    await settleDown()
    expect(waitOf(await look(host, root), 'a')).toBe('another process, which has this graph')
    expect(host.gates.arrivals).toEqual([])
    await lease.release()
    await host.gates.reached('a')
    expect(waitOf(await look(host, root), 'a')).toBeUndefined()
  })

  it('has at each commit an owner, a timer or a name', async () => {
    const host = await Host.boot({ config: { maxNewActivations: 2 } })
    const root = await host.root()
    const silent: string[] = []
    const looks: Promise<void>[] = []
    host.ctx.on('graph/change', () => {
      const looking = async () => {
        for (const work of await look(host, root)) {
          const isOwned = work.operatorId !== undefined && work.claim !== undefined
          if (!isOwned && (work.waitsFor ?? []).length === 0) silent.push(`${work.workId} ${work.status}`)
        }
      }
      if (looks.length < 8) looks.push(looking())
    })
    await host.add(
      root,
      { workId: 'a', instruction: 'do it' },
      { workId: 'b', instruction: 'break down' },
      { workId: 'c', instruction: 'x', inputIds: ['a'] },
      { workId: 'd', instruction: 'x', inputIds: ['b'], when: 'always' },
      { workId: 'e', instruction: 'use nosuch' },
    )
    await until(async () => (await host.graph()).counts.pending === 0)
    await Promise.all(looks)
    expect(looks.length).toBeGreaterThan(4)
    expect(silent).toEqual([])
  })
})

describe('a model that goes round in one turn', () => {
  it('by looking again and again is told to yield, and then refused', async () => {
    const { host, root } = await withWorks({}, gate('a'))
    await host.gates.reached('a')
    const texts: string[] = []
    for (let times = 0; times < 12; times += 1)
      texts.push(textOf(await host.call(root, 'view_agent_graph', {})))
    expect(texts[1]).not.toContain('yield_agent_graph')
    expect(texts[2]).toContain(
      'You looked 3 times in this turn. Works go on while you do not look: call yield',
    )
    expect(texts[9]).toContain('[polling]')
    expect(texts[11]).toContain('[polling]')
    // Another question is no repetition, and yielding is what it was told.
    expect((await host.call(root, 'view_agent_graph', { mode: 'summary' })).isError).toBe(false)
    expect((await host.call(root, 'yield_agent_graph', {})).isError).toBe(false)
  })

  it('by repeating what is refused is told to change it, and then refused altogether', async () => {
    const { host, root } = await withWorks({}, gate('a'))
    const texts: string[] = []
    for (let times = 0; times < 13; times += 1)
      texts.push(textOf(await host.call(root, 'update_agent_graph', { addWork: [gate('a')] })))
    expect(texts[1]).not.toContain('in a row')
    expect(texts[2]).toContain('refusal 3 in a row')
    expect(texts[12]).toContain('[polling] 12 calls in a row were refused in this turn')
    expect((await host.call(root, 'update_agent_graph', { addWork: [gate('b')] })).isError).toBe(true)
    expect((await host.graph()).works.size).toBe(1)
  })

  it('begins anew with its next turn, and after what was not refused', async () => {
    const { host, root } = await withWorks({}, gate('a'))
    const refuse = async () => textOf(await host.call(root, 'update_agent_graph', { addWork: [gate('a')] }))
    for (let times = 0; times < 12; times += 1) await refuse()
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    await until(() => root.status === 'idle' && root.session.events.some(({ type }) => type === 'turn/end'))
    expect(await refuse()).not.toContain('[polling]')
    await refuse()
    await host.add(root, gate('b'))
    expect(await refuse()).not.toContain('in a row')
  })
})
