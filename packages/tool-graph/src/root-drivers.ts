/**
 * The drivers of one root session's graphs, made when a graph is committed to or taken up.
 *
 * Where a lease source is given, graphs are driven only while this process holds the root's lease;
 * when the lease is lost, what is under way is let go, and taken up again with the next lease. A root
 * whose graphs are all over has no driver, and gives its lease back until there is more to do. Owns:
 * which graphs are driven in this process and since when, and who is told when an expected wake
 * changes. Does not own: how a graph is driven.
 */
import type { GraphControl, GraphState } from 'dsh-graph-control'
import { DEFAULT_MAX_ACTIVATIONS, GraphDriver, isOver } from './driver.ts'
import { roomOf } from './limits.ts'
import { pause } from './pause.ts'
import type { ControllerConfig, LeaseSource, RootLease } from './types.ts'
import type { Standing } from './work-view.ts'

const DEFAULT_ACTIVATION_ATTEMPTS = 3
const DEFAULT_RETRY_BACKOFF_MS = 1_000
/** Before the lease is asked for again after a failure. */
const RETRY_MS = 1_000

export class RootDrivers {
  private readonly config: ControllerConfig
  /** What the drivers commit to; undefined while another process may hold the lease. */
  private store: GraphControl | undefined
  private lease: RootLease | undefined
  private readonly drivers = new Map<string, GraphDriver>()
  private readonly watchers = new Set<() => void>()
  private readonly unsubscribe: () => void
  private readonly abort = new AbortController()
  /** The lease was asked for, and another process has it. */
  private isElsewhere = false
  /** While there is something to drive: holding the lease again and again. */
  private tenure: Promise<void> | undefined
  /** Settles once it is known whether this process drives, or another one does. */
  private decided: Promise<void> = Promise.resolve()
  /** Something was committed since the root was last found idle. */
  private isWanted = false
  /** Set while the lease is held: called when nothing is left to drive. */
  private onIdle: (() => void) | undefined

  constructor(config: ControllerConfig) {
    this.config = config
    if (config.leases === undefined) this.store = config.store
    this.unsubscribe = config.store.onCommitted((state) => {
      if (state.rootSessionId !== config.rootSessionId || this.disposed) return
      this.isWanted = true
      this.begin()
      this.observe(state)
    })
  }

  /** Takes up what an earlier process left; finished graphs with nothing under way need no driver. */
  async recover(): Promise<void> {
    this.begin()
    await this.decided
    await this.takeUp()
  }

  /** Resolves when it is known whether this process drives the root's graphs. */
  async whenDecided(): Promise<void> {
    this.begin()
    await this.decided
  }

  lookAgain(): void {
    for (const driver of this.drivers.values()) driver.kick()
    this.announceMove()
  }

  expectsWake(): boolean {
    return [...this.drivers.values()].some((driver) => driver.expectsWake())
  }

  /** What decides besides the state when a work that could begin does. */
  standingOf(state: GraphState): Standing {
    const { limits, maxNewActivations = DEFAULT_MAX_ACTIVATIONS, runWait } = this.config.options
    const room = limits === undefined ? undefined : roomOf(state, limits, Date.now())
    return {
      slots: maxNewActivations,
      ...(runWait === undefined ? {} : { runWait }),
      ...(this.isElsewhere ? { drivenElsewhere: true } : {}),
      ...(room?.left === 0 ? { ceiling: 'tokens: the rest is reserved for works under way' } : {}),
    }
  }

  watch(listener: () => void): () => void {
    const own = () => listener()
    this.watchers.add(own)
    return () => void this.watchers.delete(own)
  }

  async whenQuiet(): Promise<void> {
    await Promise.all([...this.drivers.values()].map((driver) => driver.whenQuiet()))
  }

  async dispose(): Promise<void> {
    this.unsubscribe()
    this.abort.abort()
    await this.letGo()
    await this.tenure
  }

  private get disposed(): boolean {
    return this.abort.signal.aborted
  }

  private observe(state: GraphState): void {
    if (this.store !== undefined) this.driverOf(this.store, state.graphId).kick(state)
    this.announceMove()
    this.config.observeGraph?.(state)
  }

  private begin(): void {
    const { leases } = this.config
    if (leases === undefined || this.tenure !== undefined || this.disposed) return
    this.decided = new Promise((decide) => {
      this.tenure = this.hold(leases, decide)
    })
  }

  /** Never rejects: what fails here is told, and tried again. */
  private async hold(leases: LeaseSource, decide: () => void): Promise<void> {
    const { signal } = this.abort
    while (!signal.aborted) {
      try {
        const lease = await leases.acquire()
        this.isElsewhere = lease === undefined
        decide()
        if (lease === undefined) await leases.whenFree(signal)
        else if (await this.driveUnder(lease, signal)) {
          // From here on a commit begins anew; one that came meanwhile is looked at now.
          if (!this.isWanted) return void (this.tenure = undefined)
        }
      } catch (error) {
        decide()
        if (signal.aborted) return
        this.report(error, 'holding the lease')
        await pause(RETRY_MS, signal)
      }
    }
    decide()
  }

  /** @returns true when all is over; false when the lease is. */
  private async driveUnder(lease: RootLease, signal: AbortSignal): Promise<boolean> {
    const idle = Promise.withResolvers<true>()
    try {
      this.lease = lease
      this.store = this.config.store.leased(lease)
      this.onIdle = () => {
        this.isWanted = false
        idle.resolve(true)
      }
      await this.takeUp(lease)
      if (this.drivers.size === 0) this.onIdle()
      return await Promise.race([idle.promise, lease.whenLost(signal).then(() => false)])
    } finally {
      this.onIdle = undefined
      this.store = undefined
      this.lease = undefined
      await this.letGo()
      await lease.release()
      this.announceMove()
    }
  }

  private async takeUp(lease?: RootLease): Promise<void> {
    const { rootSessionId } = this.config
    const { store } = this
    if (store === undefined) return
    for (const { graphId } of await store.listEpochs(rootSessionId)) {
      const state = await store.readGraph(graphId)
      if (state === undefined || this.disposed) continue
      // Nothing of an earlier holder is committed from here on, however late it comes.
      if (lease !== undefined && !state.closed) await store.leased(lease).takeGraph(graphId)
      if (!isOver(state)) this.driverOf(store, graphId).kick(state)
    }
  }

  private async letGo(): Promise<void> {
    const drivers = [...this.drivers.values()]
    this.drivers.clear()
    await Promise.all(drivers.map((driver) => driver.dispose()))
  }

  private driverOf(store: GraphControl, graphId: string): GraphDriver {
    const { options, rootSessionId } = this.config
    let driver = this.drivers.get(graphId)
    if (driver === undefined) {
      driver = new GraphDriver(graphId, {
        store,
        rootSessionId,
        options,
        maxAttempts: options.maxAttempts ?? DEFAULT_ACTIVATION_ATTEMPTS,
        backoffMs: options.retryBackoffMs ?? DEFAULT_RETRY_BACKOFF_MS,
        onMoved: () => this.announceMove(),
        onLeaseLost: () => this.lease?.markLost(),
        onOver: () => this.leave(graphId),
      })
      this.drivers.set(graphId, driver)
    }
    return driver
  }

  /** A driver that is over does nothing more; a commit to its graph makes another one. */
  private leave(graphId: string): void {
    const driver = this.drivers.get(graphId)
    if (driver === undefined || this.disposed) return
    this.drivers.delete(graphId)
    void driver.dispose()
    this.announceMove()
    if (this.drivers.size === 0) this.onIdle?.()
  }

  private report(error: unknown, doing: string): void {
    this.config.options.onError?.(error, doing)
  }

  private announceMove(): void {
    for (const watcher of this.watchers) {
      try {
        watcher()
      } catch (error) {
        this.report(error, 'telling a watcher')
      }
    }
  }
}
