/**
 * The durable store of agent graphs.
 *
 * Each operation checks its request, then decides and appends in its graph's ledger, then answers
 * from the state that led to. Owns: the ledgers, listeners, life. Does not own: the log, which
 * others use too and which is closed by whoever opened it.
 */
import type { DurableLog } from 'dsh-durable-log'
import { commit, type Decide, unchanged } from './decision.ts'
import { graphEntry, GRAPH_PREFIX } from './entries.ts'
import { EpochRegistry } from './epochs.ts'
import { GraphControlError } from './errors.ts'
import { GraphLedgers } from './graph-ledgers.ts'
import type { FoldedGraph } from './graph-state.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import { ResultTexts } from './results.ts'
import { decideBegin, decideCancel, decideClaim, decideRetry } from './store-claims.ts'
import { decideProvision } from './store-provisions.ts'
import { decideUpdate } from './store-schedule.ts'
import { decideSettle } from './store-settle.ts'
import { decideSeen, decideWait, decideWake, decideWakeAttempt, decideWakeSettlement } from './store-wakes.ts'
import type { GraphControl } from './port.ts'
import type {
  AdmissionTransition,
  Claim,
  ClaimRequest,
  GraphEpoch,
  GraphRecord,
  GraphState,
  Operator,
  ProvisionRequest,
  ResultPage,
  ScheduleUpdate,
  ScheduleUpdateRequest,
  SettleRequest,
  Wait,
  Wake,
  Work,
} from './types.ts'

export interface GraphControlStoreOptions {
  /** Epoch milliseconds; default `Date.now`. */
  readonly now?: () => number
  /** Told what was contained: a listener that threw, a graph that cannot be read while listing. */
  readonly report?: (error: unknown) => void
}

type Request<K extends keyof GraphControl> = GraphControl[K] extends (request: infer R) => unknown ? R : never

export class GraphControlStore implements GraphControl {
  private readonly now: () => number
  private readonly report: (error: unknown) => void
  private readonly epochs: EpochRegistry
  private readonly results: ResultTexts
  private readonly ledgers: GraphLedgers
  private readonly listeners = new Set<(state: GraphState) => void>()
  private isClosed = false

  private constructor(log: DurableLog, options: GraphControlStoreOptions) {
    this.now = options.now ?? Date.now
    this.report = options.report ?? (() => undefined)
    this.ledgers = new GraphLedgers(log, { announce: (state) => this.announce(state), report: this.report })
    this.epochs = new EpochRegistry(log)
    this.results = new ResultTexts(log)
  }

  /**
   * Opens a store on a log; graphs load when they are first asked for.
   *
   * @throws DurableLogError when the log does not answer.
   */
  static async open(log: DurableLog, options: GraphControlStoreOptions = {}): Promise<GraphControlStore> {
    await log.list({ prefix: GRAPH_PREFIX, limit: 1 })
    return new GraphControlStore(log, options)
  }

  async listEpochs(rootSessionId: string): Promise<readonly GraphEpoch[]> {
    this.requireOpenStore()
    return this.epochs.list(this.id('listEpochs', rootSessionId))
  }

  async currentEpoch(rootSessionId: string): Promise<GraphEpoch | undefined> {
    return (await this.listEpochs(rootSessionId)).at(-1)
  }

  async advanceEpoch(request: Request<'advanceEpoch'>): Promise<{ epoch: GraphEpoch; created: boolean }> {
    this.requireOpenStore()
    const checked = requireShape('advanceEpoch', shapes.advance, request)
    const at = this.now()
    const advanced = await this.epochs.advance({ ...checked, at }, async (graphId) => {
      return (await this.ledgers.read(graphId)).closed
    })
    // Two streams, so a crash may come between: whoever finds the epoch opens its graph.
    const { graphId, rootSessionId } = advanced.epoch
    await this.ledgers
      .of(graphId)
      .commit((state) =>
        state.rootSessionId === undefined
          ? commit(graphEntry('graph/opened', { at, graphId, rootSessionId }), () => undefined)
          : unchanged(undefined),
      )
    return advanced
  }

  async listOpenGraphs(): Promise<readonly { graphId: string; rootSessionId: string | undefined }[]> {
    this.requireOpenStore()
    return this.ledgers.listOpen()
  }

  async readGraph(graphId: string): Promise<GraphState | undefined> {
    const state = await this.read('readGraph', graphId)
    return state.seq === 0 ? undefined : state
  }

  async commitScheduleUpdate(
    request: ScheduleUpdateRequest,
  ): Promise<{ update: ScheduleUpdate; created: boolean }> {
    this.requireOpenStore()
    const checked = requireShape('commitScheduleUpdate', shapes.scheduleUpdate, request)
    const at = this.now()
    return this.ledgers
      .of(checked.graphId)
      .commit(async (state) =>
        decideUpdate(state, checked, at, state.seq === 0 ? await this.rootOf(checked) : undefined),
      )
  }

  async listScheduleUpdates(graphId: string): Promise<readonly ScheduleUpdate[]> {
    return [...(await this.read('listScheduleUpdates', graphId)).index.updates.values()]
  }

  async readScheduleUpdate(graphId: string, updateId: string): Promise<ScheduleUpdate | undefined> {
    return (await this.read('readScheduleUpdate', graphId)).index.updates.get(updateId)
  }

  async provisionOperator(request: ProvisionRequest): Promise<{ provision: Operator; created: boolean }> {
    const checked = requireShape('provisionOperator', shapes.provision, request)
    return this.commit(checked.graphId, (state, at) => decideProvision(state, checked, at))
  }

  async claimIntentAtScheduleRevision(
    request: ClaimRequest,
    expectedRevision: number,
  ): Promise<{ claim: Claim; created: boolean }> {
    const checked = requireShape('claimIntentAtScheduleRevision', shapes.claim, request)
    const revision = requireShape('claimIntentAtScheduleRevision', shapes.position, expectedRevision)
    return this.commit(checked.graphId, (state, at) => decideClaim(state, checked, at, revision))
  }

  async claimIntent(request: ClaimRequest): Promise<{ claim: Claim; created: boolean }> {
    const checked = requireShape('claimIntent', shapes.claim, request)
    return this.commit(checked.graphId, (state, at) => decideClaim(state, checked, at))
  }

  async readAgentGraphIntentClaim(graphId: string, intentId: string): Promise<Claim | undefined> {
    const { index, claims } = await this.read('readAgentGraphIntentClaim', graphId)
    const claimId = index.intents.get(intentId)
    return claimId === undefined ? undefined : claims.get(claimId)
  }

  async listAgentGraphIntentClaims(graphId: string): Promise<readonly Claim[]> {
    return [...(await this.read('listAgentGraphIntentClaims', graphId)).claims.values()]
  }

  async beginAgentGraphIntentExecutionAtScheduleRevision(
    graphId: string,
    intentId: string,
    expectedRevision: number,
  ): Promise<AdmissionTransition> {
    const request = { graphId, intentId, expectedRevision }
    const checked = requireShape('beginAgentGraphIntentExecution', shapes.begin, request)
    return this.commit(checked.graphId, (state, at) => decideBegin(state, checked, at))
  }

  async retryActivation(
    graphId: string,
    claimId: string,
    lostAttempt: number,
    reason: string,
  ): Promise<Claim> {
    const request = { graphId, claimId, lostAttempt, reason }
    const checked = requireShape('retryActivation', shapes.retry, request)
    return this.commit(checked.graphId, (state, at) => decideRetry(state, checked, at))
  }

  async cancelAgentGraphIntentExecution(
    graphId: string,
    intentId: string,
    reason: string,
  ): Promise<AdmissionTransition> {
    const request = { graphId, intentId, reason }
    const checked = requireShape('cancelAgentGraphIntentExecution', shapes.cancellation, request)
    return this.commit(checked.graphId, (state, at) => decideCancel(state, checked, at))
  }

  async settleActivation(
    request: SettleRequest,
  ): Promise<{ work: Work; record: GraphRecord | undefined; created: boolean }> {
    const checked = requireShape('settleActivation', shapes.settle, request)
    const { results } = this
    return this.commit(checked.graphId, (state, at) => decideSettle(state, checked, { at, results }))
  }

  async readResult(
    graphId: string,
    recordId: string,
    page: { offset?: number; limit?: number } = {},
  ): Promise<ResultPage> {
    const checked = requireShape('readResult', shapes.page, page)
    const { records } = await this.read('readResult', graphId)
    if (!records.has(recordId)) {
      throw new GraphControlError('record-not-found', `graph ${graphId} has no record ${String(recordId)}`)
    }
    return this.results.read(graphId, recordId, checked)
  }

  async registerWait(request: Request<'registerWait'>): Promise<Wait> {
    const { graphId, ...checked } = requireShape('registerWait', shapes.wait, request)
    return this.commit(graphId, (state, at) => decideWait(state, checked, at))
  }

  async acknowledgeChanges(graphId: string, changeSeq: number): Promise<void> {
    const checked = requireShape('acknowledgeChanges', shapes.seen, { graphId, changeSeq })
    return this.commit(checked.graphId, (state, at) => decideSeen(state, checked.changeSeq, at))
  }

  async claimSupervisorWake(
    request: Request<'claimSupervisorWake'>,
  ): Promise<{ wake: Wake; created: boolean }> {
    const checked = requireShape('claimSupervisorWake', shapes.wake, request)
    return this.commit(checked.graphId, (state, at) => decideWake(state, checked, at))
  }

  async beginSupervisorWakeAttempt(
    request: Request<'beginSupervisorWakeAttempt'>,
  ): Promise<{ wake: Wake; acquired: boolean }> {
    const checked = requireShape('beginSupervisorWakeAttempt', shapes.wakeAttempt, request)
    return this.commit(checked.graphId, (state, at) => decideWakeAttempt(state, checked, at))
  }

  async completeSupervisorWakeAttempt(request: Request<'completeSupervisorWakeAttempt'>): Promise<Wake> {
    const checked = requireShape('completeSupervisorWakeAttempt', shapes.wakeSettlement, request)
    return this.commit(checked.graphId, (state, at) => decideWakeSettlement(state, checked, at))
  }

  onCommitted(listener: (state: GraphState) => void): () => void {
    // Its own key, so that one function registered twice is two registrations.
    const registered = (state: GraphState): void => listener(state)
    this.listeners.add(registered)
    return () => void this.listeners.delete(registered)
  }

  /** Refuses new operations and resolves when the commits under way are done. The log stays open. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.ledgers.settled()
    this.listeners.clear()
  }

  private commit<T>(
    graphId: string,
    decide: (state: FoldedGraph, at: number) => ReturnType<Decide<T>>,
  ): Promise<T> {
    this.requireOpenStore()
    const at = this.now()
    return this.ledgers.of(graphId).commit((state) => decide(state, at))
  }

  private async read(operation: string, graphId: string): Promise<FoldedGraph> {
    this.requireOpenStore()
    return this.ledgers.read(this.id(operation, graphId))
  }

  /** The root whose epoch names this graph, where the update's own session is that root. */
  private async rootOf(request: ScheduleUpdateRequest): Promise<string | undefined> {
    const { sessionId } = request.source
    const epochs = await this.epochs.list(sessionId)
    return epochs.some((epoch) => epoch.graphId === request.graphId) ? sessionId : undefined
  }

  private announce(state: GraphState): void {
    for (const listener of this.listeners) {
      try {
        listener(state)
      } catch (error) {
        this.report(error)
      }
    }
  }

  private id(operation: string, value: string): string {
    return requireShape(operation, shapes.id, value)
  }

  private requireOpenStore(): void {
    if (this.isClosed) throw new GraphControlError('closed', 'the graph store is closed')
  }
}
