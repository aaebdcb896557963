/**
 * One look of a page at the graph of a session: first the whole, then what changed, at most
 * {@link RATE_MS} apart. A page that comes back tells what it has and gets the rest.
 *
 * Owns: what has been sent, and when the next is. Does not own: the connection.
 */
import {
  changedWorks,
  type Claim,
  type GraphControl,
  type GraphEpoch,
  type GraphState,
  type Work,
} from 'dsh-graph-control'
import type { FeedMessage, GraphHead } from './wire.ts'
import { graphHead, waitReasonOf, workCard, type Standing } from './work-card.ts'

/** Works in one message. */
export const PAGE_WORKS = 200
const RATE_MS = 40
/** A page that takes nothing is asked again this much later. */
const FULL_MS = 250
/** What stands in line moves with every run of the host. */
const LANES_MS = 250
/** A graph that could not be read is tried again this much later. */
const RETRY_MS = 1_000

export interface GraphWatchOptions {
  readonly store: GraphControl
  readonly key: number
  readonly sessionId: string
  /** Default: the newest graph, also of epochs to come. */
  readonly graphId?: string | undefined
  readonly have?: { readonly graphId: string; readonly seq: number } | undefined
  /** Not called after {@link GraphWatch.close}. */
  readonly send: (message: FeedMessage) => void
  /** The page has not taken yet what it was sent. */
  readonly isFull: () => boolean
  /** How things stand now, besides what the store knows. */
  readonly standing?: () => Standing
}

export class GraphWatch {
  private readonly options: GraphWatchOptions
  /** What the page has. */
  private sent: { readonly graphId: string; readonly seq: number } | undefined
  private claims: ReadonlyMap<string, Claim> = new Map()
  /** By claim, what its work was told to wait for. */
  private waits: ReadonlyMap<string, string> = new Map()
  private epochs: readonly GraphEpoch[] | undefined
  private toldNone = false
  /** The page has heard of this look, and what it was told last was no refusal. */
  private hasTold = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private busy = false
  private dirty = false
  private closed = false

  constructor(options: GraphWatchOptions) {
    this.options = options
    this.sent = options.have
    this.dirty = true
    void this.flush()
  }

  /** Something was committed to a graph of some root. */
  committed({ rootSessionId, graphId }: GraphState): void {
    if (rootSessionId !== this.options.sessionId || this.closed) return
    if (this.epochs?.some((epoch) => epoch.graphId === graphId) !== true) this.epochs = undefined
    this.dirty = true
    this.schedule(RATE_MS)
  }

  /** The root has another epoch. */
  epochsMoved(rootSessionId: string): void {
    if (rootSessionId !== this.options.sessionId || this.closed) return
    this.epochs = undefined
    this.dirty = true
    this.schedule(RATE_MS)
  }

  /** There is something new in a graph, which the store may not have in memory. */
  graphMoved(graphId: string): void {
    if (this.closed || this.epochs?.some((epoch) => epoch.graphId === graphId) !== true) return
    this.dirty = true
    this.schedule(RATE_MS)
  }

  /** Works may stand in line otherwise than before. */
  lanesMoved(): void {
    // Nobody stands in line before there is a graph.
    if (this.closed || this.sent === undefined || this.waits.size === 0) return
    this.dirty = true
    this.schedule(LANES_MS)
  }

  close(): void {
    this.closed = true
    clearTimeout(this.timer)
  }

  private schedule(ms: number): void {
    if (this.timer !== undefined || this.busy || this.closed) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      void this.flush()
    }, ms)
  }

  private async flush(): Promise<void> {
    if (this.busy || this.closed || !this.dirty) return
    if (this.options.isFull()) return this.schedule(FULL_MS)
    this.busy = true
    this.dirty = false
    try {
      await this.tell()
    } catch (error) {
      this.refuse(error)
      // What could not be read now may be read later, and nobody may commit again.
      this.dirty = true
      this.busy = false
      return this.schedule(RETRY_MS)
    } finally {
      this.busy = false
    }
    if (this.dirty) this.schedule(RATE_MS)
  }

  private async tell(): Promise<void> {
    const { store, sessionId } = this.options
    const isListNew = this.epochs === undefined
    this.epochs ??= await store.listEpochs(sessionId)
    const state = await this.read(this.epochs)
    if (this.closed) return
    if (state === undefined) return this.tellNone()
    const head = graphHead(state, this.epochs)
    const missed = this.sent?.graphId === state.graphId ? changedWorks(state, this.sent.seq) : undefined
    const standing = this.options.standing?.()
    const moved = this.movedOn(state, standing)
    const isSame = !isListNew && this.sent?.seq === state.seq && moved.length === 0
    if (missed === undefined) await this.sendAll(state, head, standing)
    else if (!isSame || !this.hasTold)
      this.sendChanged(state, head, [...new Set([...missed, ...moved])], standing)
    this.hasTold = true
    this.sent = { graphId: state.graphId, seq: state.seq }
  }

  /**
   * Works whose live attempt is another, or is held or let go, or stands in line otherwise: that is told
   * of their claims, or of lanes, and the works themselves stay as they were.
   */
  private movedOn(state: GraphState, standing: Standing | undefined): readonly Work[] {
    const before = this.claims
    const claims = new Map<string, Claim>()
    const waits = new Map<string, string>()
    const moved: Work[] = []
    for (const claimId of state.live.claims.keys()) {
      const claim = state.claims.get(claimId)
      const work = claim === undefined ? undefined : state.works.get(claim.workId)
      if (claim === undefined || work === undefined) continue
      claims.set(claimId, claim)
      const wait = JSON.stringify(waitReasonOf(state, work, standing)) ?? ''
      waits.set(claimId, wait)
      if (before.get(claimId) !== claim || this.waits.get(claimId) !== wait) moved.push(work)
    }
    this.claims = claims
    this.waits = waits
    return moved
  }

  /** The graph that is meant, or the newest one; an epoch in which nothing has happened is none yet. */
  private async read(epochs: readonly GraphEpoch[]): Promise<GraphState | undefined> {
    const { graphId: meant, sessionId, store } = this.options
    const newest = epochs.slice(-2).map(({ graphId }) => graphId)
    for (const graphId of meant === undefined ? newest.toReversed() : [meant]) {
      const state = await store.readGraph(graphId)
      if (state !== undefined && state.seq > 0) return state.rootSessionId === sessionId ? state : undefined
    }
    return undefined
  }

  private tellNone(): void {
    this.sent = undefined
    if (this.toldNone) return
    this.toldNone = true
    this.send({ type: 'none', key: this.options.key })
  }

  private async sendAll(state: GraphState, head: GraphHead, standing?: Standing): Promise<void> {
    const { key } = this.options
    this.toldNone = false
    this.send({ type: 'snapshot', key, head })
    let page: Work[] = []
    let left = state.works.size
    for (const work of state.works.values()) {
      page.push(work)
      left -= 1
      if (page.length < PAGE_WORKS || left === 0) continue
      this.sendPage(state, head, page, { standing })
      page = []
      // A large graph is not a reason to keep everybody else waiting.
      await new Promise((resolve) => setImmediate(resolve))
      if (this.closed) return
    }
    this.sendPage(state, head, page, { standing, last: true })
  }

  private sendChanged(
    state: GraphState,
    head: GraphHead,
    missed: readonly Work[],
    standing?: Standing,
  ): void {
    for (let at = 0; at === 0 || at < missed.length; at += PAGE_WORKS)
      this.sendPage(state, head, missed.slice(at, at + PAGE_WORKS), { standing })
  }

  private sendPage(
    state: GraphState,
    head: GraphHead,
    works: readonly Work[],
    { last = false, standing }: { readonly last?: boolean; readonly standing: Standing | undefined },
  ): void {
    const cards = works.map((work) => workCard(state, work, standing))
    this.send({ type: 'works', key: this.options.key, head, works: cards, ...(last ? { last } : {}) })
  }

  private refuse(error: unknown): void {
    const { key } = this.options
    // After a refusal the page begins anew.
    this.sent = undefined
    this.hasTold = false
    const { code, message } = error as { code?: unknown; message?: unknown }
    this.send({
      type: 'refused',
      key,
      code: typeof code === 'string' ? code : 'failed',
      message: typeof message === 'string' ? message.slice(0, 500) : 'the graph cannot be read',
    })
  }

  private send(message: FeedMessage): void {
    if (!this.closed) this.options.send(message)
  }
}
