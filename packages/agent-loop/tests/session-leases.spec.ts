import { memoryLog, type ProcessIdentity, type Processes } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { leaseNameOf } from '../src/session-lease.ts'
import { settleDown, until } from './support/until.ts'
import { World } from './support/world.ts'

/** Two processes on one machine, of which any may die. */
function twoProcesses() {
  const dead = new Set<number>()
  const identity = (pid: number): ProcessIdentity => ({
    pid,
    startedAt: 'then',
    bootId: 'boot',
    machineId: 'machine',
    pidSpace: 'space',
  })
  const processes = (pid: number): Processes => ({
    self: identity(pid),
    stateOf: (other) => (dead.has(other.pid) ? 'dead' : 'alive'),
  })
  return { one: processes(1), two: processes(2), kill: (pid: number) => void dead.add(pid) }
}

async function twoWorlds() {
  const { one, two, kill } = twoProcesses()
  const log = memoryLog()
  const first = await World.boot({ log, processes: one })
  const second = await World.boot({ log, processes: two })
  return { first, second, kill, log }
}

describe('the write lease of a session', () => {
  it('is taken before its first run and kept for the next ones', async () => {
    const { first, log } = await twoWorlds()
    await first.createAgent('s')
    first.model.auto = () => 'ok'
    for (const text of ['one', 'two']) await first.host.wait({ runId: await first.accept('s', text) })
    expect((await log.read('lease/run/s')).map(({ type }) => type)).toEqual(['lease/acquired'])
    const started = (await log.read('run/s')).filter(({ type }) => type === 'run/started')
    expect(started.map(({ data }) => (data as { epoch: number }).epoch)).toEqual([1, 1])
  })

  it('is given back when its session is at rest, and with the host', async () => {
    const { first, log } = await twoWorlds()
    await first.createAgent('s')
    first.model.auto = () => 'ok'
    await first.host.wait({ runId: await first.accept('s', 'one') })
    await until(() => first.host.lanes().length === 0)
    first.leaseClock.advance(40_000)
    await until(() => first.leaseClock.pending === 0)
    expect((await log.read('lease/run/s')).map(({ type }) => type)).toEqual([
      'lease/acquired',
      'lease/released',
    ])
    await first.host.wait({ runId: await first.accept('s', 'two') })
    await first.unload()
    expect((await log.read('lease/run/s')).at(-1)?.type).toBe('lease/released')
  })

  it('is renewed while something runs', async () => {
    const { first, log } = await twoWorlds()
    await first.createAgent('s')
    await first.accept('s', 'one')
    await first.model.call(0)
    first.leaseClock.advance(40_000)
    await until(() => first.leaseClock.pending === 1)
    expect((await log.read('lease/run/s')).map(({ type }) => type)).toEqual([
      'lease/acquired',
      'lease/renewed',
    ])
  })

  it('keeps another process from running the session; the holder runs what that one accepts', async () => {
    const { first, second } = await twoWorlds()
    await first.createAgent('s')
    await second.createAgent('s')
    await first.accept('s', 'one')
    const call = await first.model.call(0)
    const foreign = await second.accept('s', 'two')
    await settleDown()
    expect(second.model.calls).toHaveLength(0)
    expect(second.host.lanes()).toMatchObject([{ queued: [foreign] }])
    call.reply('ok')
    ;(await first.model.call(1)).reply('by the holder')
    expect(await second.host.wait({ runId: foreign })).toMatchObject({ status: 'ok', reply: 'by the holder' })
    expect(second.host.lanes()).toEqual([])
    expect(await first.terminalEntries('s')).toMatchObject({ [foreign]: 1 })
  })

  it('of a dead holder is taken at once', async () => {
    const { first, second, kill } = await twoWorlds()
    await first.createAgent('s')
    await first.accept('s', 'one')
    await first.model.call(0)
    await second.createAgent('s')
    kill(1)
    const runId = await second.accept('s', 'two')
    expect((await second.model.call(0)).prompt).toBe('two')
    expect(await second.host.read(runId)).toMatchObject({ state: 'running' })
  })

  it('is waited for while its holder lives', async () => {
    const { first, second } = await twoWorlds()
    await first.createAgent('s')
    const one = await first.accept('s', 'one')
    ;(await first.model.call(0)).reply('ok')
    await first.host.wait({ runId: one })
    await first.unload()
    await second.createAgent('s')
    await second.accept('s', 'two')
    expect((await second.model.call(0)).prompt).toBe('two')
  })

  it('that is lost ends the turn of the old holder, whose writes are refused', async () => {
    const { first, second, kill } = await twoWorlds()
    const agent = await first.createAgent('s')
    const runId = await first.accept('s', 'one')
    const call = await first.model.call(0)
    await second.createAgent('s')
    kill(1)
    await second.accept('s', 'two')
    const taken = await second.model.call(0)
    call.reply('from the dead')
    await agent.whenIdle()
    await settleDown()
    expect(await second.host.read(runId)).toMatchObject({ state: 'running' })
    expect(first.host.lanes()).toMatchObject([{ sessionId: 's', running: undefined }])
    taken.reply('ok')
    expect(await second.terminalEntries('s')).not.toHaveProperty(runId)
  })

  it('tells its holder at the next renewal when somebody else has it', async () => {
    const { first, second, kill } = await twoWorlds()
    const agent = await first.createAgent('s')
    await first.accept('s', 'one')
    const call = await first.model.call(0)
    await second.createAgent('s')
    kill(1)
    await second.accept('s', 'two')
    await second.model.call(0)
    expect(call.signal?.aborted).toBe(false)
    first.leaseClock.advance(40_000)
    await until(() => call.signal?.aborted === true)
    await agent.whenIdle()
    const end = agent.session.events.findLast(({ type }) => type === 'turn/end')
    expect(end?.data).toMatchObject({ reason: { kind: 'aborted', reason: { kind: 'hook' } } })
  })

  it('has a name that fits, whatever the session is called', () => {
    expect(leaseNameOf('s')).toBe('run/s')
    expect(leaseNameOf('x'.repeat(508)).length).toBeLessThan(500)
    expect(leaseNameOf('x'.repeat(508))).not.toBe(leaseNameOf('y'.repeat(508)))
  })
})
