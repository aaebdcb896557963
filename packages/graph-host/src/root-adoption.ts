/**
 * Takes up the graphs of roots that nobody has open: after a kill their work goes on without a person
 * who opens the session. Only in a process that lives on, only under the root's lease.
 *
 * Owns: which roots are looked at, how many at a time, the sessions it made live (they end with the
 * row). Does not own: what is driven; a root that is live gets its controller like any other.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'
import { resumeSession, type AgentLoopHost } from 'dsh-agent-loop-host'
import type { DurableLog } from 'dsh-durable-log'
import { reconcile, type GraphControl, type GraphState } from 'dsh-graph-control'
import type { DrivingAgentGraphController } from 'dsh-tool-graph'
import { ABANDONED, abandonGraph } from './abandon.ts'
import { textOfError } from './errors.ts'
import { LEASE_PREFIX, type RootLeases } from './root-leases.ts'
import { isSessionArchived, isSessionStored } from './stored-sessions.ts'

export interface RootAdoptionDeps {
  readonly ctx: Context
  readonly store: GraphControl
  readonly loop: AgentLoopHost
  readonly log: DurableLog
  readonly leases: RootLeases
  /** Roots that are brought back at a time. */
  readonly atOnce: number
  /** The controller of a live root. */
  readonly controllerOf: (rootSessionId: string) => DrivingAgentGraphController | undefined
  /** A controller for a root that is not live; the caller disposes it. */
  readonly makeController: (rootSessionId: string) => DrivingAgentGraphController
  readonly warn: (text: string) => void
}

export class RootAdoption {
  private readonly deps: RootAdoptionDeps
  private readonly abort = new AbortController()
  private readonly queue: string[] = []
  /** Roots that wait for their turn, for their lease, or are being brought back. */
  private readonly known = new Set<string>()
  /** Sessions that were live here, whoever opened them: one that was closed stays closed. */
  private readonly opened = new Set<string>()
  /** Roots that could not be taken up: the text was told, the next process tries again. */
  private readonly failed = new Set<string>()
  private readonly underWay = new Set<Promise<void>>()
  private working = 0

  constructor(deps: RootAdoptionDeps) {
    this.deps = deps
    const { ctx, log, store } = deps
    ctx.on('agent/created', ({ agent }) => void this.opened.add(agent.id))
    for (const { id } of ctx.agents.list()) this.opened.add(id)
    ctx.effect(() => () => this.close(), 'adoption of root sessions')
    ctx.effect(
      // A person may let a work go on whose root is not live.
      () => store.onCommitted(({ rootSessionId }) => this.consider(rootSessionId)),
      'commits to graphs of roots that are not live',
    )
    ctx.effect(
      () => log.subscribe(LEASE_PREFIX, ({ stream }) => this.consider(stream.slice(LEASE_PREFIX.length))),
      'leases that other processes leave',
    )
  }

  /** Looks at what earlier processes left. Never rejects. */
  async start(): Promise<void> {
    const { store, warn } = this.deps
    try {
      for (const { rootSessionId } of await store.listOpenGraphs()) this.consider(rootSessionId)
    } catch (error) {
      if (!this.abort.signal.aborted) warn(`open graphs cannot be listed: ${textOfError(error)}`)
    }
  }

  private async close(): Promise<void> {
    this.abort.abort()
    await Promise.all(this.underWay)
  }

  private get isClosed(): boolean {
    return this.abort.signal.aborted
  }

  private consider(rootSessionId: string | undefined): void {
    if (rootSessionId === undefined) return
    const isSettled = this.opened.has(rootSessionId) || this.failed.has(rootSessionId)
    if (this.isClosed || isSettled || this.known.has(rootSessionId)) return
    this.known.add(rootSessionId)
    this.queue.push(rootSessionId)
    this.fillSlots()
  }

  private fillSlots(): void {
    while (this.working < this.deps.atOnce && !this.isClosed) {
      const rootSessionId = this.queue.shift()
      if (rootSessionId === undefined) return
      this.working += 1
      this.track(this.workOff(rootSessionId))
    }
  }

  private track(doing: Promise<void>): void {
    const done: Promise<void> = doing.finally(() => this.underWay.delete(done))
    this.underWay.add(done)
  }

  private async workOff(rootSessionId: string): Promise<void> {
    let isDone = true
    try {
      isDone = await this.takeUp(rootSessionId)
    } catch (error) {
      this.failed.add(rootSessionId)
      if (!this.isClosed)
        this.deps.warn(`the graphs of root ${rootSessionId} are not taken up: ${textOfError(error)}`)
    }
    this.working -= 1
    if (this.isClosed) return
    if (isDone) this.known.delete(rootSessionId)
    // Without a slot: another process may hold the lease for days.
    else this.track(this.waitForLease(rootSessionId))
    this.fillSlots()
  }

  private async waitForLease(rootSessionId: string): Promise<void> {
    await this.deps.leases.of(rootSessionId).whenFree(this.abort.signal)
    this.known.delete(rootSessionId)
    this.consider(rootSessionId)
  }

  /** @returns false while another process holds the root's lease. */
  private async takeUp(rootSessionId: string): Promise<boolean> {
    const { ctx, leases } = this.deps
    if (isSessionArchived(ctx, rootSessionId)) return true
    if (!(await this.isWanted(rootSessionId))) return true
    const giveBack = await leases.reserve(rootSessionId)
    if (giveBack === undefined) return false
    try {
      // Read again: the last holder may have done the rest.
      if (!(await this.isWanted(rootSessionId)) || this.opened.has(rootSessionId) || this.isClosed)
        return true
      if (await isSessionStored(ctx, rootSessionId)) await this.adopt(rootSessionId)
      else await this.abandon(rootSessionId)
      return true
    } finally {
      await giveBack()
    }
  }

  /** Resolves when what can be done at once is done, so that the next root may follow. */
  private async adopt(rootSessionId: string): Promise<void> {
    const { ctx, controllerOf } = this.deps
    const { signal } = this.abort
    try {
      // It stays live until the row ends: a person may have found it open meanwhile.
      await resumeSession(ctx, ctx.agents, rootSessionId, signal)
    } catch (error) {
      // A person may have opened it at the same moment.
      if (ctx.agents.get(SessionId(rootSessionId)) === undefined) throw error
    }
    const controller = controllerOf(rootSessionId)
    if (controller === undefined) return
    await controller.recover()
    await Promise.race([controller.whenQuiet(), whenAborted(signal)])
  }

  private async abandon(rootSessionId: string): Promise<void> {
    const { loop, makeController, store, warn } = this.deps
    for (const state of await this.openStates(rootSessionId)) await abandonGraph(store, rootSessionId, state)
    await loop.abort({ sessionId: rootSessionId, cause: ABANDONED })
    // Of a finished graph nothing is started any more; what ran is cancelled.
    const controller = makeController(rootSessionId)
    try {
      await controller.recover()
      await Promise.race([controller.whenQuiet(), whenAborted(this.abort.signal)])
    } finally {
      await controller.dispose()
    }
    warn(`root ${rootSessionId} was deleted; its graphs are stopped`)
  }

  /** A graph can go on, or one that waits has lost its root. */
  private async isWanted(rootSessionId: string): Promise<boolean> {
    const states = await this.openStates(rootSessionId)
    if (states.length === 0 || states.some(canMove)) return states.length > 0
    return !(await isSessionStored(this.deps.ctx, rootSessionId))
  }

  /** The graphs of a root in which something waits or is to be done. */
  private async openStates(rootSessionId: string): Promise<readonly GraphState[]> {
    const { store } = this.deps
    const epochs = await store.listEpochs(rootSessionId)
    const states = await Promise.all(epochs.map(({ graphId }) => store.readGraph(graphId)))
    return states.flatMap((state) =>
      state === undefined || state.closed || (state.counts.pending === 0 && !canMove(state)) ? [] : [state],
    )
  }
}

/** Something is to be done, now or at a time. Not where all waits for a person, or is told. */
function canMove(state: GraphState): boolean {
  return reconcile(state, { maxNewActivations: 1, now: Date.now() }).length > 0
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
