/**
 * The controller of one root session: answers the three tools. One call commits at most one update
 * and runs nothing; the root's drivers act on the commit.
 */
import {
  GraphControlError,
  type GraphControl,
  type GraphEpoch,
  type GraphState,
  type JsonValue,
  type ResultPage,
} from 'dsh-graph-control'
import { compileAgentGraphScheduleUpdate } from './compile-update.ts'
import { AgentGraphError } from './errors.ts'
import { RootDrivers } from './root-drivers.ts'
import type {
  ControllerConfig,
  DrivingAgentGraphController,
  GraphCall,
  UpdateAnswer,
  UpdateInput,
  ViewInput,
  YieldAnswer,
  YieldInput,
} from './types.ts'
import { emptyView, viewOf, type GraphView } from './view.ts'

/** Characters of one conclusion in a view. */
const RESULT_CHARS = 4_000

/** A view with the conclusions that were asked for. */
export interface ViewAnswer extends GraphView {
  readonly results?: readonly ResultPage[]
}

class Controller implements DrivingAgentGraphController {
  readonly rootSessionId: string
  private readonly config: ControllerConfig
  private readonly store: GraphControl
  private readonly drivers: RootDrivers

  constructor(config: ControllerConfig) {
    this.config = config
    this.store = config.store
    this.rootSessionId = config.rootSessionId
    this.drivers = new RootDrivers(config)
  }

  async view(call: GraphCall, input: ViewInput): Promise<JsonValue> {
    this.assertRoot(call)
    const state = await this.ownGraph(input.graphId)
    if (state === undefined) return toJson(emptyView(input.graphId ?? null))
    const view = viewOf(state, input.cursor)
    if (view === undefined)
      throw new AgentGraphError(
        'invalid_input',
        `cursor "${input.cursor}" is not of this graph; leave it out`,
      )
    const results = await this.readResults(state, input.results ?? [])
    if (state.changeSeq > state.seenChangeSeq)
      await this.store.acknowledgeChanges(state.graphId, state.changeSeq)
    const answer: ViewAnswer = results.length === 0 ? view : { ...view, results }
    return toJson(answer)
  }

  async update(call: GraphCall, input: UpdateInput): Promise<UpdateAnswer> {
    this.assertRoot(call)
    this.assertTargets(input)
    await this.assertSelectedResults(input)
    const graphId = await this.graphToUpdate(call, input)
    const request = compileAgentGraphScheduleUpdate(graphId, call, input)
    const { update, created } = await this.store.commitScheduleUpdate(request)
    const state = await this.store.readGraph(graphId)
    return {
      update: {
        updateId: update.updateId,
        revision: update.revision,
        committedAt: update.committedAt,
        created,
        workIds: update.addWork.map((work) => work.workId),
      },
      graph: toJson(state === undefined ? emptyView(graphId) : (viewOf(state) ?? emptyView(graphId))),
    }
  }

  async yield(call: GraphCall, input: YieldInput): Promise<YieldAnswer> {
    this.assertRoot(call)
    const state = await this.ownGraph(input.graphId)
    if (state === undefined)
      throw new AgentGraphError('unknown_graph', 'this session has no such graph; add work first')
    if (state.closed)
      throw new AgentGraphError('graph_closed', `graph ${state.graphId} is finished: answer the user`)
    if (state.counts.pending === 0 && state.changeSeq <= state.seenChangeSeq)
      throw new AgentGraphError(
        'nothing_to_yield',
        'no work is pending, so nothing would wake you: finish the graph or add work',
      )
    const until = input.until ?? 'any'
    // The wait is registered before anything is read for the answer: a change between the two wakes.
    const wait = await this.store.registerWait({
      graphId: state.graphId,
      waitId: `graph_wait_${call.turn}_${call.toolCallId}`,
      until,
      ...(input.reason === undefined ? {} : { reason: input.reason }),
    })
    const now = (await this.store.readGraph(state.graphId)) ?? state
    return {
      graphId: state.graphId,
      deliveredOnIdle: true,
      wakeId: wait.waitId,
      pendingWorkCount: now.counts.pending,
      until,
      waitingFor: pendingWorkIds(now),
    }
  }

  recover(): Promise<void> {
    return this.drivers.recover()
  }

  expectsWake(): boolean {
    return this.drivers.expectsWake()
  }

  watch(listener: () => void): () => void {
    return this.drivers.watch(listener)
  }

  whenQuiet(): Promise<void> {
    return this.drivers.whenQuiet()
  }

  dispose(): Promise<void> {
    return this.drivers.dispose()
  }

  private assertRoot(call: GraphCall): void {
    if (call.sessionId !== this.rootSessionId)
      throw new AgentGraphError(
        'not_root_session',
        `session ${call.sessionId} does not supervise this graph; report to the session that started you`,
      )
  }

  /** Agent and preset ids are checked against the catalog before anything is committed. */
  private assertTargets(input: UpdateInput): void {
    const catalog = this.config.options.catalog?.()
    if (catalog === undefined) return
    const refuse = (field: string, id: string, allowed: readonly { id: string }[]) => {
      if (allowed.some((entry) => entry.id === id)) return
      const names = allowed.map((entry) => entry.id).join(', ') || 'none'
      throw new AgentGraphError('invalid_input', `unknown ${field} "${id}"; available: ${names}`)
    }
    for (const item of input.addWork ?? []) {
      if (item.operatorId !== undefined) continue
      if (item.subagentId !== undefined) refuse('subagentId', item.subagentId, catalog.presets)
      else refuse('agentId', item.agentId ?? 'default', catalog.agents)
    }
  }

  /** A result may be selected only from a finished graph of this root that finished with it. */
  private async assertSelectedResults(input: UpdateInput): Promise<void> {
    for (const { sourceGraphId, resultId } of (input.addWork ?? []).flatMap(
      (item) => item.selectedResultInputs ?? [],
    )) {
      const source = await this.ownGraph(sourceGraphId)
      if (source?.finish?.resultIds.includes(resultId) === true) continue
      throw new AgentGraphError(
        'invalid_input',
        `selectedResultInputs: "${resultId}" is not a result with which a graph "${sourceGraphId}" of this session finished`,
      )
    }
  }

  /** The graph meant, if it belongs to this root. Without an id: the one of the current epoch. */
  private async ownGraph(graphId: string | undefined): Promise<GraphState | undefined> {
    const id = graphId ?? (await this.store.currentEpoch(this.rootSessionId))?.graphId
    if (id === undefined) return undefined
    const state = await this.store.readGraph(id)
    return state?.rootSessionId === this.rootSessionId ? state : undefined
  }

  /** The graph that this update goes to; the first work after a finish opens the next one. */
  private async graphToUpdate(call: GraphCall, input: UpdateInput): Promise<string> {
    const epoch = await this.store.currentEpoch(this.rootSessionId)
    if (input.graphId !== undefined && input.graphId !== epoch?.graphId) {
      if ((await this.ownGraph(input.graphId)) !== undefined) return input.graphId
      throw new AgentGraphError(
        'unknown_graph',
        `this session has no graph "${input.graphId}"; leave graphId out for the current one`,
      )
    }
    if (epoch !== undefined && !(await this.isSpent(epoch, call, input))) return epoch.graphId
    if ((input.addWork ?? []).length === 0)
      throw new AgentGraphError(
        epoch === undefined ? 'unknown_graph' : 'graph_closed',
        epoch === undefined
          ? 'this session has no graph yet; add work first'
          : `graph ${epoch.graphId} is finished`,
      )
    const opened = await this.store.advanceEpoch({
      rootSessionId: this.rootSessionId,
      expectedEpoch: epoch?.epoch ?? 0,
    })
    return opened.epoch.graphId
  }

  /** Finished, and not by this very update: a replay of it is answered by the graph it went to. */
  private async isSpent(epoch: GraphEpoch, call: GraphCall, input: UpdateInput): Promise<boolean> {
    const state = await this.store.readGraph(epoch.graphId)
    if (state?.closed !== true) return false
    const { updateId } = compileAgentGraphScheduleUpdate(epoch.graphId, call, input)
    return (await this.store.readScheduleUpdate(epoch.graphId, updateId)) === undefined
  }

  private async readResults(state: GraphState, recordIds: readonly string[]): Promise<readonly ResultPage[]> {
    return Promise.all(
      recordIds.map(async (recordId) => {
        if (!state.records.has(recordId))
          throw new GraphControlError(
            'record-not-found',
            `graph ${state.graphId} has no record "${recordId}"; the view lists them beside the works`,
          )
        return this.store.readResult(state.graphId, recordId, { limit: RESULT_CHARS })
      }),
    )
  }
}

function pendingWorkIds(state: GraphState): string[] {
  const ids: string[] = []
  for (const work of state.works.values()) {
    if (ids.length === 16) break
    if (work.status !== 'waiting' && work.endedAt === undefined) ids.push(work.workId)
  }
  return ids
}

/** Answers are plain data; the round trip drops nothing but `undefined`. */
function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

/**
 * The controller of one root session.
 *
 * It starts to drive a graph at its first commit; {@link DrivingAgentGraphController.recover} takes
 * up what an earlier process left. Dispose it before the store.
 */
export function createAgentGraphController(config: ControllerConfig): DrivingAgentGraphController {
  return new Controller(config)
}
