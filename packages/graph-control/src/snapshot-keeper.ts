/**
 * The snapshots of one graph: when one is saved, and how one is taken up.
 *
 * A snapshot only saves time. Failing to save or to read one is told and changes nothing: the stream
 * is there. Saving never holds up a commit.
 */
import { type DurableLog, DurableLogError } from 'dsh-durable-log'
import { graphStream } from './entries.ts'
import { setImmediate as nextMacrotask } from 'node:timers/promises'
import { snapshotSteps, stateOfSnapshot } from './graph-snapshot.ts'
import type { FoldedGraph } from './graph-state.ts'

/** Entries after the last snapshot, at least, before an open graph gets another. */
const OPEN_GRAPH_ENTRIES = 2_000
/** A finished graph is worth a snapshot from here on; a shorter stream is folded as fast. */
const FINISHED_GRAPH_ENTRIES = 64

export class SnapshotKeeper {
  private readonly log: DurableLog
  private readonly stream: string
  private readonly graphId: string
  private readonly report: (error: unknown) => void
  private savedSeq = 0
  private saving: Promise<void> | undefined

  constructor(log: DurableLog, graphId: string, report: (error: unknown) => void) {
    this.log = log
    this.graphId = graphId
    this.stream = graphStream(graphId)
    this.report = report
  }

  /** The state to fold on from, if one was saved that can be read. */
  async load(): Promise<FoldedGraph | undefined> {
    try {
      const saved = await this.log.loadSnapshot(this.stream)
      if (saved === undefined) return undefined
      const state = stateOfSnapshot(this.graphId, saved.seq, saved.snapshot)
      if (state !== undefined) this.savedSeq = saved.seq
      return state
    } catch (error) {
      if (error instanceof DurableLogError && error.code !== 'corrupt') throw error
      this.report(error)
      return undefined
    }
  }

  /** Saves the state in the background if it is time for it. */
  offer(state: FoldedGraph): void {
    if (this.saving !== undefined || !this.isDue(state)) return
    const { seq } = state
    this.saving = this.save(state)
      .then(
        () => void (this.savedSeq = seq),
        (error: unknown) => {
          const code = error instanceof DurableLogError ? error.code : undefined
          // Another process saved a newer one, which serves as well. One that is too large stays so: it
          // is tried again when the stream has grown as after one that was saved.
          if (code === 'conflict' || code === 'too-large') this.savedSeq = seq
          if (code !== 'conflict') this.report(error)
        },
      )
      .finally(() => (this.saving = undefined))
  }

  private async save(state: FoldedGraph): Promise<void> {
    const steps = snapshotSteps(state)
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return this.log.saveSnapshot(this.stream, state.seq, step.value)
      await nextMacrotask()
    }
  }

  /** The stream was removed, and its snapshot with it. */
  forget(): void {
    this.savedSeq = 0
  }

  async settled(): Promise<void> {
    await this.saving
  }

  private isDue({ seq, closed, live }: FoldedGraph): boolean {
    const isOver = closed && live.claims.size === 0 && live.openWakeId === undefined
    if (isOver) return seq > this.savedSeq && seq >= FINISHED_GRAPH_ENTRIES
    // The longer the stream the rarer, so that all snapshots together cost what the stream does.
    return seq - this.savedSeq >= Math.max(OPEN_GRAPH_ENTRIES, this.savedSeq)
  }
}
