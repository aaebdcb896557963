/**
 * One graph's stream and the state it folds into.
 *
 * Every commit goes through one chain: decide on the state in memory, fold what was decided (so that
 * nothing unfoldable is ever written), append on the condition that the stream is still where that
 * state is, and only then take the new state and answer. When another process wrote first, its
 * entries are read and the decision is made again. A refusal, too, is given only on a state that was
 * just compared with the medium.
 *
 * A stream can be removed, and come again under its name. So what is read begins with the newest entry
 * that the state knows: where that one is gone, all is folded anew. The same is done once where a state
 * that came from a snapshot does not go on.
 *
 * Owns: loading, the commit chain, quarantine. Does not own: what may be committed.
 */
import { isDeepStrictEqual } from 'node:util'
import { type DurableLog, DurableLogError, type Entry, type StoredEntry } from 'dsh-durable-log'
import type { Decide } from './decision.ts'
import { type GraphEntry, graphStream, parseGraphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { fold, foldAll } from './fold.ts'
import { emptyGraph, type FoldedGraph, FoldError } from './graph-state.ts'
import { fenced, requireLease } from './lease-fence.ts'
import type { GraphLease } from './port.ts'
import { ShapeError } from './shape.ts'
import { SnapshotKeeper } from './snapshot-keeper.ts'

/** Entries of one read while loading; between two reads others get their turn. */
const PAGE_ENTRIES = 2000
/** How often a decision is made again because another process wrote first. */
const MAX_ROUNDS = 32

/** Commits that share an append, at most: bounds what one refusal repeats. */
const MAX_BATCH = 32

interface CommitRequest {
  readonly decide: Decide<unknown>
  readonly lease: GraphLease | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** A commit that was decided and is not written yet. */
interface DecidedCommit {
  readonly entries: readonly GraphEntry[]
  readonly next: FoldedGraph
  /** Answers or refuses, once what it was decided on is known to be so. */
  readonly settle: () => void
}

export interface LedgerEvents {
  /** A commit of this process led to this state. Must not throw. */
  readonly announce: (state: FoldedGraph) => void
  /** Told what was contained: a graph passed over because it cannot be read, a snapshot not saved. */
  readonly report: (error: unknown) => void
}

export class GraphLedger {
  readonly stream: string
  private readonly graphId: string
  private readonly log: DurableLog
  private readonly events: LedgerEvents
  private readonly snapshots: SnapshotKeeper
  private state: FoldedGraph
  /** The newest entry folded into the state; unknown behind a snapshot. */
  private newest: Entry | undefined
  private isFromSnapshot = false
  /** Counts how often all was folded anew, so that a read under way notices. */
  private generation = 0
  private loading: Promise<void> | undefined
  private chain: Promise<unknown> = Promise.resolve()
  /** Commits asked for and not begun, in order. */
  private waiting: CommitRequest[] = []
  private underWay = 0
  private quarantine: GraphControlError | undefined

  constructor(graphId: string, log: DurableLog, events: LedgerEvents) {
    this.stream = graphStream(graphId)
    this.graphId = graphId
    this.log = log
    this.events = events
    this.snapshots = new SnapshotKeeper(log, graphId, events.report)
    this.state = emptyGraph(graphId)
  }

  /**
   * The state at the end of the stream, other processes' entries included.
   *
   * @throws GraphControlError `quarantined`; DurableLogError when the medium does not answer.
   */
  async read(): Promise<FoldedGraph> {
    const loaded = this.loading !== undefined
    await this.load()
    if (loaded) await this.catchUp()
    return this.state
  }

  /**
   * Decides and appends, in the order asked for; under a lease only while it holds. What is asked for
   * while an append is under way is decided one after the other and appended together.
   */
  commit<T>(decide: Decide<T>, lease?: GraphLease): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.waiting.push({ decide, lease, resolve: resolve as (answer: unknown) => void, reject })
    // One turn for each, though an earlier one may do what a later one was taken for.
    void this.inTurn(() => this.commitWaiting()).catch(reject)
    return promise
  }

  /** Runs when the commits asked for so far are done, and before any later one. */
  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    this.underWay += 1
    const turn = this.chain.then(act).finally(() => (this.underWay -= 1))
    this.chain = turn.catch(() => undefined)
    return turn
  }

  /** The state in memory, without asking the medium. */
  get latest(): FoldedGraph {
    return this.state
  }

  /** Nobody is committing: the ledger may be let go and made anew from the stream. */
  get isIdle(): boolean {
    return this.underWay === 0
  }

  /** Removes the stream when the commits asked for so far are done, and before any later one. */
  async remove(remove: () => Promise<void>): Promise<void> {
    await this.inTurn(async () => {
      await this.snapshots.settled()
      await remove()
      this.startOver()
    })
  }

  /** Resolves when the commits asked for so far are done. */
  async settled(): Promise<void> {
    await this.chain
    await this.snapshots.settled()
  }

  private async commitWaiting(): Promise<void> {
    const batch = this.waiting.splice(0, MAX_BATCH)
    if (batch.length === 0) return
    try {
      await this.load()
    } catch (error) {
      for (const request of batch) request.reject(error)
      return
    }
    if (await this.commitTogether(batch)) return
    // One of them spoiled the append of all.
    for (const request of batch) await this.commitTogether([request])
  }

  /** @returns false when the requests have to be committed one by one; then none of them is. */
  private async commitTogether(batch: readonly CommitRequest[]): Promise<boolean> {
    for (let round = 1; ; round++) {
      const state = this.state
      const decided = await this.decideAll(state, batch)
      const entries = decided.flatMap((outcome) => outcome.entries)
      if (entries.length === 0) {
        try {
          if (round < MAX_ROUNDS && (await this.hasMoved(state))) continue
        } catch (error) {
          // A refusal is a refusal, whatever the medium says now.
          for (const { reject } of batch) reject(error)
          return true
        }
      } else {
        try {
          if (!(await this.append(state, entries, round))) continue
        } catch (error) {
          if (batch.length > 1 && isTooLarge(error)) return false
          for (const { reject } of batch) reject(error)
          return true
        }
        this.tell(decided)
      }
      for (const { settle } of decided) settle()
      return true
    }
  }

  /** Each on the state that those before it lead to. Nothing is settled and nothing is written. */
  private async decideAll(
    state: FoldedGraph,
    batch: readonly CommitRequest[],
  ): Promise<readonly DecidedCommit[]> {
    const decided: DecidedCommit[] = []
    let latest = state
    for (const { decide, lease, reject, resolve } of batch) {
      try {
        if (lease !== undefined) requireLease(latest, lease)
        const { answer, entries: asked } = await decide(latest)
        const entries = lease === undefined || asked.length === 0 ? asked : fenced(latest, lease, asked)
        const next = entries.reduce(fold, latest)
        decided.push({ entries, next, settle: () => settleWith(() => answer(next), resolve, reject) })
        latest = next
      } catch (error) {
        decided.push({ entries: [], next: latest, settle: () => reject(error) })
      }
    }
    return decided
  }

  /** @returns false when another process wrote first. */
  private async append(state: FoldedGraph, entries: readonly GraphEntry[], round: number): Promise<boolean> {
    try {
      await this.log.append(this.stream, state.seq, entries as readonly Entry[])
      return true
    } catch (error) {
      await this.catchUpAfter(error)
      if (isConflict(error) && round < MAX_ROUNDS) return false
      // It may have been written all the same. Then it counts, although its caller has to ask again.
      if (this.state.seq > state.seq) this.events.announce(this.state)
      throw refusalOf(error)
    }
  }

  /** Commit, then memory, then tell: each state that a request led to. */
  private tell(decided: readonly DecidedCommit[]): void {
    const last = decided.findLast(({ entries }) => entries.length > 0)
    if (last === undefined) return
    if (last.next.seq > this.state.seq) this.take(last.next, last.entries.at(-1) as Entry | undefined)
    this.snapshots.offer(this.state)
    for (const { entries, next } of decided)
      if (entries.length > 0) this.events.announce(next === last.next ? this.state : next)
  }

  /** What became of a failed write is not known until the medium says so. */
  private async catchUpAfter(error: unknown): Promise<void> {
    try {
      await this.catchUp()
    } catch (cause) {
      if (isConflict(error) || cause === this.quarantine) throw cause
      // The medium is away. Appends stay conditional on the old position, so the next one finds out.
    }
  }

  private async hasMoved(state: FoldedGraph): Promise<boolean> {
    await this.catchUp()
    return this.state !== state
  }

  private load(): Promise<void> {
    this.loading ??= this.open().catch((error: unknown) => {
      this.loading = undefined
      throw error
    })
    return this.loading
  }

  private async open(): Promise<void> {
    const saved = await this.snapshots.load()
    if (saved !== undefined) {
      this.state = saved
      this.isFromSnapshot = true
    }
    await this.catchUp()
  }

  private take(state: FoldedGraph, newest: Entry | undefined): void {
    this.state = state
    this.newest = newest
  }

  private startOver(): void {
    this.generation += 1
    this.isFromSnapshot = false
    this.snapshots.forget()
    this.take(emptyGraph(this.graphId), undefined)
  }

  /** Folds what the stream has beyond the state in memory. */
  private async catchUp(): Promise<void> {
    for (;;) {
      if (this.quarantine !== undefined) throw this.quarantine
      const { generation, newest } = this
      const { seq } = this.state
      const entries = await this.readPage(Math.max(0, seq - 1))
      if (generation !== this.generation) continue
      if (seq > 0 && !goesOn(entries[0], seq, newest)) {
        if (this.isFromSnapshot)
          this.events.report(new Error(`${this.stream} has a snapshot of other entries`))
        this.startOver()
        continue
      }
      if (!this.absorb(entries)) continue
      if (entries.length < PAGE_ENTRIES) return
    }
  }

  private async readPage(afterSeq: number): Promise<readonly StoredEntry[]> {
    try {
      return await this.log.read(this.stream, { afterSeq, limit: PAGE_ENTRIES })
    } catch (error) {
      if (error instanceof DurableLogError && error.code === 'corrupt') {
        throw this.setAside(error.seq, 'the medium holds a damaged entry', error)
      }
      throw error
    }
  }

  /**
   * Reads may overlap with each other and with appends, so what is known already is passed over.
   *
   * @returns whether the state goes on; otherwise all is to be read anew.
   */
  private absorb(entries: readonly StoredEntry[]): boolean {
    return this.absorbAtOnce(entries) || this.absorbOneByOne(entries)
  }

  /** @returns false where some entry is none to go on with; which one is to be found out. */
  private absorbAtOnce(entries: readonly StoredEntry[]): boolean {
    const { seq } = this.state
    this.newest ??= entries.find((entry) => entry.seq === seq)
    const fresh = entries.filter((entry) => entry.seq > seq)
    const newest = fresh.at(-1)
    if (newest === undefined) return true
    if (fresh.some((entry, index) => entry.seq !== seq + 1 + index)) return false
    try {
      this.take(foldAll(this.state, fresh.map(parseGraphEntry)), newest)
      return true
    } catch {
      return false
    }
  }

  private absorbOneByOne(entries: readonly StoredEntry[]): boolean {
    for (const entry of entries) {
      if (entry.seq < this.state.seq) continue
      try {
        if (entry.seq === this.state.seq) this.newest ??= entry
        else if (entry.seq !== this.state.seq + 1) throw new FoldError(`follows entry ${this.state.seq}`)
        else this.take(fold(this.state, parseGraphEntry(entry)), entry)
      } catch (error) {
        if (this.isFromSnapshot) {
          this.events.report(error)
          this.startOver()
          return false
        }
        const expected = error instanceof ShapeError || error instanceof FoldError
        const what = error instanceof ShapeError ? error.describe() : (error as Error).message
        throw this.setAside(entry.seq, expected ? `the entry ${what}` : 'the entry cannot be folded', error)
      }
    }
    return true
  }

  private setAside(seq: number | undefined, why: string, cause: unknown): GraphControlError {
    this.quarantine = new GraphControlError(
      'quarantined',
      `graph ${this.graphId} cannot be read: stream ${this.stream}, entry ${seq ?? 'unknown'}: ${why}. ` +
        'Other graphs are not affected; restore the stream from a backup or open a new graph.',
      { cause },
    )
    return this.quarantine
  }
}

/** Whether what was read begins with the entry that the state ends with. */
function goesOn(first: StoredEntry | undefined, seq: number, newest: Entry | undefined): boolean {
  if (first?.seq !== seq) return false
  return newest === undefined || (first.type === newest.type && isDeepStrictEqual(first.data, newest.data))
}

function settleWith(
  answer: () => unknown,
  resolve: (answer: unknown) => void,
  reject: (error: unknown) => void,
): void {
  try {
    resolve(answer())
  } catch (error) {
    reject(error)
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GraphControlError && error.code === 'invalid'
}

function isConflict(error: unknown): boolean {
  return error instanceof DurableLogError && error.code === 'conflict'
}

/** An append that can never succeed is the caller's; anything else is the medium's and stays as it is. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof DurableLogError) || error.code !== 'too-large') return error
  return new GraphControlError(
    'invalid',
    `the request is too large for one entry: ${error.message}; split it`,
    {
      cause: error,
    },
  )
}
