/**
 * The controller of one root session: answers the three tools. One call commits at most one update
 * and runs nothing; the root's drivers act on the commit.
 */
import type { GraphControl, GraphState, JsonValue, ResultPage, Work } from 'dsh-graph-control'
import { cutToBytes } from './data-text.ts'
import { AgentGraphError } from './errors.ts'
import { RootDrivers } from './root-drivers.ts'
import { RootGraphs } from './root-graphs.ts'
import { resultPlaces } from './selected-results.ts'
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
import { commitUpdate } from './update-graph.ts'
import { changesSince, emptyView, selectionOf, summaryOf, viewOf, type GraphView } from './view.ts'
import { yieldGraph } from './yield-graph.ts'

/** Bytes of all conclusions in one view. */
const RESULTS_BYTES = 12 * 1024

/** A view with the conclusions that were asked for. */
export interface ViewAnswer extends GraphView {
  readonly results?: readonly ResultPage[]
  /** To a model that looks again and again. */
  readonly advice?: string
}

class Controller implements DrivingAgentGraphController {
  readonly rootSessionId: string
  private readonly store: GraphControl
  private readonly drivers: RootDrivers
  private readonly graphs: RootGraphs

  constructor(config: ControllerConfig) {
    this.store = config.store
    this.rootSessionId = config.rootSessionId
    this.graphs = new RootGraphs(config)
    this.drivers = new RootDrivers(config)
  }

  async view(call: GraphCall, input: ViewInput): Promise<JsonValue> {
    this.assertRoot(call)
    const state = await this.graphs.own(input.graphId)
    if (state === undefined) return toJson(emptyView(input.graphId ?? null))
    const answer = await this.answerView(state, input)
    if (state.changeSeq > state.seenChangeSeq)
      await this.store.acknowledgeChanges(state.graphId, state.changeSeq)
    return toJson(answer)
  }

  async update(call: GraphCall, input: UpdateInput): Promise<UpdateAnswer> {
    this.assertRoot(call)
    const { update, created, state } = await commitUpdate(this.graphs, call, input)
    // What an idle session may wait for depends on whether its graph is driven here.
    await this.drivers.whenDecided()
    const works = update.addWork.flatMap((work) => state.works.get(work.workId) ?? [])
    const touched = [...(update.stop ?? []), ...(update.retry ?? [])].flatMap((item) => {
      const id = 'targetId' in item ? item.targetId : item.workId
      return state.works.get(id) ?? []
    })
    return {
      update: {
        updateId: update.updateId,
        revision: update.revision,
        committedAt: update.committedAt,
        created,
        workIds: update.addWork.map((work) => work.workId),
      },
      ...(input.adjusted === undefined ? {} : { adjusted: input.adjusted.slice(0, 32) }),
      graph: toJson(
        selectionOf(state, [...new Set<Work>([...works, ...touched])], this.drivers.standingOf(state)),
      ),
    }
  }

  async yield(call: GraphCall, input: YieldInput): Promise<YieldAnswer> {
    this.assertRoot(call)
    const { answer, changed } = await yieldGraph(this.graphs, call, input, (state) =>
      this.drivers.standingOf(state),
    )
    return changed === undefined ? answer : { ...answer, changed: toJson(changed) }
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

  private async answerView(state: GraphState, input: ViewInput): Promise<ViewAnswer> {
    const { mode, since, cursor, results = [] } = input
    const standing = this.drivers.standingOf(state)
    if (results.length > 0)
      // The conclusions have the room: of the works there are only the counts.
      return { ...selectionOf(state, [], standing), results: await this.readResults(state, results) }
    if (since !== undefined) return changesSince(state, since, standing) ?? emptyView(state.graphId)
    if (mode === 'summary') return summaryOf(state, standing)
    const view = viewOf(state, cursor, standing)
    if (view !== undefined) return view
    throw new AgentGraphError('invalid_input', `cursor "${cursor}" is not of this graph; leave it out`)
  }

  /** Each gets its share of the room, so that the answer stays bounded however many are asked for. */
  private async readResults(state: GraphState, names: readonly string[]): Promise<readonly ResultPage[]> {
    const places = resultPlaces(state, names).slice(0, 64)
    const bytes = Math.floor(RESULTS_BYTES / places.length)
    return Promise.all(
      places.map(async ({ recordId, offset }) => {
        const page = await this.store.readResult(state.graphId, recordId, { offset, limit: bytes })
        const { text } = cutToBytes(page.text, bytes)
        if (text.length === page.text.length) return page
        return { ...page, text, nextOffset: page.offset + text.length }
      }),
    )
  }
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
