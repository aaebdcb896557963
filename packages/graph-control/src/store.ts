/**
 * The store: graphs on a durable log, behind the port.
 *
 * Owns: opening and closing, the registry, what is read over a graph as a whole. Does not own: what
 * an operation decides (store-*), how it is committed (graph-ledger). Operations on updates,
 * activations and wakes are those of the classes it extends.
 */
import { type DurableLog, kvUnitLog, type KvUnit } from 'dsh-durable-log'
import { changedWorks } from './changes.ts'
import { commit, requireGraph, unchanged } from './decision.ts'
import { graphEntry, GRAPH_PREFIX } from './entries.ts'
import { EpochRegistry } from './epochs.ts'
import { GraphControlError } from './errors.ts'
import { GraphLedgers } from './graph-ledgers.ts'
import { GraphList } from './graph-list.ts'
import { summarize } from './graph-summary.ts'
import { fenceEntry, isTaken } from './lease-fence.ts'
import type { GraphControl, GraphLease, GraphSnapshot, LeasedGraphControl } from './port.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import { ResultTexts } from './results.ts'
import { compactGraphs, purgeRoot } from './retention.ts'
import type { StoreParts } from './store-base.ts'
import { readTimeline } from './timeline.ts'
import type {
  GraphEpoch,
  GraphPage,
  GraphState,
  GraphSummary,
  ResultPage,
  TimelinePage,
  TimelineRequest,
  Work,
} from './types.ts'
import { WakeOperations } from './wake-operations.ts'

export interface GraphControlStoreOptions {
  /** Epoch milliseconds; default `Date.now`. */
  readonly now?: () => number
  /** Told what was contained: a listener that threw, a graph that cannot be read while listing. */
  readonly report?: (error: unknown) => void
}

type Request<K extends keyof GraphControl> = GraphControl[K] extends (request: infer R) => unknown ? R : never

const DEFAULT_GRAPHS = 50

export class GraphControlStore extends WakeOperations implements GraphControl, LeasedGraphControl {
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
      now: options.now ?? Date.now,
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

  async listEpochs(rootSessionId: string): Promise<readonly GraphEpoch[]> {
    this.requireOpenStore()
    return this.parts.epochs.list(this.checkId('listEpochs', rootSessionId))
  }

  async currentEpoch(rootSessionId: string): Promise<GraphEpoch | undefined> {
    return (await this.listEpochs(rootSessionId)).at(-1)
  }

  async advanceEpoch(request: Request<'advanceEpoch'>): Promise<{ epoch: GraphEpoch; created: boolean }> {
    this.requireOpenStore()
    const checked = requireShape('advanceEpoch', shapes.advance, request)
    const { epochs, ledgers, now } = this.parts
    const at = now()
    const advanced = await epochs.advance({ ...checked, at }, async (graphId) => {
      return (await ledgers.read(graphId)).closed
    })
    // Two streams, so a crash may come between: whoever finds the epoch opens its graph.
    await this.openGraph(advanced.epoch.graphId, advanced.epoch.rootSessionId, at)
    return advanced
  }

  async createGraph(request: Request<'createGraph'>): Promise<{ graph: GraphState; created: boolean }> {
    this.requireOpenStore()
    const { graphId, rootSessionId } = requireShape('createGraph', shapes.registration, request)
    const at = this.parts.now()
    // The registry first: a graph that is listed and empty is taken up by the retry.
    const before = await this.readState('createGraph', graphId)
    if (before.rootSessionId === undefined && before.seq === 0) {
      await this.parts.registered.add(rootSessionId, graphId, at)
    }
    const created = await this.openGraph(graphId, rootSessionId, at)
    const graph = await this.readState('createGraph', graphId)
    if (graph.rootSessionId === rootSessionId) return { graph, created }
    throw new GraphControlError('graph-exists', `graph ${graphId} belongs to another root session`)
  }

  async listGraphs(request: Request<'listGraphs'> = {}): Promise<GraphPage> {
    this.requireOpenStore()
    const {
      rootSessionId,
      cursor,
      limit = DEFAULT_GRAPHS,
    } = requireShape('listGraphs', shapes.listing, request)
    const page =
      rootSessionId === undefined
        ? await this.parts.ledgers.listIds(cursor, limit)
        : pageOf(await this.graphsOf(rootSessionId), cursor, limit)
    const graphs: GraphSummary[] = []
    const unreadable: { graphId: string; reason: string }[] = []
    for (const graphId of page.ids) {
      try {
        const state = await this.parts.ledgers.read(graphId)
        if (state.seq > 0) graphs.push(summarize(state))
      } catch (error) {
        if (!(error instanceof GraphControlError) || error.code !== 'quarantined') throw error
        unreadable.push({ graphId, reason: error.message })
      }
    }
    return { graphs, unreadable, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) }
  }

  async listOpenGraphs(): Promise<readonly { graphId: string; rootSessionId: string | undefined }[]> {
    this.requireOpenStore()
    return this.parts.ledgers.listOpen()
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
    const { records } = await this.readState('readResult', graphId)
    if (!records.has(recordId)) {
      throw new GraphControlError('record-not-found', `graph ${graphId} has no record ${String(recordId)}`)
    }
    return this.parts.results.read(graphId, recordId, checked)
  }

  async snapshot(graphId?: string): Promise<GraphSnapshot> {
    this.requireOpenStore()
    const { ledgers } = this.parts
    const states = graphId === undefined ? [...ledgers.loaded()] : [await this.readState('snapshot', graphId)]
    return {
      scheduleUpdates: states.flatMap((state) => [...state.index.updates.values()]),
      intentClaims: states.flatMap((state) => [...state.claims.values()]),
      operatorProvisions: states.flatMap((state) => [...state.operators.values()]),
      operatorBindings: states.flatMap((state) => [...state.bindings.values()]),
      supervisorWakes: states.flatMap((state) => [...state.wakes.values()]),
    }
  }

  async purge(rootSessionId: string): Promise<number> {
    this.requireOpenStore()
    const root = this.checkId('purge', rootSessionId)
    const purged = await purgeRoot(this.parts, root, await this.graphsOf(root))
    this.parts.epochs.forget(root)
    return purged
  }

  async compact(rootSessionId: string): Promise<number> {
    this.requireOpenStore()
    return compactGraphs(this.parts, await this.graphsOf(this.checkId('compact', rootSessionId)))
  }

  leased(lease: GraphLease): LeasedGraphControl {
    this.requireOpenStore()
    return new GraphControlStore(this.parts, lease)
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

  /** @returns whether it was opened now. */
  private openGraph(graphId: string, rootSessionId: string, at: number): Promise<boolean> {
    return this.parts.ledgers.commit(graphId, (state) =>
      state.rootSessionId === undefined
        ? commit(graphEntry('graph/opened', { at, graphId, rootSessionId }), () => true)
        : unchanged(false),
    )
  }

  /** In order of their ids. */
  private async graphsOf(rootSessionId: string): Promise<readonly string[]> {
    const { epochs, registered } = this.parts
    const ids = (await epochs.list(rootSessionId)).map((epoch) => epoch.graphId)
    return [...new Set([...ids, ...(await registered.list(rootSessionId))])].sort()
  }
}

function pageOf(
  ids: readonly string[],
  cursor: string | undefined,
  limit: number,
): { ids: readonly string[]; cursor?: string } {
  const rest = cursor === undefined ? ids : ids.filter((id) => id > cursor)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return { ids: page, ...(rest.length > page.length && last !== undefined ? { cursor: last } : {}) }
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
