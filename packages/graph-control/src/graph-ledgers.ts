/**
 * The ledgers of a store, one a graph, made when a graph is first asked for.
 *
 * Owns: which graphs are in memory. An empty graph is let go at once, a finished one that has nothing
 * under way when others were asked for since.
 */
import type { DurableLog } from 'dsh-durable-log'
import type { Decide } from './decision.ts'
import { GRAPH_PREFIX } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { GraphLedger, type LedgerEvents } from './graph-ledger.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { GraphLease } from './port.ts'

/** Finished graphs that stay in memory: those that are looked at again and again. */
const KEPT_FINISHED = 4

export interface OpenGraph {
  readonly graphId: string
  readonly rootSessionId: string | undefined
}

interface GraphHead {
  readonly graphId: string
  readonly seq: number
}

export class GraphLedgers {
  private readonly log: DurableLog
  private readonly events: LedgerEvents
  private readonly ledgers = new Map<string, GraphLedger>()
  /** Finished graphs in memory, the one asked for last at the end. */
  private readonly idle = new Set<string>()
  /** Graphs known to be finished, with their heads: a listing need not look again while those stay. */
  private readonly finished = new Map<string, number>()

  /** Up to where each graph in memory was announced; what somebody read meanwhile was announced to nobody. */
  private readonly announced = new Map<string, number>()
  /** Graphs that are looked at for what others committed, and up to where there is something. */
  private readonly following = new Map<GraphLedger, number>()

  constructor(log: DurableLog, events: LedgerEvents) {
    this.log = log
    const announce = (state: FoldedGraph): void => {
      this.announced.set(state.graphId, Math.max(state.seq, this.announced.get(state.graphId) ?? 0))
      events.announce(state)
    }
    this.events = { ...events, announce }
  }

  async commit<T>(graphId: string, decide: Decide<T>, lease?: GraphLease): Promise<T> {
    const ledger = this.of(graphId)
    try {
      return await ledger.commit(decide, lease)
    } finally {
      this.retire(graphId, ledger)
    }
  }

  async read(graphId: string): Promise<FoldedGraph> {
    const ledger = this.of(graphId)
    const state = await ledger.read()
    if (state.seq === 0) this.release(graphId, ledger)
    else this.retire(graphId, ledger)
    return state
  }

  /** Lets go of the graph and removes it, after the commits asked for so far. */
  async remove(graphId: string, remove: () => Promise<void>): Promise<void> {
    const ledger = this.of(graphId)
    await ledger.remove(remove)
    this.finished.delete(graphId)
    this.idle.delete(graphId)
    this.announced.delete(graphId)
    if (this.ledgers.get(graphId) === ledger) this.ledgers.delete(graphId)
  }

  /**
   * Tells of what other processes commit to graphs that are in memory here, as soon as the log does.
   *
   * @returns the undo.
   */
  watch(): () => void {
    return this.log.subscribe(GRAPH_PREFIX, ({ stream, seq }) => {
      const graphId = stream.slice(GRAPH_PREFIX.length)
      const ledger = this.ledgers.get(graphId)
      // What is committed here is announced by its own commit.
      if (ledger === undefined || seq <= (this.announced.get(graphId) ?? 0)) return
      const isUnderWay = this.following.has(ledger)
      this.following.set(ledger, Math.max(seq, this.following.get(ledger) ?? 0))
      if (!isUnderWay) void this.follow(graphId, ledger)
    })
  }

  /** Never rejects. A commit under way here comes first, so that states are announced in their order. */
  private async follow(graphId: string, ledger: GraphLedger): Promise<void> {
    try {
      for (;;) {
        await ledger.settled()
        const wanted = this.following.get(ledger) ?? 0
        if (wanted <= (this.announced.get(graphId) ?? 0)) return
        const { seq } = await ledger.read()
        // Whatever is committed meanwhile is announced first.
        if (!ledger.isIdle) continue
        if (seq > (this.announced.get(graphId) ?? 0)) this.events.announce(ledger.latest)
        // What the log told of and does not have was removed.
        if (seq < wanted) return
      }
    } catch (error) {
      this.events.report(error)
    } finally {
      this.following.delete(ledger)
    }
  }

  /** How many graphs are in memory. */
  get size(): number {
    return this.ledgers.size
  }

  /** States in memory, without asking the medium. */
  loaded(): Iterable<FoldedGraph> {
    return [...this.ledgers.values()].map((ledger) => ledger.latest)
  }

  /** A page of graph ids in their order. */
  async listIds(
    cursor: string | undefined,
    limit: number,
  ): Promise<{ ids: readonly string[]; heads: readonly GraphHead[]; cursor?: string }> {
    const after = cursor === undefined ? {} : { cursor: GRAPH_PREFIX + cursor }
    const page = await this.log.list({ prefix: GRAPH_PREFIX, limit, ...after })
    const heads = page.streams.map(({ stream, seq }) => ({
      graphId: stream.slice(GRAPH_PREFIX.length),
      seq,
    }))
    const ids = heads.map((head) => head.graphId)
    const last = ids.at(-1)
    return { ids, heads, ...(page.cursor === undefined || last === undefined ? {} : { cursor: last }) }
  }

  /** Graphs with entries that are not finished, in order of their ids; unreadable ones are reported. */
  async listOpen(): Promise<readonly OpenGraph[]> {
    const open: OpenGraph[] = []
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await this.listIds(cursor, 200)
      for (const head of page.heads) {
        const graph = await this.openGraph(head)
        if (graph !== undefined) open.push(graph)
      }
      cursor = page.cursor
    }
    return open
  }

  /** Resolves when the commits asked for so far are done. */
  async settled(): Promise<void> {
    await Promise.all([...this.ledgers.values()].map((ledger) => ledger.settled()))
  }

  private of(graphId: string): GraphLedger {
    let ledger = this.ledgers.get(graphId)
    if (ledger === undefined) {
      ledger = new GraphLedger(graphId, this.log, this.events)
      this.ledgers.set(graphId, ledger)
    }
    return ledger
  }

  private async openGraph(head: GraphHead): Promise<OpenGraph | undefined> {
    const { graphId } = head
    if (this.finished.get(graphId) === head.seq) return undefined
    try {
      const { closed, rootSessionId, seq } = await this.read(graphId)
      if (seq === 0) return undefined
      if (!closed) return { graphId, rootSessionId }
      this.finished.set(graphId, seq)
    } catch (error) {
      if (!(error instanceof GraphControlError) || error.code !== 'quarantined') throw error
      this.events.report(error)
    }
    return undefined
  }

  /** Finished graphs are kept while they are among the last few asked for. */
  private retire(graphId: string, ledger: GraphLedger): void {
    const { closed, live } = ledger.latest
    // Whatever was finished under this name was removed, and another graph came.
    if (!closed) this.finished.delete(graphId)
    if (!closed || live.claims.size > 0 || live.openWakeId !== undefined) return
    this.idle.delete(graphId)
    this.idle.add(graphId)
    for (const id of this.idle) {
      if (this.idle.size <= KEPT_FINISHED) return
      const oldest = this.ledgers.get(id)
      if (oldest !== undefined) this.release(id, oldest)
      this.idle.delete(id)
    }
  }

  private release(graphId: string, ledger: GraphLedger): void {
    if (!ledger.isIdle || this.ledgers.get(graphId) !== ledger) return
    this.ledgers.delete(graphId)
    this.announced.delete(graphId)
  }
}
