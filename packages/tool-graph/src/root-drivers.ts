/**
 * The drivers of one root session's graphs, made when a graph is committed to or taken up.
 *
 * Owns: which graphs are driven in this process, and who is told when an expected wake changes. Does
 * not own: how a graph is driven.
 */
import type { GraphControl } from 'dsh-graph-control'
import { GraphDriver } from './driver.ts'
import type { ControllerConfig } from './types.ts'
import { openWake } from './wake-delivery.ts'

const DEFAULT_ACTIVATION_ATTEMPTS = 3
const DEFAULT_RETRY_BACKOFF_MS = 1_000

export class RootDrivers {
  private readonly config: ControllerConfig
  /** Under the lease, if there is one. */
  private readonly store: GraphControl
  private readonly drivers = new Map<string, GraphDriver>()
  private readonly watchers = new Set<() => void>()
  private readonly unsubscribe: () => void
  private disposed = false

  constructor(config: ControllerConfig) {
    this.config = config
    this.store = config.lease === undefined ? config.store : config.store.leased(config.lease)
    if (config.drives === false) {
      this.unsubscribe = () => undefined
      return
    }
    this.unsubscribe = config.store.onCommitted((state) => {
      if (state.rootSessionId !== config.rootSessionId || this.disposed) return
      this.driverOf(state.graphId).kick(state)
      this.announceMove()
      config.observeGraph?.(state)
    })
  }

  /** Takes up what an earlier process left; finished graphs with nothing under way need no driver. */
  async recover(): Promise<void> {
    const { rootSessionId, lease, drives } = this.config
    const { store } = this
    if (drives === false) return
    for (const { graphId } of await store.listEpochs(rootSessionId)) {
      const state = await store.readGraph(graphId)
      if (state === undefined || this.disposed) continue
      // Nothing of an earlier holder is committed from here on, however late it comes.
      if (lease !== undefined && !state.closed) await this.store.leased(lease).takeGraph(graphId)
      if (!state.closed || state.live.claims.size > 0 || openWake(state) !== undefined)
        this.driverOf(graphId).kick(state)
    }
  }

  expectsWake(): boolean {
    return [...this.drivers.values()].some((driver) => driver.expectsWake())
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
    if (this.disposed) return
    this.disposed = true
    this.unsubscribe()
    await Promise.all([...this.drivers.values()].map((driver) => driver.dispose()))
    this.drivers.clear()
  }

  private driverOf(graphId: string): GraphDriver {
    const { options, rootSessionId } = this.config
    const { store } = this
    let driver = this.drivers.get(graphId)
    if (driver === undefined) {
      driver = new GraphDriver(graphId, {
        store,
        rootSessionId,
        options,
        maxAttempts: options.maxAttempts ?? DEFAULT_ACTIVATION_ATTEMPTS,
        backoffMs: options.retryBackoffMs ?? DEFAULT_RETRY_BACKOFF_MS,
        onMoved: () => this.announceMove(),
        onLeaseLost: (error) => this.stopDriving(error),
      })
      this.drivers.set(graphId, driver)
    }
    return driver
  }

  /** Somebody else drives now: what is under way here is let go, and nothing new begins. */
  private stopDriving(error: unknown): void {
    if (this.disposed) return
    void this.letGo()
    this.config.options.onLeaseLost?.(error)
  }

  private async letGo(): Promise<void> {
    try {
      await this.dispose()
    } catch (error) {
      this.config.options.onError?.(error, 'letting go of a lost lease')
    }
  }

  private announceMove(): void {
    for (const watcher of this.watchers) {
      try {
        watcher()
      } catch (error) {
        this.config.options.onError?.(error, 'telling a watcher')
      }
    }
  }
}
