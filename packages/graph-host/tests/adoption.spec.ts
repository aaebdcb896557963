/** What a process that lives on does with the graphs of roots that nobody opens. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { leaseStore, sqliteLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Config } from '../src/index.ts'
import { Host, settleDown, temporaryFolder, turnsOf, until, wakesOf } from './host.ts'

const ALWAYS: Partial<Config> = { adoptRoots: 'always' }

/** A root whose work stands at a gate of the same name, as a kill finds it. */
async function killedAtGate(...gates: string[]): Promise<{ folder: string; session: string }> {
  const host = await Host.boot({ folder: await temporaryFolder() })
  await withBusyRoot(host)
  const root = await host.keptRoot()
  await host.add(root, ...gates.map((gate) => ({ workId: gate, instruction: `stand at gate ${gate}` })))
  for (const gate of gates) await host.gates.reached(gate)
  await host.ctx.sessions.flush(root.session)
  const session = await host.sessionOf(gates[0] ?? '')
  const folder = await host.remains()
  await host.dispose()
  return { folder, session }
}

/** A second root that is always taken up: when it is there, what does not come has been decided on. */
async function withBusyRoot(host: Host): Promise<void> {
  await host.add(await host.keptRoot('busy'), { workId: 'busy', instruction: 'stand at gate busy' })
  await host.gates.reached('busy')
}

async function whenBusyIsTakenUp(host: Host): Promise<void> {
  await whenLive(host, 'busy')
  await host.gates.reached('busy')
  await settleDown()
}

function rootOf(host: Host, id = 'root'): Agent | undefined {
  return host.ctx.agents.get(SessionId(id))
}

async function whenLive(host: Host, id = 'root'): Promise<Agent> {
  await until(() => rootOf(host, id) !== undefined, `${id} is live`).catch((error: unknown) => {
    throw new Error(host.warnings().join('; '), { cause: error })
  })
  const root = rootOf(host, id)
  if (root === undefined) throw new Error(`${id} left`)
  return root
}

/** Whatever is registered is never asked. */
const webServer = (ctx: Context) => {
  const register = () => () => undefined
  ctx.provide('webServer', { register, registerUpgrade: register })
}

describe('a process that lives on', () => {
  it('goes on with a graph after a kill, and wakes its root, without anybody opening it', async () => {
    const { folder, session } = await killedAtGate('a')
    const host = await Host.boot({ folder, prepare: webServer })
    const root = await whenLive(host)
    await host.gates.reached('a')
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    await until(() => turnsOf(root).join() === 'completed,completed')
    expect(wakesOf(root)).toHaveLength(1)
    expect(await host.sessionOf('a')).toBe(session)
    expect(root.options).toMatchObject({ provider: 'scripted', model: 'root-model' })
    expect(host.warnings()).toEqual([])
  })

  it('delivers a wake that was left, although no work is open', async () => {
    const before = await Host.boot({ folder: await temporaryFolder(), config: { wakeDelayMs: 60_000 } })
    await before.add(await before.keptRoot(), { workId: 'a', instruction: 'do it' })
    await before.whenWork('a', 'completed')
    const host = await Host.boot({ folder: await before.remains(), config: ALWAYS })
    const root = await whenLive(host)
    await until(() => turnsOf(root).join() === 'completed,completed')
    expect(wakesOf(root)).toHaveLength(1)
  })

  it('opens no root that has nothing to do', async () => {
    const before = await Host.boot({ folder: await temporaryFolder() })
    await withBusyRoot(before)
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    await until(async () => [...(await before.graph()).wakes.values()].at(-1)?.status === 'delivered')
    const host = await Host.boot({ folder: await before.remains(), config: ALWAYS })
    await whenBusyIsTakenUp(host)
    expect(rootOf(host)).toBeUndefined()
  })

  it('leaves what a person archived where it is', async () => {
    const { folder } = await killedAtGate('a')
    const host = await Host.boot({
      folder,
      config: ALWAYS,
      prepare: (ctx) => void ctx.provide('workspaceRegistry', { archivedSessionIds: ['root'] }),
    })
    await whenBusyIsTakenUp(host)
    expect(rootOf(host)).toBeUndefined()
    expect((await host.graph()).counts.pending).toBe(1)
  })

  it('does not open again a root that was closed under it', async () => {
    const host = await Host.boot({ folder: await temporaryFolder(), config: ALWAYS })
    const root = await host.keptRoot()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    await host.close(root)
    await settleDown()
    expect(rootOf(host)).toBeUndefined()
    expect((await host.work('a')).status).toBe('running')
  })

  it('stops the graph of a deleted root, and what still ran of it', async () => {
    const { folder, session } = await killedAtGate('a')
    const gone = await deleteSession(folder, 'root')
    expect(gone).toBe(true)
    const host = await Host.boot({ folder, config: ALWAYS })
    const { reason } = await host.whenWork('a', 'stopped')
    expect(reason).toContain('deleted')
    await until(async () => (await host.graph()).live.claims.size === 0)
    const graph = await host.graph()
    expect(graph).toMatchObject({ closed: true, finish: { resultIds: [] } })
    expect((await host.entries(`run/${session}`)).at(-1)?.data).toMatchObject({ state: 'aborted' })
    await until(() => host.warnings().some((text) => text.includes('root root was deleted')))
    await whenBusyIsTakenUp(host)
    expect(rootOf(host)).toBeUndefined()
    expect(host.gates.arrivals).toEqual(['busy'])
  })

  it('stops the graph of a deleted root that was in the turn of a wake (scenario W10)', async () => {
    const before = await Host.boot({ folder: await temporaryFolder() })
    await before.add(
      await before.keptRoot(),
      { workId: 'slow', instruction: 'do it' },
      { workId: 'b', instruction: 'stand at gate b' },
    )
    await before.gates.reached('wake')
    const folder = await before.remains()
    await deleteSession(folder, 'root')
    const host = await Host.boot({ folder, config: ALWAYS })
    await until(() => host.warnings().some((text) => text.includes('root root was deleted')))
    const { closed, wakes } = await host.graph()
    expect(closed).toBe(true)
    expect([...wakes.values()].map(({ status }) => status)).toEqual(['superseded'])
    expect((await host.entries('run/root')).at(-1)?.data).toMatchObject({ state: 'aborted' })
  })

  it('tells of a root that cannot be resumed, and keeps its graph', async () => {
    const { folder } = await killedAtGate('a')
    const host = await Host.boot({
      folder,
      config: ALWAYS,
      prepare: (ctx) => {
        ctx.on('agent/created', () => {
          throw new Error('not today')
        })
      },
    })
    await until(() => host.warnings().some((text) => text.includes('root root are not taken up')))
    expect((await host.graph()).counts.pending).toBe(1)
  })

  it('waits for a root that another process has, and takes it up when that one lets go', async () => {
    const { folder } = await killedAtGate('a')
    const log = sqliteLog({ path: join(folder, 'log.sqlite') })
    onTestFinished(() => log.close())
    const lease = await leaseStore({ log }).acquire('root')
    const host = await Host.boot({ folder, config: ALWAYS })
    await whenBusyIsTakenUp(host)
    expect(rootOf(host)).toBeUndefined()
    await lease.release()
    await whenLive(host)
    await host.gates.reached('a')
  })

  it('brings back so many roots at a time as it may', async () => {
    const before = await Host.boot({ folder: await temporaryFolder() })
    const ids = ['r1', 'r2', 'r3']
    for (const id of ids) {
      await before.add(await before.keptRoot(id), { workId: id, instruction: `stand at gate ${id}` })
      await before.gates.reached(id)
    }
    const folder = await before.remains()
    const host = await Host.boot({ folder, config: { ...ALWAYS, maxAdoptedRoots: 1 } })
    for (let live = 1; live <= ids.length; live += 1) {
      await until(() => host.gates.arrivals.length === live, `${live} works under way`)
      await settleDown()
      expect(ids.filter((id) => rootOf(host, id) !== undefined)).toHaveLength(live)
      host.gates.open(host.gates.arrivals.at(-1) ?? '')
    }
    for (const id of ids) await host.whenWork(id, 'completed', id)
  })

  it('ends the sessions that it opened with its row, and their works go on with the next', async () => {
    const { folder } = await killedAtGate('a')
    const host = await Host.boot({ folder, config: ALWAYS })
    await whenLive(host)
    await host.gates.reached('a')
    await whenBusyIsTakenUp(host)
    await host.unmount('graph-host')
    expect(host.ctx.agents.list()).toEqual([])
    await host.mount('graph-host')
    await host.gates.reached('a', 2)
    host.gates.open('a')
    await host.whenWork('a', 'completed')
  })
})

describe('a process that does not live on', () => {
  it.each([
    ['auto', undefined],
    ['never', webServer],
  ] as const)('takes nothing up with the setting %s', async (adoptRoots, prepare) => {
    const { folder } = await killedAtGate('a')
    const host = await Host.boot({ folder, config: { adoptRoots }, ...(prepare && { prepare }) })
    // Another one that does shows that there was something to take up, and that nobody had it.
    await whenLive(await Host.boot({ folder, config: ALWAYS }))
    expect(host.ctx.agents.list()).toEqual([])
  })

  it('takes nothing up in a headless run, whatever the setting', async () => {
    const { folder } = await killedAtGate('a')
    const rows = [{ options: { name: '@deepseek-ai/dsh-headless' } }]
    const host = await Host.boot({
      folder,
      config: ALWAYS,
      prepare: (ctx) => void ctx.provide('loader', { await: async () => undefined, entries: () => rows }),
    })
    await whenLive(await Host.boot({ folder, config: ALWAYS }))
    expect(host.ctx.agents.list()).toEqual([])
  })
})

describe('a fork of a root', () => {
  it('owns no graph', async () => {
    const host = await Host.boot({ folder: await temporaryFolder() })
    const root = await host.keptRoot()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    const { graphId } = await host.graph()
    const fork = host.ctx.sessions.fork(root.session, undefined, SessionId('fork'))
    await host.ctx.sessions.flush(fork)
    expect(await host.ctx.graphControl.currentEpoch('fork')).toBeUndefined()
    const copy = await host.root('copy')
    const seen = await host.call(copy, 'view_agent_graph', { graphId })
    expect(seen.value).toMatchObject({ known: false })
  })
})

/** Removes the files of a session. @returns whether there were any. */
async function deleteSession(folder: string, id: string): Promise<boolean> {
  const sessions = join(folder, 'sessions')
  const files = (await readdir(sessions, { recursive: true })).filter((file) => file.includes(id))
  for (const file of files) await rm(join(sessions, file), { recursive: true, force: true })
  return files.length > 0
}
