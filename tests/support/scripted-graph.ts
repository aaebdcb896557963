/** A graph whose works are done by the test itself, through the store and nothing else. */
import {
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphUpdateId,
  LIMITS,
  stableHash,
  type Claim,
  type GraphControl,
  type GraphState,
  type ScheduleUpdateRequest,
  type SettleRequest,
  type WorkRequest,
} from 'dsh-graph-control'

export type ScriptedWork = Partial<WorkRequest> & { readonly workId: string }

export class ScriptedGraph {
  readonly store: GraphControl
  readonly rootSessionId: string
  readonly graphId: string
  private calls = 0

  private constructor(store: GraphControl, rootSessionId: string, graphId: string) {
    this.store = store
    this.rootSessionId = rootSessionId
    this.graphId = graphId
  }

  /** Opens the root's next epoch. */
  static async open(store: GraphControl, rootSessionId: string): Promise<ScriptedGraph> {
    const expectedEpoch = (await store.currentEpoch(rootSessionId))?.epoch ?? 0
    const { epoch } = await store.advanceEpoch({ rootSessionId, expectedEpoch })
    return new ScriptedGraph(store, rootSessionId, epoch.graphId)
  }

  async state(): Promise<GraphState> {
    const state = await this.store.readGraph(this.graphId)
    if (state === undefined) throw new Error('the graph has no entries yet')
    return state
  }

  /** As many updates as it takes. */
  async add(...works: readonly ScriptedWork[]): Promise<void> {
    for (let from = 0; from < works.length; from += LIMITS.addWork)
      await this.update({
        addWork: works.slice(from, from + LIMITS.addWork).map((work) => ({
          target: { kind: 'agent', id: 'default' },
          instruction: `Do ${work.workId}.`,
          inputIds: [],
          ...work,
        })),
      })
  }

  async update(payload: Partial<ScheduleUpdateRequest>): Promise<void> {
    const { graphId, rootSessionId: sessionId } = this
    const call = `call-${++this.calls}`
    const source = { sessionId, runId: call, turnId: call, toolCallId: call }
    const updateId = graphUpdateId({ graphId, ...source })
    const decided = { addWork: [], stop: [], ...payload }
    const updateFingerprint = stableHash({ updateId, ...decided })
    await this.store.commitScheduleUpdate({
      schemaVersion: 1,
      updateId,
      updateFingerprint,
      graphId,
      source,
      ...decided,
    })
  }

  /** Provisions, claims and begins a work. */
  async start(workId: string): Promise<Claim> {
    const { graphId, store } = this
    const { revision, works } = await this.state()
    const operatorId = graphOperatorId(graphId, workId)
    const targetSessionId = graphOperatorSessionId(graphId, operatorId)
    const ids = { turnId: `turn-${workId}`, runId: `run-${workId}` }
    await store.provisionOperator({
      provisionId: graphProvisionId(graphId, workId),
      provisionFingerprint: stableHash({ workId }),
      graphId,
      workId,
      operatorId,
      targetSessionId,
      initialTurnId: ids.turnId,
      initialRunId: ids.runId,
      expectedScheduleRevision: revision,
    })
    const intentId = graphIntentId(graphId, workId, works.get(workId)?.retries)
    const { claim } = await store.claimIntent({
      schemaVersion: 1,
      claimId: graphClaimId(graphId, intentId),
      graphId,
      intentId,
      workId,
      intentFingerprint: stableHash({ intentId }),
      targetOperatorId: operatorId,
      targetSessionId,
      targetTurnId: ids.turnId,
      targetRunId: ids.runId,
    })
    await store.beginAgentGraphIntentExecutionAtScheduleRevision(graphId, intentId, revision)
    return claim
  }

  async settle(claim: Claim, end: Partial<SettleRequest> = {}): Promise<void> {
    const { graphId } = this
    const { claimId, workId } = claim
    const conclusion = end.outcome === undefined ? { conclusion: `${workId} is done.` } : {}
    await this.store.settleActivation({
      graphId,
      claimId,
      attempt: 1,
      outcome: 'completed',
      ...conclusion,
      ...end,
    })
  }

  async run(workId: string, end: Partial<SettleRequest> = {}): Promise<void> {
    await this.settle(await this.start(workId), end)
  }
}
