/**
 * The store: graphs on a durable log, behind the port.
 *
 * Owns: opening and closing, leases, what is read over a graph as a whole. Does not own: what an
 * operation decides (store-*), how it is committed (graph-ledger). Operations on the registry,
 * updates, activations and wakes are those of the classes it extends.
 */
import { type DurableLog, kvUnitLog, type KvUnit } from 'dsh-durable-log'
import { changedWorks } from './changes.ts'
import { commit, requireGraph, unchanged } from './decision.ts'
import { GRAPH_PREFIX } from './entries.ts'
import { EpochRegistry } from './epochs.ts'
import { GraphControlError } from './errors.ts'
import { GraphLedgers } from './graph-ledgers.ts'
import { GraphList } from './graph-list.ts'
import { checkedLease, fenceEntry, isTaken } from './lease-fence.ts'
import type { GraphControl, GraphLease, GraphSnapshot, LeasedGraphControl } from './port.ts'
import { RegistryOperations } from './registry-operations.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import { updateOf } from './kept-updates.ts'
import { ResultTexts } from './results.ts'
import { compactGraphs, purgeRoot } from './retention.ts'
import type { StoreParts } from './store-base.ts'
import { readTimeline } from './timeline.ts'
import type { GraphState, ResultPage, TimelinePage, TimelineRequest, Work } from './types.ts'

export interface GraphControlStoreOptions {
  /** Epoch milliseconds; default `Date.now`. */
  readonly now?: () => number
  /** Told what was contained: a listener that threw, a graph that cannot be read while listing. */
  readonly report?: (error: unknown) => void
}

export class GraphControlStore extends RegistryOperations implements GraphControl, LeasedGraphControl {
  /**
   * Opens a store on a log, which stays the caller's, or on a storage unit of DSH that was opened with
   * `KV_UNIT_DESCRIPTOR`; the store then has the unit for itself until it is closed. Graphs load when
   * they are first asked for.
   *
   * @throws DurableLogError when the medium does not answer.
   */
  static async open(
    unitOrLog: DurableLog | KvUnit,
    options: GraphControlStoreOptions = {},
  ): Promise<GraphControlStore> {
    if (typeof unitOrLog !== 'object' || unitOrLog === null) {
      throw new GraphControlError('invalid', 'a store opens on a durable log or on a storage unit of DSH')
    }
    const isUnit = 'loadAll' in unitOrLog
    const log = isUnit ? kvUnitLog(unitOrLog) : unitOrLog
    const release = isUnit ? () => log.close() : () => Promise.resolve()
    try {
      await log.list({ prefix: GRAPH_PREFIX, limit: 1 })
    } catch (error) {
      await release()
      throw error
    }
    const report = options.report ?? (() => undefined)
    const listeners = new Set<(state: GraphState) => void>()
    const announce = (state: GraphState): void => tell(listeners, state, report)
    const parts: StoreParts = {
      log,
      now: () => timeOf(options.now ?? Date.now),
      report,
      listeners,
      release,
      ledgers: new GraphLedgers(log, { announce, report }),
      epochs: new EpochRegistry(log),
      registered: new GraphList(log),
      results: new ResultTexts(log),
      closed: false,
      unwatch: () => undefined,
    }
    return new GraphControlStore(parts, undefined)
  }

  async readGraph(graphId: string): Promise<GraphState | undefined> {
    const state = await this.readState('readGraph', graphId)
    return state.seq === 0 ? undefined : state
  }

  async readTimeline(request: TimelineRequest): Promise<TimelinePage> {
    const checked = requireShape('readTimeline', shapes.timeline, request)
    const state = await this.readState('readTimeline', checked.graphId)
    requireGraph(state)
    return readTimeline(this.parts.log, checked, state.seq)
  }

  async readChanges(graphId: string, sinceSeq: number): Promise<readonly Work[] | undefined> {
    const since = requireShape('readChanges', shapes.position, sinceSeq)
    const state = await this.readState('readChanges', graphId)
    requireGraph(state)
    return changedWorks(state, since)
  }

  async readResult(
    graphId: string,
    recordId: string,
    page: { offset?: number; limit?: number } = {},
  ): Promise<ResultPage> {
    const checked = requireShape('readResult', shapes.page, page)
    const id = this.checkId('readResult', recordId)
    const { records } = await this.readState('readResult', graphId)
    const record = records.get(id)
    if (record === undefined) {
      throw new GraphControlError('record-not-found', `graph ${graphId} has no record ${id}`)
    }
    return this.parts.results.read(graphId, record, checked)
  }

  async snapshot(graphId?: string): Promise<GraphSnapshot> {
    this.requireOpenStore()
    const { ledgers } = this.parts
    const states = graphId === undefined ? [...ledgers.loaded()] : [await this.readState('snapshot', graphId)]
    return {
      scheduleUpdates: states.flatMap(({ index, works }) =>
        Array.from(index.updates.values(), (update) => updateOf(update, works)),
      ),
      intentClaims: states.flatMap((state) => [...state.claims.values()]),
      operatorProvisions: states.flatMap((state) => [...state.operators.values()]),
      operatorBindings: states.flatMap((state) => [...state.bindings.values()]),
      supervisorWakes: states.flatMap((state) => [...state.wakes.values()]),
    }
  }

  async purge(rootSessionId: string): Promise<number> {
    this.requireOpenStore()
    const root = this.checkId('purge', rootSessionId)
    this.requireLeaseOf(root)
    const purged = await purgeRoot(this.parts, root, await this.graphsOf(root))
    this.parts.epochs.forget(root)
    return purged
  }

  async compact(rootSessionId: string): Promise<number> {
    this.requireOpenStore()
    const root = this.checkId('compact', rootSessionId)
    this.requireLeaseOf(root)
    return compactGraphs(this.parts, root, await this.graphsOf(root))
  }

  leased(lease: GraphLease): LeasedGraphControl {
    this.requireOpenStore()
    return new GraphControlStore(this.parts, checkedLease(lease))
  }

  async takeGraph(graphId: string): Promise<void> {
    const id = this.checkId('takeGraph', graphId)
    const { lease } = this
    if (lease === undefined) throw new GraphControlError('invalid', 'takeGraph needs a store under a lease')
    return this.commit(id, (state, at) => {
      if (state.seq === 0 || isTaken(state, lease)) return unchanged(undefined)
      return commit(fenceEntry(lease, at), () => undefined)
    })
  }

  onCommitted(listener: (state: GraphState) => void): () => void {
    if (typeof listener !== 'function') {
      throw new GraphControlError('invalid', 'onCommitted refused: the listener must be a function')
    }
    // Its own key, so that one function registered twice is two registrations.
    const registered = (state: GraphState): void => listener(state)
    const { listeners } = this.parts
    // Watching the log costs something, so it lasts while somebody listens.
    if (listeners.size === 0) this.parts.unwatch = this.parts.ledgers.watch()
    listeners.add(registered)
    return () => {
      if (!listeners.delete(registered) || listeners.size > 0) return
      this.parts.unwatch()
    }
  }

  /** Also closes every view of it under a lease. The log stays open. */
  async close(): Promise<void> {
    if (this.lease !== undefined) return
    this.parts.closed = true
    this.parts.unwatch()
    await this.parts.ledgers.settled()
    this.parts.listeners.clear()
    await this.parts.release()
  }
}

/** A time that the fold could not read would make the graph unreadable. */
function timeOf(now: () => number): number {
  const time = Math.floor(now())
  if (Number.isSafeInteger(time) && time >= 0) return time
  throw new GraphControlError(
    'invalid',
    `the clock of the store says ${time}; it must tell epoch milliseconds`,
  )
}

function tell(
  listeners: ReadonlySet<(state: GraphState) => void>,
  state: GraphState,
  report: (error: unknown) => void,
): void {
  for (const listener of listeners) {
    try {
      listener(state)
    } catch (error) {
      report(error)
    }
  }
}
