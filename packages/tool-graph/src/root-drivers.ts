/**
 * The drivers of one root session's graphs, made when a graph is committed to or taken up.
 *
 * Owns: which graphs are driven in this process, and who is told when an expected wake changes. Does
 * not own: how a graph is driven.
 */
import { GraphDriver } from './driver.ts'
import type { ControllerConfig } from './types.ts'
import { openWake } from './wake-delivery.ts'

const DEFAULT_ACTIVATION_ATTEMPTS = 3

export class RootDrivers {
  private readonly config: ControllerConfig
  private readonly drivers = new Map<string, GraphDriver>()
  private readonly watchers = new Set<() => void>()
  private readonly unsubscribe: () => void
  private disposed = false

  constructor(config: ControllerConfig) {
    this.config = config
    this.unsubscribe = config.store.onCommitted((state) => {
      if (state.rootSessionId !== config.rootSessionId || this.disposed) return
      this.driverOf(state.graphId).kick(state)
      this.announceMove()
      config.observeGraph?.(state)
    })
  }

  /** Takes up what an earlier process left; finished graphs with nothing under way need no driver. */
  async recover(): Promise<void> {
    const { rootSessionId, store } = this.config
    for (const { graphId } of await store.listEpochs(rootSessionId)) {
      const state = await store.readGraph(graphId)
      if (state === undefined || this.disposed) continue
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
    const { options, rootSessionId, store } = this.config
    let driver = this.drivers.get(graphId)
    if (driver === undefined) {
      driver = new GraphDriver(graphId, {
        store,
        rootSessionId,
        options,
        maxAttempts: options.maxAttempts ?? DEFAULT_ACTIVATION_ATTEMPTS,
        onMoved: () => this.announceMove(),
      })
      this.drivers.set(graphId, driver)
    }
    return driver
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
