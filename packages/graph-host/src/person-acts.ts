/**
 * What a person does to a graph: stop, retry, confirm. Each is one commit to the store, whatever door
 * it came through; whoever drives the graph acts on it. Owns the words of these commits and of their
 * answers. Does not own: who may ask.
 */
import { randomUUID } from 'node:crypto'
import {
  graphUpdateId,
  stableHash,
  type GraphControl,
  type GraphState,
  type ScheduleUpdateRequest,
  type Work,
} from 'dsh-graph-control'
import { GraphHostError } from './errors.ts'

export const EVERYTHING = 'all'

/** Where an update came from that no tool call made. */
const BY_PERSON = 'person'

export interface PersonActOptions {
  /** Whether what follows the work stops as well, whatever its condition. */
  readonly cascade?: boolean
  /** The asker's own name for this act: the same one again commits nothing more. */
  readonly click?: string
}

export class PersonActs {
  private readonly store: GraphControl

  constructor(store: GraphControl) {
    this.store = store
  }

  /**
   * Stops a work, or all of a graph with `all`. After that the root is not woken: a person who stops
   * everything wants rest. The stop of one work is told to the root like any end.
   *
   * @returns a sentence for the person.
   * @throws GraphHostError `unknown-graph`, `unknown-work`; what the store refuses.
   */
  async stop(
    graphId: string,
    target: string,
    reason = 'stopped by a person',
    { cascade = false, click }: PersonActOptions = {},
  ): Promise<string> {
    const state = await this.read(graphId)
    const isAll = target === EVERYTHING && !state.works.has(EVERYTHING)
    if (!isAll) this.workOf(state, target)
    const pending = state.counts.pending
    if (isAll && pending === 0) return `nothing of graph ${graphId} is under way`
    const stop = {
      targetId: isAll ? graphId : target,
      reason,
      ...(cascade ? { cascadeDownstream: true } : {}),
    }
    await this.commit(state, { stop: [stop] }, click)
    if (!isAll) return `work ${target} is stopped`
    const after = await this.read(graphId)
    await this.store.acknowledgeChanges(graphId, after.changeSeq)
    return `${pending === 1 ? '1 work' : `${pending} works`} of graph ${graphId} stopped; the session is not woken for it`
  }

  /** Does a work once more that failed, or was stopped, cancelled or skipped. @throws as {@link stop}. */
  async retry(
    graphId: string,
    workId: string,
    reason = 'retried by a person',
    { click }: Pick<PersonActOptions, 'click'> = {},
  ): Promise<string> {
    const state = await this.read(graphId)
    this.workOf(state, workId)
    await this.commit(state, { retry: [{ workId, reason }] }, click)
    return `work ${workId} is done once more`
  }

  /**
   * Lets a work go on that waits for a person's word.
   *
   * @param seen the attempt that the person was shown; another one is not confirmed unseen.
   * @throws GraphHostError `not-held`; as {@link stop}.
   */
  async confirm(
    graphId: string,
    workId: string,
    reason = 'confirmed by a person',
    seen?: number,
  ): Promise<string> {
    const state = await this.read(graphId)
    const { claimId, status } = this.workOf(state, workId)
    const claim = claimId === undefined ? undefined : state.claims.get(claimId)
    if (claim?.hold === undefined)
      throw new GraphHostError(
        'not-held',
        `work ${workId} is ${status} and waits for nobody's word; retry is for works that ended`,
      )
    const { attempt } = await this.store.retryActivation(
      graphId,
      claim.claimId,
      seen ?? claim.attempt,
      reason,
    )
    return `work ${workId} goes on with attempt ${attempt}`
  }

  private async read(graphId: string): Promise<GraphState> {
    const state = await this.store.readGraph(graphId)
    if (state === undefined) throw new GraphHostError('unknown-graph', `there is no graph ${graphId}`)
    return state
  }

  private workOf(state: GraphState, workId: string): Work {
    const work = state.works.get(workId)
    if (work !== undefined) return work
    const some = [...state.works.keys()].slice(0, 8).join(', ')
    throw new GraphHostError(
      'unknown-work',
      `graph ${state.graphId} has no work "${workId}"${some === '' ? '' : `; there is ${some}`}`,
    )
  }

  private async commit(
    { graphId, rootSessionId }: GraphState,
    words: Partial<Pick<ScheduleUpdateRequest, 'stop' | 'retry'>>,
    click: string = randomUUID(),
  ): Promise<void> {
    const source = {
      sessionId: rootSessionId ?? BY_PERSON,
      runId: BY_PERSON,
      turnId: BY_PERSON,
      toolCallId: `${BY_PERSON}_${click}`,
    }
    const decision = { graphId, addWork: [], stop: [], ...words }
    await this.store.commitScheduleUpdate({
      schemaVersion: 1,
      ...decision,
      updateId: graphUpdateId({ graphId, ...source }),
      updateFingerprint: stableHash({ source, ...decision }),
      source,
    })
  }
}
