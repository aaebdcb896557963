/**
 * What every operation of the store stands on: the ledgers, the lease it commits under, the clock,
 * and the checks that come first.
 */
import type { Decide } from './decision.ts'
import type { EpochRegistry } from './epochs.ts'
import { GraphControlError } from './errors.ts'
import type { GraphLedgers } from './graph-ledgers.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { GraphList } from './graph-list.ts'
import type { GraphLease } from './port.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import type { ResultTexts } from './results.ts'
import type { DurableLog } from 'dsh-durable-log'
import type { GraphState } from './types.ts'

/** Shared by a store and its leased views. */
export interface StoreParts {
  readonly log: DurableLog
  readonly now: () => number
  readonly report: (error: unknown) => void
  readonly epochs: EpochRegistry
  readonly registered: GraphList
  readonly results: ResultTexts
  readonly ledgers: GraphLedgers
  readonly listeners: Set<(state: GraphState) => void>
  /** Closes what was opened for this store alone. */
  readonly release: () => Promise<void>
  closed: boolean
  /** Ends the watching of the log for the listeners. */
  unwatch: () => void
}

export class StoreBase {
  protected readonly parts: StoreParts
  protected readonly lease: GraphLease | undefined

  protected constructor(parts: StoreParts, lease: GraphLease | undefined) {
    this.parts = parts
    this.lease = lease
  }

  protected commit<T>(
    graphId: string,
    decide: (state: FoldedGraph, at: number) => ReturnType<Decide<T>>,
  ): Promise<T> {
    this.requireOpenStore()
    const at = this.parts.now()
    return this.parts.ledgers.commit(graphId, (state) => decide(state, at), this.lease)
  }

  protected async readState(operation: string, graphId: string): Promise<FoldedGraph> {
    this.requireOpenStore()
    return this.parts.ledgers.read(this.checkId(operation, graphId))
  }

  protected checkId(operation: string, value: string): string {
    return requireShape(operation, shapes.id, value)
  }

  protected requireOpenStore(): void {
    if (this.parts.closed) throw new GraphControlError('closed', 'the graph store is closed')
  }
}
