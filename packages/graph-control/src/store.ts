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
import { isEpochGraphId } from './ids.ts'
import { checkedLease, fenceEntry, isTaken, requireLeaseOf } from './lease-fence.ts'
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
    this.requireLeaseOf(checked.rootSessionId)
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
    this.requireLeaseOf(rootSessionId)
    const at = this.parts.now()
    // The registry first: a graph that is listed and has no root is taken up by the retry.
    const before = await this.readState('createGraph', graphId)
    if (before.rootSessionId === undefined) {
      await this.requireNoEpoch(graphId, rootSessionId)
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
        if (state.seq > 0 && isOf(state, rootSessionId)) graphs.push(summarize(state))
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
    this.parts.listeners.add(registered)
    return () => void this.parts.listeners.delete(registered)
  }

  /** Also closes every view of it under a lease. The log stays open. */
  async close(): Promise<void> {
    if (this.lease !== undefined) return
    this.parts.closed = true
    await this.parts.ledgers.settled()
    this.parts.listeners.clear()
    await this.parts.release()
  }

  /** @returns whether it was opened now. */
  private openGraph(graphId: string, rootSessionId: string, at: number): Promise<boolean> {
    return this.parts.ledgers.commit(
      graphId,
      (state) =>
        state.rootSessionId === undefined
          ? commit(graphEntry('graph/opened', { at, graphId, rootSessionId }), () => true)
          : unchanged(false),
      this.lease,
    )
  }

  /** Names of epochs are given by their roots, and a root that comes later must find its own free. */
  private async requireNoEpoch(graphId: string, rootSessionId: string): Promise<void> {
    if (!isEpochGraphId(graphId)) return
    const epochs = await this.parts.epochs.list(rootSessionId)
    if (epochs.some((epoch) => epoch.graphId === graphId)) return
    throw new GraphControlError(
      'invalid',
      `createGraph refused: graphId ${graphId} is the name of an epoch; choose another, or advance the epoch`,
    )
  }

  /** @throws GraphControlError `invalid` for another root's lease; what the lease throws. */
  private requireLeaseOf(rootSessionId: string): void {
    if (this.lease !== undefined) requireLeaseOf(this.lease, rootSessionId)
  }

  /** In order of their ids. */
  private async graphsOf(rootSessionId: string): Promise<readonly string[]> {
    const { epochs, registered } = this.parts
    const ids = (await epochs.list(rootSessionId)).map((epoch) => epoch.graphId)
    return [...new Set([...ids, ...(await registered.list(rootSessionId))])].sort()
  }
}

/** A root may list what it could not open in the end: another root was there first. */
function isOf(state: GraphState, rootSessionId: string | undefined): boolean {
  return rootSessionId === undefined || state.rootSessionId === rootSessionId
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
