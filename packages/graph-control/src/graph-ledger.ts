/**
 * The commits to one graph.
 *
 * Every commit goes through one chain: decide on the state in memory, fold what was decided (so that
 * nothing unfoldable is ever written), append on the condition that the stream is still where that
 * state is, and only then take the new state and answer. When another process wrote first, its
 * entries are read and the decision is made again. A refusal, too, is given only on a state that was
 * just compared with the medium.
 *
 * Owns: the commit chain. Does not own: the state and how it is read (graph-follower), what may be
 * committed.
 */
import { type DurableLog, DurableLogError, type Entry } from 'dsh-durable-log'
import type { Decide } from './decision.ts'
import type { GraphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { fold } from './fold.ts'
import { GraphFollower } from './graph-follower.ts'
import type { FoldedGraph } from './graph-state.ts'
import { fenced, requireLease } from './lease-fence.ts'
import type { GraphLease } from './port.ts'
import { SnapshotKeeper } from './snapshot-keeper.ts'

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
  private readonly log: DurableLog
  private readonly events: LedgerEvents
  private readonly snapshots: SnapshotKeeper
  private readonly follower: GraphFollower
  private chain: Promise<unknown> = Promise.resolve()
  /** Commits asked for and not begun, in order. */
  private waiting: CommitRequest[] = []
  private underWay = 0

  constructor(graphId: string, log: DurableLog, events: LedgerEvents) {
    this.log = log
    this.events = events
    const { report } = events
    this.snapshots = new SnapshotKeeper(log, graphId, report)
    this.follower = new GraphFollower(graphId, { log, snapshots: this.snapshots, report })
  }

  get stream(): string {
    return this.follower.stream
  }

  /**
   * The state at the end of the stream, other processes' entries included.
   *
   * @throws GraphControlError `quarantined`; DurableLogError when the medium does not answer.
   */
  read(): Promise<FoldedGraph> {
    return this.follower.read()
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
    return this.follower.state
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
      this.follower.startOver()
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
      await this.follower.load()
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
      const { state } = this.follower
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
      const latest = this.follower.state
      if (latest.seq > state.seq) this.events.announce(latest)
      throw refusalOf(error)
    }
  }

  /** Commit, then memory, then tell: each state that a request led to. */
  private tell(decided: readonly DecidedCommit[]): void {
    const last = decided.findLast(({ entries }) => entries.length > 0)
    if (last === undefined) return
    this.follower.advance(last.next, last.entries.at(-1) as Entry | undefined)
    const { state } = this.follower
    this.snapshots.offer(state)
    for (const { entries, next } of decided)
      if (entries.length > 0) this.events.announce(next === last.next ? state : next)
  }

  /** What became of a failed write is not known until the medium says so. */
  private async catchUpAfter(error: unknown): Promise<void> {
    try {
      await this.follower.catchUp()
    } catch (cause) {
      if (isConflict(error) || this.follower.isQuarantine(cause)) throw cause
      // The medium is away. Appends stay conditional on the old position, so the next one finds out.
    }
  }

  private async hasMoved(state: FoldedGraph): Promise<boolean> {
    await this.follower.catchUp()
    return this.follower.state !== state
  }
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
