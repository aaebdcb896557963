/** Several processes with one home: one of them drives a root's graphs, and another takes over. */
import { sqliteLog } from 'dsh-durable-log'
import {
  createAgentGraphController,
  type Activation,
  type ActivationEnd,
  type GraphExecutor,
  type WakeSender,
} from 'dsh-tool-graph'
import { GraphControlStore } from 'dsh-graph-control'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RootLeases } from '../src/root-leases.ts'
import { temporaryFolder } from './host.ts'
import { until } from './until.ts'

/** Completes what the gate lets through, and remembers what it was asked to start. */
class GatedExecutor implements GraphExecutor {
  readonly started: string[] = []
  readonly ended: string[] = []
  private readonly gate = Promise.withResolvers<void>()

  open(): void {
    this.gate.resolve()
  }

  async start({ work, attempt }: Activation): Promise<void> {
    this.started.push(`${work.workId}#${attempt}`)
  }

  async observe({ work }: Activation, signal: AbortSignal): Promise<ActivationEnd> {
    const aborted = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => aborted.reject(new Error('let go')), { once: true })
    await Promise.race([this.gate.promise, aborted.promise])
    this.ended.push(work.workId)
    return { outcome: 'completed', conclusion: 'done' }
  }

  async cancel(): Promise<void> {}
}

interface ProcessOptions {
  readonly ttlMs?: number
  readonly wakes?: WakeSender
}

/** What one process has: its own handle of the log, its store, its leases and its controller. */
async function processOn(path: string, { ttlMs = 60_000, wakes }: ProcessOptions = {}) {
  const log = sqliteLog({ path })
  const store = await GraphControlStore.open(log)
  const warnings: string[] = []
  const leases = new RootLeases({ log, ttlMs, warn: (text) => warnings.push(text) })
  const executor = new GatedExecutor()
  const controller = createAgentGraphController({
    store,
    rootSessionId: 'root',
    leases: leases.of('root'),
    options: {
      executor,
      wakeDelayMs: 0,
      ...(wakes === undefined ? {} : { wakes }),
      onError: (error, doing) => warnings.push(`${doing}: ${String(error)}`),
    },
  })
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await controller.dispose()
    await leases.settled()
    await store.close()
    await log.close()
  }
  onTestFinished(close)
  return { log, store, leases, executor, controller, warnings, close }
}

const addWork = (workId: string) => ({ addWork: [{ workId, instruction: 'x', inputIds: [] }] })
const call = (turn: number) => ({ sessionId: 'root', turn, toolCallId: `call-${turn}` })

describe('a root that two processes have', () => {
  it('is driven by the holder of its lease alone, and by the other one when it is given back', async () => {
    const path = join(await temporaryFolder(), 'log.sqlite')
    const first = await processOn(path)
    await first.controller.update(call(1), addWork('a'))
    await until(() => first.executor.started.length === 1, 'the work to be started')
    expect(first.leases.holds('root')).toBe(true)

    const second = await processOn(path)
    await second.controller.recover()
    expect(second.leases.holds('root')).toBe(false)
    expect(second.executor.started).toEqual([])
    expect(second.controller.expectsWake()).toBe(false)

    await first.close()
    await until(() => second.executor.started.length === 1, 'the other process to take over')
    expect(second.executor.started).toEqual(['a#1'])
    second.executor.open()
    await until(async () => (await second.store.listOpenGraphs()).length === 1, 'the graph to be listed')
    const graphId = (await second.store.currentEpoch('root'))?.graphId ?? ''
    await until(
      async () => (await second.store.readGraph(graphId))?.works.get('a')?.status === 'completed',
      'the work to be done',
    )
    expect((await second.store.readGraph(graphId))?.fence?.epoch).toBe(2)
    expect(second.warnings).toEqual([])
  })

  it('is driven by its holder also for what the other process decides', async () => {
    const path = join(await temporaryFolder(), 'log.sqlite')
    const first = await processOn(path)
    await first.controller.update(call(1), addWork('a'))
    await until(() => first.executor.started.length === 1, 'the work to be started')
    const second = await processOn(path)
    await second.controller.update(call(2), addWork('b'))
    await until(() => first.executor.started.includes('b#1'), 'the other work to be started')
    expect(second.executor.started).toEqual([])
  })

  it('refuses what a holder commits that lost its lease, and lets go of its work', async () => {
    const path = join(await temporaryFolder(), 'log.sqlite')
    const first = await processOn(path)
    await first.controller.update(call(1), addWork('a'))
    await until(() => first.executor.started.length === 1, 'the work to be started')
    const graphId = (await first.store.currentEpoch('root'))?.graphId ?? ''

    // As another machine would whose clock has passed the deadline: the lease is taken over.
    const thief = await processOn(path)
    const lease = { rootSessionId: 'root', epoch: 9, holderId: 'thief', assertHeld: () => undefined }
    await thief.store.leased(lease).takeGraph(graphId)

    first.executor.open()
    await until(() => first.executor.ended.length === 1, 'the operator to end')
    await first.controller.whenQuiet()
    expect((await thief.store.readGraph(graphId))?.works.get('a')?.status).toBe('running')
    const [claim] = await thief.store.listAgentGraphIntentClaims(graphId)
    await thief.store.leased(lease).settleActivation({
      graphId,
      claimId: claim?.claimId ?? '',
      attempt: 1,
      outcome: 'completed',
      conclusion: 'by the other one',
    })
    expect((await first.store.readGraph(graphId))?.works.get('a')?.status).toBe('completed')
    expect(first.controller.expectsWake()).toBe(false)
  })

  it('is let go of once its graphs are over, and held again for the next one', async () => {
    const path = join(await temporaryFolder(), 'log.sqlite')
    const first = await processOn(path)
    first.executor.open()
    for (const turn of [1, 3]) {
      const workId = `w${turn}`
      await first.controller.update(call(turn), addWork(workId))
      await until(() => first.executor.ended.includes(workId), 'the work to end')
      expect(first.leases.holds('root')).toBe(true)
      const graphId = (await first.store.currentEpoch('root'))?.graphId ?? ''
      await until(
        async () => (await first.store.readGraph(graphId))?.counts.pending === 0,
        'its end to be kept',
      )
      await first.controller.update(call(turn + 1), { finish: { resultIds: [workId], reason: 'done' } })
      await until(() => !first.leases.holds('root'), 'the lease to be given back')
    }
    // Nobody waits for a process that has nothing to do.
    const second = await processOn(path)
    second.executor.open()
    await second.controller.update(call(5), addWork('w5'))
    await until(() => second.executor.ended.includes('w5'), 'the other process to work')
    expect(second.leases.holds('root')).toBe(true)
    expect([...first.warnings, ...second.warnings]).toEqual([])
  })

  it('gives up a lease at once that the end of a wake finds lost', async () => {
    const path = join(await temporaryFolder(), 'log.sqlite')
    const turn = Promise.withResolvers<'delivered'>()
    const signals: AbortSignal[] = []
    const first = await processOn(path, {
      wakes: {
        deliver: (_delivery, signal) => {
          signals.push(signal)
          return turn.promise
        },
      },
    })
    first.executor.open()
    await first.controller.update(call(1), addWork('a'))
    await until(() => signals.length === 1, 'the wake')
    const graphId = (await first.store.currentEpoch('root'))?.graphId ?? ''
    const thief = await processOn(path)
    const lease = { rootSessionId: 'root', epoch: 9, holderId: 'thief', assertHeld: () => undefined }
    await thief.store.leased(lease).takeGraph(graphId)
    turn.resolve('delivered')
    // Its driver goes, and not for a timer: the lease has a minute to live.
    await until(() => signals[0]?.aborted === true, 'the lease to be given up')
    expect(first.warnings).toEqual([])
  })
})
