/** What a page asks for one by one, and what a person orders. Each call is checked here, and the graph's owner. */
import type { GraphControl, GraphState } from 'dsh-graph-control'
import { EVERYTHING, PersonActs } from '../person-acts.ts'
import { FeedError } from './feed-error.ts'
import type { CodeGraphs } from './host-services.ts'
import { isCount, isId, isRecord } from './page-message.ts'
import type { Tickets } from './same-origin.ts'
import { timelineCard } from './timeline-card.ts'
import type { FeedCalls, FeedEndpoint, WorkDetail } from './wire.ts'
import { workCard, type Standing } from './work-card.ts'

const RESULT_CHARS = 16 * 1024
const TIMELINE_EVENTS = 256
const RECORDS = 64

const STOPPED = 'A person stopped it in the web app.'
const RETRIED = 'A person asked for it in the web app.'
const CONFIRMED = 'A person confirmed in the web app that it may run again.'

type Ask = Readonly<Record<string, unknown>>
type Answers = { readonly [E in FeedEndpoint]: (ask: Ask) => Promise<FeedCalls[E]['answer']> }

/** Which sessions supervise graphs. */
export interface Supervision {
  /** `undefined` for a session that is not open in this process, or a child. */
  of(sessionId: string): boolean | undefined
  /** Resolves when the session's tools are as they should be. */
  set(sessionId: string, supervised: boolean): Promise<void>
}

export interface FeedDeskDeps {
  readonly supervision: Supervision
  readonly store: GraphControl
  readonly tickets: Tickets
  /** The registry of code graphs, while there is one. */
  readonly codeGraphs: () => CodeGraphs | undefined
  /** How things stand now, besides what the store knows. */
  readonly standing?: () => Standing
}

export class FeedDesk {
  private readonly store: GraphControl
  private readonly acts: PersonActs
  private readonly answers: Answers
  private readonly standing: FeedDeskDeps['standing']

  constructor({ store, supervision, tickets, codeGraphs, standing }: FeedDeskDeps) {
    this.store = store
    this.standing = standing
    this.acts = new PersonActs(store)
    this.answers = {
      ticket: async () => ({ ticket: tickets.issue() }),
      work: (ask) => this.work(ask),
      result: (ask) => this.result(ask),
      timeline: (ask) => this.timeline(ask),
      codeGraphs: async () => ({ names: (codeGraphs()?.list() ?? []).map(({ name }) => name) }),
      codeGraph: async (ask) => {
        const name = idIn(ask, 'name')
        const graph = codeGraphs()?.describe(name)
        if (graph === undefined) throw new FeedError('not-found', `there is no code graph ${name}`)
        const { description, nodes, edges, note } = graph
        return { name, description, nodes, edges, ...(note === undefined ? {} : { note }) }
      },
      supervise: async (ask) => {
        const sessionId = idIn(ask, 'sessionId')
        if (typeof ask['supervised'] !== 'boolean')
          throw new FeedError('invalid', 'supervised must be a boolean')
        if (supervision.of(sessionId) === undefined)
          throw new FeedError('not-found', `session ${sessionId} is not open here, or no root session`)
        await supervision.set(sessionId, ask['supervised'])
        return { supervised: supervision.of(sessionId) ?? null }
      },
      stop: (ask) => this.stop(ask),
      retry: (ask) => this.retry(ask),
      confirm: (ask) => this.confirm(ask),
    }
  }

  /** @throws FeedError for a call that cannot be meant; what the store throws. */
  async answer(endpoint: string, payload: unknown): Promise<unknown> {
    if (!Object.hasOwn(this.answers, endpoint))
      throw new FeedError('invalid', `there is no call "${endpoint.slice(0, 64)}"`)
    if (!isRecord(payload)) throw new FeedError('invalid', `${endpoint}: the call must be an object`)
    return this.answers[endpoint as FeedEndpoint](payload)
  }

  private async work(ask: Ask): Promise<WorkDetail> {
    const { state, work } = await this.workOf(ask)
    const { model, effort, retryReason } = work
    return {
      card: workCard(state, work, this.standing?.()),
      instruction: work.instruction,
      replay: work.replay ?? 'safe',
      when: work.when ?? 'all',
      ...(model === undefined ? {} : { model }),
      ...(effort === undefined ? {} : { effort }),
      ...(retryReason === undefined ? {} : { retryReason }),
      records: work.recordIds.slice(0, RECORDS).flatMap((id) => {
        const record = state.records.get(id)
        if (record === undefined) return []
        const { recordId, kind, name, summary, bytes, committedAt } = record
        return [{ recordId, kind, summary, bytes, committedAt, ...(name === undefined ? {} : { name }) }]
      }),
    }
  }

  private async result(ask: Ask): Promise<FeedCalls['result']['answer']> {
    const { graphId, records } = await this.graphOf(ask)
    const recordId = idIn(ask, 'recordId')
    if (!records.has(recordId)) throw new FeedError('not-found', `graph ${graphId} has no record ${recordId}`)
    const offset = countIn(ask, 'offset')
    const page = await this.store.readResult(graphId, recordId, { offset, limit: RESULT_CHARS })
    const { text, totalChars, nextOffset } = page
    return { text, offset: page.offset, totalChars, ...(nextOffset === undefined ? {} : { nextOffset }) }
  }

  private async timeline(ask: Ask): Promise<FeedCalls['timeline']['answer']> {
    const state = await this.graphOf(ask)
    const afterSeq = countIn(ask, 'afterSeq')
    const { graphId } = state
    const page = await this.store.readTimeline({ graphId, afterSeq, limit: TIMELINE_EVENTS })
    return {
      events: page.events.map((event) => timelineCard(state, event)),
      omittedAfter: page.omittedAfter,
    }
  }

  private async stop(ask: Ask): Promise<FeedCalls['stop']['answer']> {
    const { graphId, works } = await this.graphOf(ask)
    const click = idIn(ask, 'click')
    const workId = ask['workId'] === undefined ? undefined : idIn(ask, 'workId')
    // A work of that name is told apart from everything by its id being given.
    if (workId === EVERYTHING && !works.has(EVERYTHING)) throw unknownWork(graphId, workId)
    const cascade = ask['cascade'] === true
    return { said: await this.acts.stop(graphId, workId ?? EVERYTHING, STOPPED, { click, cascade }) }
  }

  private async retry(ask: Ask): Promise<FeedCalls['retry']['answer']> {
    const { graphId } = await this.graphOf(ask)
    const click = idIn(ask, 'click')
    return { said: await this.acts.retry(graphId, idIn(ask, 'workId'), RETRIED, { click }) }
  }

  private async confirm(ask: Ask): Promise<FeedCalls['confirm']['answer']> {
    const { graphId } = await this.graphOf(ask)
    const seen = countIn(ask, 'attempt')
    return { said: await this.acts.confirm(graphId, idIn(ask, 'workId'), CONFIRMED, seen) }
  }

  /** The graph, if it is one of the session's. */
  private async graphOf(ask: Ask): Promise<GraphState> {
    const sessionId = idIn(ask, 'sessionId')
    const graphId = idIn(ask, 'graphId')
    const state = await this.store.readGraph(graphId)
    if (state?.rootSessionId === sessionId) return state
    throw new FeedError('not-found', `session ${sessionId} has no graph ${graphId}`)
  }

  private async workOf(ask: Ask) {
    const state = await this.graphOf(ask)
    const workId = idIn(ask, 'workId')
    const work = state.works.get(workId)
    if (work !== undefined) return { state, work }
    throw unknownWork(state.graphId, workId)
  }
}

function unknownWork(graphId: string, workId: string): FeedError {
  return new FeedError('not-found', `graph ${graphId} has no work ${workId}`)
}

function idIn(ask: Ask, name: string): string {
  const value = ask[name]
  if (isId(value)) return value
  throw new FeedError('invalid', `${name} must be an id`)
}

function countIn(ask: Ask, name: string): number {
  const value = ask[name]
  if (isCount(value)) return value
  throw new FeedError('invalid', `${name} must be a whole number`)
}
