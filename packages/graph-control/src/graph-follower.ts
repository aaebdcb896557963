/**
 * Follows one graph's stream: the state that its entries fold into, from a snapshot on where there is one.
 *
 * A stream can be removed, and come again under its name. So what is read begins with the newest entry
 * that the state knows: where that one is gone, all is folded anew. The same is done once where a state
 * that came from a snapshot does not go on.
 *
 * Owns: loading, catching up, quarantine. Does not own: what is committed, nor in which order.
 */
import { isDeepStrictEqual } from 'node:util'
import { type DurableLog, DurableLogError, type Entry, type StoredEntry } from 'dsh-durable-log'
import { graphStream, parseGraphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { fold, foldAll } from './fold.ts'
import { emptyGraph, type FoldedGraph, FoldError } from './graph-state.ts'
import { ShapeError } from './shape.ts'
import type { SnapshotKeeper } from './snapshot-keeper.ts'

/** Entries of one read while loading; between two reads others get their turn. */
const PAGE_ENTRIES = 2000

export interface FollowerDeps {
  readonly log: DurableLog
  readonly snapshots: SnapshotKeeper
  /** Told of a snapshot that was passed over. */
  readonly report: (error: unknown) => void
}

export class GraphFollower {
  readonly stream: string
  private readonly graphId: string
  private readonly deps: FollowerDeps
  private current: FoldedGraph
  /** The newest entry folded into the state; unknown behind a snapshot. */
  private newest: Entry | undefined
  private isFromSnapshot = false
  /** Counts how often all was folded anew, so that a read under way notices. */
  private generation = 0
  private loading: Promise<void> | undefined
  private quarantine: GraphControlError | undefined

  constructor(graphId: string, deps: FollowerDeps) {
    this.stream = graphStream(graphId)
    this.graphId = graphId
    this.deps = deps
    this.current = emptyGraph(graphId)
  }

  /** The state in memory, without asking the medium. */
  get state(): FoldedGraph {
    return this.current
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
    return this.current
  }

  /** Reads the stream once; a failure is tried again by the next call. Throws as {@link read} does. */
  load(): Promise<void> {
    this.loading ??= this.open().catch((error: unknown) => {
      this.loading = undefined
      throw error
    })
    return this.loading
  }

  /** Takes the state that entries of this process led to, unless it is known to be further already. */
  advance(state: FoldedGraph, newest: Entry | undefined): void {
    if (state.seq > this.current.seq) this.take(state, newest)
  }

  /** The stream was removed, and may come again. */
  startOver(): void {
    this.generation += 1
    this.isFromSnapshot = false
    this.deps.snapshots.forget()
    this.take(emptyGraph(this.graphId), undefined)
  }

  /** Whether this is why the stream cannot be read. */
  isQuarantine(error: unknown): boolean {
    return this.quarantine !== undefined && error === this.quarantine
  }

  /** Folds what the stream has beyond the state in memory. Throws as {@link read} does. */
  async catchUp(): Promise<void> {
    for (;;) {
      if (this.quarantine !== undefined) throw this.quarantine
      const { generation, newest } = this
      const { seq } = this.current
      const entries = await this.readPage(Math.max(0, seq - 1))
      if (generation !== this.generation) continue
      if (seq > 0 && !goesOn(entries[0], seq, newest)) {
        if (this.isFromSnapshot) this.deps.report(new Error(`${this.stream} has a snapshot of other entries`))
        this.startOver()
        continue
      }
      if (!this.absorb(entries)) continue
      if (entries.length < PAGE_ENTRIES) return
    }
  }

  private async open(): Promise<void> {
    const saved = await this.deps.snapshots.load()
    if (saved !== undefined) {
      this.current = saved
      this.isFromSnapshot = true
    }
    await this.catchUp()
  }

  private take(state: FoldedGraph, newest: Entry | undefined): void {
    this.current = state
    this.newest = newest
  }

  private async readPage(afterSeq: number): Promise<readonly StoredEntry[]> {
    try {
      return await this.deps.log.read(this.stream, { afterSeq, limit: PAGE_ENTRIES })
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
    const { seq } = this.current
    this.newest ??= entries.find((entry) => entry.seq === seq)
    const fresh = entries.filter((entry) => entry.seq > seq)
    const newest = fresh.at(-1)
    if (newest === undefined) return true
    if (fresh.some((entry, index) => entry.seq !== seq + 1 + index)) return false
    try {
      this.take(foldAll(this.current, fresh.map(parseGraphEntry)), newest)
      return true
    } catch {
      return false
    }
  }

  private absorbOneByOne(entries: readonly StoredEntry[]): boolean {
    for (const entry of entries) {
      if (entry.seq < this.current.seq) continue
      try {
        if (entry.seq === this.current.seq) this.newest ??= entry
        else if (entry.seq !== this.current.seq + 1) throw new FoldError(`follows entry ${this.current.seq}`)
        else this.take(fold(this.current, parseGraphEntry(entry)), entry)
      } catch (error) {
        if (this.isFromSnapshot) {
          this.deps.report(error)
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
