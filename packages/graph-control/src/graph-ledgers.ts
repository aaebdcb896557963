/**
 * The ledgers of a store, one a graph, made when a graph is first asked for.
 *
 * Owns: which graphs are in memory. A graph that turns out to be empty, or to be finished while all
 * graphs are listed, is let go again.
 */
import type { DurableLog } from 'dsh-durable-log'
import { GRAPH_PREFIX } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { GraphLedger } from './graph-ledger.ts'
import type { FoldedGraph } from './graph-state.ts'

export interface LedgerEvents {
  /** A commit of this process led to this state. */
  readonly announce: (state: FoldedGraph) => void
  /** A graph was passed over because it cannot be read. */
  readonly report: (error: unknown) => void
}

export interface OpenGraph {
  readonly graphId: string
  readonly rootSessionId: string | undefined
}

export class GraphLedgers {
  private readonly log: DurableLog
  private readonly events: LedgerEvents
  private readonly ledgers = new Map<string, GraphLedger>()
  /** Graphs known to be finished: irreversible, so a listing need not look at them again. */
  private readonly finished = new Set<string>()

  constructor(log: DurableLog, events: LedgerEvents) {
    this.log = log
    this.events = events
  }

  /** The ledger to commit in. */
  of(graphId: string): GraphLedger {
    let ledger = this.ledgers.get(graphId)
    if (ledger === undefined) {
      ledger = new GraphLedger(graphId, this.log, this.events.announce)
      this.ledgers.set(graphId, ledger)
    }
    return ledger
  }

  async read(graphId: string): Promise<FoldedGraph> {
    const ledger = this.of(graphId)
    const state = await ledger.read()
    if (state.seq === 0) this.release(graphId, ledger)
    return state
  }

  /** Graphs with entries that are not finished, in order of their ids; unreadable ones are reported. */
  async listOpen(): Promise<readonly OpenGraph[]> {
    const open: OpenGraph[] = []
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await this.log.list({
        prefix: GRAPH_PREFIX,
        ...(cursor === undefined ? {} : { cursor }),
      })
      for (const { stream } of page.streams) {
        const graph = await this.openGraph(stream.slice(GRAPH_PREFIX.length))
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

  private async openGraph(graphId: string): Promise<OpenGraph | undefined> {
    if (this.finished.has(graphId)) return undefined
    const wasHeld = this.ledgers.has(graphId)
    const ledger = this.of(graphId)
    try {
      const { closed, rootSessionId } = await ledger.read()
      if (!closed) return { graphId, rootSessionId }
      this.finished.add(graphId)
      if (!wasHeld) this.release(graphId, ledger)
    } catch (error) {
      if (!(error instanceof GraphControlError) || error.code !== 'quarantined') throw error
      this.events.report(error)
    }
    return undefined
  }

  private release(graphId: string, ledger: GraphLedger): void {
    if (ledger.isIdle && this.ledgers.get(graphId) === ledger) this.ledgers.delete(graphId)
  }
}
