/**
 * The controller of one root session: answers the three tools. One call commits at most one update
 * and runs nothing; the root's drivers act on the commit.
 */
import type { GraphControl, GraphState, JsonValue, ResultPage, Work } from 'dsh-graph-control'
import { costOf, cutToCost, firstOf } from './data-text.ts'
import { shownName } from './adjustments.ts'
import { AgentGraphError } from './errors.ts'
import { RootDrivers } from './root-drivers.ts'
import { RootGraphs } from './root-graphs.ts'
import { MAX_RESULTS_PER_VIEW } from './parse-input.ts'
import { resultPlaces, type ResultPlace } from './selected-results.ts'
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
import {
  changesSince,
  emptyView,
  selectionOf,
  summaryOf,
  viewOf,
  type GraphView,
  type UnchangedView,
} from './view.ts'
import { yieldGraph } from './yield-graph.ts'

/** Bytes of all conclusions in one view, in either form. */
const RESULTS_BYTES = 12 * 1024
/** Bytes of the ids that an answer repeats of what was asked for. */
const IDS_BYTES = 1_500

/** A view, with the conclusions that were asked for and what was changed about the call. */
export type ViewAnswer = (GraphView | UnchangedView) & {
  readonly results?: readonly ResultPage[]
  /** What to ask for next, where a name stands for more records than one view shows. */
  readonly moreResults?: readonly string[]
  /** Names after those of `moreResults` that were not answered for want of room, to be asked for again. */
  readonly unanswered?: number
  readonly adjusted?: readonly string[]
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
    const { adjusted, graphId } = input
    const told = adjusted === undefined ? {} : { adjusted }
    const state = await this.graphs.own(graphId)
    if (state === undefined) return toJson({ ...emptyView(graphId ?? null), ...told })
    const answer: ViewAnswer = { ...(await this.answerView(state, input)), ...told }
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
    const ids = update.addWork.map((work) => work.workId)
    const workIds = firstOf(ids, IDS_BYTES, costOf)
    return {
      update: {
        updateId: update.updateId,
        revision: update.revision,
        committedAt: update.committedAt,
        created,
        workIds,
        ...(workIds.length < ids.length ? { omittedWorkIds: ids.length - workIds.length } : {}),
      },
      ...(input.adjusted === undefined ? {} : { adjusted: input.adjusted }),
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
    return {
      ...answer,
      ...(changed === undefined ? {} : { changed: toJson(changed) }),
      ...(input.adjusted === undefined ? {} : { adjusted: input.adjusted }),
    }
  }

  recover(): Promise<void> {
    return this.drivers.recover()
  }

  lookAgain(): void {
    this.drivers.lookAgain()
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
    if (results.length > 0) {
      const { places, more } = resultPlaces(state, results, MAX_RESULTS_PER_VIEW)
      // The conclusions have the room: of the works there are only the counts.
      const { finish: _, ...head } = selectionOf(state, [], standing)
      const pages = await this.readResults(state, places)
      const moreResults = firstOf(more, IDS_BYTES, costOf)
      return {
        ...head,
        results: pages,
        ...(more.length === 0 ? {} : { moreResults }),
        ...(moreResults.length < more.length ? { unanswered: more.length - moreResults.length } : {}),
      }
    }
    if (since !== undefined) return changesSince(state, since, standing)
    if (mode === 'summary') return summaryOf(state, standing)
    const view = viewOf(state, cursor, standing)
    if (view !== undefined) return view
    throw new AgentGraphError(
      'invalid_input',
      `cursor "${shownName(cursor ?? '')}" is not of graph ${state.graphId}; leave it out to begin with the first page`,
    )
  }

  /** Each gets its share of the room, so that the answer stays bounded however many are asked for. */
  private async readResults(
    state: GraphState,
    places: readonly ResultPlace[],
  ): Promise<readonly ResultPage[]> {
    const bytes = Math.floor(RESULTS_BYTES / places.length)
    return Promise.all(
      places.map(async ({ recordId, offset }) => {
        const page = await this.store.readResult(state.graphId, recordId, { offset, limit: bytes })
        const text = cutToCost(page.text, bytes)
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
 *
 * @throws AgentGraphError `configuration` naming what is missing.
 */
export function createAgentGraphController(config: ControllerConfig): DrivingAgentGraphController {
  requireConfig(config)
  return new Controller(config)
}

/** Hosts are written in plain JavaScript, too: what is missing is said here, not at the first call. */
function requireConfig({ store, rootSessionId, options }: Partial<ControllerConfig>): void {
  const missing = [
    ...(store === undefined ? ['store'] : []),
    ...(typeof rootSessionId === 'string' && rootSessionId.trim() !== '' ? [] : ['rootSessionId']),
    ...(options?.executor === undefined ? ['options.executor'] : []),
  ]
  if (missing.length === 0) return
  throw new AgentGraphError('configuration', `a controller needs ${missing.join(', ')}`)
}
