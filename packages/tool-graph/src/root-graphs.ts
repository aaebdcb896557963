/**
 * The graphs of one root session, as its tools may see them: its own and no other's.
 */
import type { GraphControl, GraphEpoch, GraphState } from 'dsh-graph-control'
import { shownName } from './adjustments.ts'
import { AgentGraphError } from './errors.ts'
import { requireWithinLimits } from './limit-check.ts'
import { suggestion } from './model-habits.ts'
import type { AddWorkInput, ControllerConfig, OperatorCatalog, UpdateInput } from './types.ts'

export class RootGraphs {
  readonly rootSessionId: string
  readonly store: GraphControl
  private readonly config: ControllerConfig

  constructor(config: ControllerConfig) {
    this.config = config
    this.store = config.store
    this.rootSessionId = config.rootSessionId
  }

  async catalog(): Promise<OperatorCatalog | undefined> {
    return this.config.options.catalog?.()
  }

  /** Why the host could not do the works as they are asked for. */
  async hostProblems(works: readonly AddWorkInput[]): Promise<readonly string[]> {
    const { checkWork } = this.config.options
    if (checkWork === undefined) return []
    const problems = await Promise.all(works.map(checkWork))
    return problems.flatMap((of, index) => of.map((problem) => `addWork[${index}]: ${problem}`))
  }

  /** Why the code graphs that an update asks for would refuse their arguments. */
  argumentProblems(works: readonly AddWorkInput[]): readonly string[] {
    const { checkArgs } = this.config.options
    if (checkArgs === undefined) return []
    return works.flatMap(({ graphName, args }, index) =>
      graphName === undefined
        ? []
        : checkArgs(graphName, args).map((problem) => `addWork[${index}].args: ${problem}`),
    )
  }

  /** @throws AgentGraphError `limit_reached`. */
  async requireWithinLimits(
    input: UpdateInput,
    state: GraphState | undefined,
    opensGraph: boolean,
  ): Promise<void> {
    const { limits } = this.config.options
    if (limits === undefined) return
    const opened = opensGraph ? (await this.store.listEpochs(this.rootSessionId)).length : undefined
    requireWithinLimits({ limits, state, input, opened, now: Date.now() })
  }

  currentEpoch(): Promise<GraphEpoch | undefined> {
    return this.store.currentEpoch(this.rootSessionId)
  }

  /** The graph meant, if it belongs to this root. Without an id: the one of the current epoch. */
  async own(graphId: string | undefined): Promise<GraphState | undefined> {
    const id = graphId ?? (await this.currentEpoch())?.graphId
    if (id === undefined) return undefined
    const state = await this.store.readGraph(id)
    return state?.rootSessionId === this.rootSessionId ? state : undefined
  }

  /** The refusal of an id that names no graph of this root, with those that look like it. */
  async unknown(graphId: string | undefined): Promise<AgentGraphError> {
    if (graphId === undefined)
      return new AgentGraphError('unknown_graph', 'this session has no graph yet; add work first')
    const like = suggestion(graphId, (await this.graphIds()).toReversed())
    return new AgentGraphError(
      'unknown_graph',
      `this session has no graph "${shownName(graphId)}"${like}; leave graphId out for the current one`,
    )
  }

  /** Oldest first. */
  async graphIds(): Promise<readonly string[]> {
    return (await this.store.listEpochs(this.rootSessionId)).map((epoch) => epoch.graphId)
  }
}
