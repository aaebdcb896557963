import { describe, expect, it } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'
import * as agentLoopHost from 'dsh-agent-loop-host'
import type { GraphChange } from '../src/index.ts'
import { Host, settleDown, temporaryFolder, textOf, turnsOf, until, wakesOf } from './host.ts'

const SERVICE = 'agentGraphController'

/** What stands behind the whole composition: effects, listeners, services. */
function standing(ctx: Context): unknown {
  return JSON.stringify(ctx.root.fiber.getEffects())
}

function listenersOf(ctx: Context): Record<string, number> {
  const hooks = ctx.events._hooks as Record<string, readonly unknown[]>
  return Object.fromEntries(
    Object.entries(hooks)
      .map(([name, list]) => [name, list.length] as const)
      .filter(([, count]) => count > 0),
  )
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

describe('the row', () => {
  it('boots with no configuration', async () => {
    const host = await Host.boot()
    expect(host.ctx.get(SERVICE)).toBeDefined()
    expect(host.lines).toEqual([])
  })

  it.each([
    ['agent-loop-host', 'agentLoopHost'],
    ['graph-control', 'graphControl'],
  ] as const)('is active without %s, warns once, and the tools say why', async (row, service) => {
    const rows = (['durable-log', 'graph-control', 'agent-loop-host', 'graph-host'] as const).filter(
      (name) => name !== row,
    )
    const host = await Host.boot({ rows: [...rows, 'tool-graph'] })
    const root = await host.root()
    for (const [name, args] of [
      ['view_agent_graph', {}],
      ['update_agent_graph', { addWork: [{ instruction: 'x' }] }],
      ['yield_agent_graph', {}],
    ] as const)
      expect(textOf(await host.call(root, name, args))).toContain('[agent-graph-unavailable]')
    const ours = host.warnings().filter((text) => text.includes('supervise an agent graph'))
    expect(ours).toEqual([`missing service ${service}: no session can supervise an agent graph`])

    await host.mount(row)
    await until(() => host.ctx.get(SERVICE) !== undefined)
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1)
    expect((await host.work('a')).status).toBe('completed')
  })

  it.each([
    ['provides', (ctx: Context) => void ctx.provide(SERVICE, foreign as never)],
    [
      'is about to provide',
      (ctx: Context) =>
        // Its fiber is still loading when our row mounts.
        void ctx.plugin({
          name: 'slow third party',
          apply: async (inner: Context) => {
            inner.provide(SERVICE, foreign as never)
            await settleDown()
          },
        }),
    ],
  ])('stands down with one info line where a third party %s the controller', async (_title, prepare) => {
    const host = await Host.boot({
      prepare,
      rows: ['durable-log', 'graph-control', 'agent-loop-host', 'graph-host'],
    })
    await until(() => host.ctx.get(SERVICE) !== undefined)
    expect(host.ctx.get(SERVICE)).toMatchObject({ rootSessionId: 'elsewhere' })
    expect(host.lines.map(({ type }) => type)).toEqual(['info'])
    expect(host.lines[0]?.text).toContain('stands down')
    await host.unmount('graph-host')
    expect(host.ctx.get(SERVICE)).toMatchObject({ rootSessionId: 'elsewhere' })
  })

  it('leaves nothing behind in twenty rounds of unloading and loading, and the next graph runs', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.unmount('graph-host')
    const before = { effects: standing(host.ctx), listeners: listenersOf(host.ctx) }
    const timersBefore = timers()
    for (let round = 0; round < 20; round += 1) {
      await host.mount('graph-host')
      expect(host.controller(root)).toBeDefined()
      await host.unmount('graph-host')
      expect(host.ctx.get(SERVICE)).toBeUndefined()
    }
    expect({ effects: standing(host.ctx), listeners: listenersOf(host.ctx) }).toEqual(before)
    // Timers of the test runner come and go; one of ours would stay.
    await until(() => timers() <= timersBefore, 'no more timers than before')
    await host.mount('graph-host')
    const changes: GraphChange[] = []
    host.ctx.on('graph/change', (change) => void changes.push(change))
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1)
    await host.controller(root).whenQuiet()
    await settleDown()
    // One controller listens: no change is told twice, and the root is woken once.
    expect(new Set(changes.map(({ seq }) => seq)).size).toBe(changes.length)
    expect(wakesOf(root)).toHaveLength(1)
    expect(host.warnings()).toEqual([])
  })

  it.each([
    ['where sessions are kept', true],
    ['where sessions are not kept', false],
  ])('that reloads finds running operators at work, %s', async (_title, kept) => {
    const host = await Host.boot(kept ? { folder: await temporaryFolder() } : {})
    const root = await host.root()
    await host.add(
      root,
      { workId: 'a', instruction: 'stand at gate a' },
      { workId: 'b', instruction: 'then', inputIds: ['a'] },
    )
    await host.gates.reached('a')
    const operator = await host.operatorOf('a')
    for (let round = 0; round < 5; round += 1) {
      await host.unmount('graph-host')
      await host.mount('graph-host')
    }
    host.gates.open('a')
    await host.whenWork('b', 'completed')
    expect(host.gates.arrivals).toEqual(['a'])
    expect(turnsOf(operator)).toEqual(['completed'])
    await until(() => wakesOf(root).length === 1)
    await until(() => host.isLive(operator.id) !== kept)
    expect(host.warnings()).toEqual([])
  })

  it('takes up a work that ended while it was away', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    const operator = await host.operatorOf('a')
    await host.unmount('graph-host')
    host.gates.open('a')
    await until(() => turnsOf(operator).join() === 'completed')
    expect((await host.work('a')).status).toBe('running')
    await host.mount('graph-host')
    await host.whenWork('a', 'completed')
    await until(() => wakesOf(root).length === 1)
  })

  it('decides nothing between the end of its agent-loop host and its own (scenario W11)', async () => {
    // The loop host lives in a realm of its own, so that its end and its withdrawal are two moments.
    const host = await Host.boot({ rows: ['durable-log', 'graph-control'] })
    const realm = host.ctx.isolate('agentLoopHost')
    const offer = async () => {
      const row = realm.plugin(agentLoopHost, {} as agentLoopHost.Config)
      await row
      const service = realm.get('agentLoopHost')
      if (service === undefined) throw new Error('no loop host in its realm')
      return { row, withdraw: host.ctx.provide('agentLoopHost', service) }
    }
    const first = await offer()
    await host.mount('graph-host')
    await host.mount('tool-graph')
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    await first.row.dispose()
    await host.add(root, { workId: 'b', instruction: 'do it' })
    await settleDown()
    const statuses = async () => [...(await host.graph()).works.values()].map(({ status }) => status)
    expect(await statuses()).toEqual(['running', 'running'])
    first.withdraw()
    await until(() => host.ctx.get(SERVICE) === undefined)
    await offer()
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    await host.whenWork('b', 'completed')
    await until(() => wakesOf(root).length > 0)
    expect(host.warnings()).toEqual([])
  })

  it('that loses its agent-loop host goes on when there is one again', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    await host.unmount('agent-loop-host')
    await until(() => host.ctx.get(SERVICE) === undefined)
    expect((await host.work('a')).status).toBe('running')
    await host.mount('agent-loop-host')
    await until(() => host.ctx.get(SERVICE) !== undefined)
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    expect(host.gates.arrivals).toEqual(['a'])
    await until(() => wakesOf(root).length === 1)
  })
})

const foreign = { rootSessionId: 'elsewhere' }

describe('a root that is closed', () => {
  it('leaves its works as they are, however fast the log is', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    const { seq } = await host.graph()
    await host.close(root)
    await settleDown()
    expect(await host.graph()).toMatchObject({ seq })
    expect(host.warnings()).toEqual([])
  })

  it('takes its controller and its operators with it, and comes back to its works', async () => {
    const host = await Host.boot({ folder: await temporaryFolder() })
    const root = await host.keptRoot()
    const other = await host.root('other')
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.add(other, { workId: 'b', instruction: 'stand at gate b' })
    await host.gates.reached('a')
    await host.gates.reached('b')
    const sessionId = await host.sessionOf('a')
    const listeners = listenersOf(host.ctx)
    await host.close(root)
    const service = host.ctx.get(SERVICE)
    expect(service && 'forSession' in service && service.forSession(root.id)).toBeUndefined()
    expect(host.ctx.agents.get(SessionId(sessionId))).toBeUndefined()
    expect(host.ctx.agents.list().map(({ id }) => id)).toEqual(['other', await host.sessionOf('b', 'other')])
    await settleDown()
    expect(await host.work('a')).toMatchObject({ status: 'running' })
    expect((await host.graph()).claims.size).toBe(1)
    expect(Object.keys(listeners)).toEqual(expect.arrayContaining(Object.keys(listenersOf(host.ctx))))
    expect((await host.work('b', 'other')).status).toBe('running')
    expect(host.warnings()).toEqual([])

    // It comes back, and the work that was cut off is done.
    host.gates.open('a')
    const again = await host.root('root', { resume: true })
    await host.whenWork('a', 'completed')
    await until(() => wakesOf(again).length === 1)
    expect(host.warnings()).toEqual([])
  })
})
