/**
 * The epochs of a root session: its graphs, numbered from 1, in the stream `root/<rootSessionId>`.
 *
 * Owns: the root streams. Does not own: graphs; whether the current one is finished is asked for.
 */
import { type DurableLog, DurableLogError, type StoredEntry } from 'dsh-durable-log'
import { parseEpochEntry, rootStream } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { epochGraphId } from './ids.ts'
import { ShapeError } from './shape.ts'
import type { GraphEpoch } from './types.ts'

const MAX_ROUNDS = 32

export class EpochRegistry {
  private readonly log: DurableLog
  private readonly known = new Map<string, readonly GraphEpoch[]>()

  constructor(log: DurableLog) {
    this.log = log
  }

  /** The root was purged: its first epoch comes again. */
  forget(rootSessionId: string): void {
    this.known.delete(rootSessionId)
  }

  /** Oldest first, other processes' epochs included. */
  async list(rootSessionId: string): Promise<readonly GraphEpoch[]> {
    const before = this.known.get(rootSessionId) ?? []
    // Beginning with the newest one known: where it is gone, another process purged the root.
    const from = Math.max(0, before.length - 1)
    const entries = await this.log.read(rootStream(rootSessionId), { afterSeq: from })
    const read = entries.map((entry, index) => epochOf(rootSessionId, entry, from + index + 1))
    const newest = before.at(-1)
    if (newest !== undefined && read[0]?.createdAt !== newest.createdAt) {
      if (this.known.get(rootSessionId) === before) this.known.delete(rootSessionId)
      return this.list(rootSessionId)
    }
    if (read.length <= 1 && newest !== undefined) return before
    const epochs = Object.freeze([...before.slice(0, from), ...read])
    if (epochs.length > 0) this.known.set(rootSessionId, epochs)
    return epochs
  }

  /**
   * Opens epoch `expectedEpoch + 1`, or finds it.
   *
   * @param isFinished asked about the graph of the current epoch.
   * @throws GraphControlError `epoch-conflict` when another epoch is current, `graph-exists` when
   *   the current graph is not finished.
   */
  async advance(
    request: { readonly rootSessionId: string; readonly expectedEpoch: number; readonly at: number },
    isFinished: (graphId: string) => Promise<boolean>,
  ): Promise<{ epoch: GraphEpoch; created: boolean }> {
    const { rootSessionId, expectedEpoch, at } = request
    const epoch = expectedEpoch + 1
    const graphId = epochGraphId(rootSessionId, epoch)
    const data = { v: 1, at, rootSessionId, epoch, graphId }
    for (let round = 1; ; round++) {
      const epochs = await this.list(rootSessionId)
      const current = epochs.at(-1)
      if (current?.epoch === epoch) return { epoch: current, created: false }
      if ((current?.epoch ?? 0) !== expectedEpoch) {
        throw new GraphControlError(
          'epoch-conflict',
          `root ${rootSessionId} is at epoch ${current?.epoch ?? 0}, not ${expectedEpoch}`,
        )
      }
      if (current !== undefined && !(await isFinished(current.graphId))) {
        throw new GraphControlError(
          'graph-exists',
          `graph ${current.graphId} of epoch ${current.epoch} is not finished; finish it first`,
        )
      }
      try {
        await this.log.append(rootStream(rootSessionId), expectedEpoch, [{ type: 'epoch', data }])
        return { epoch: Object.freeze({ rootSessionId, epoch, graphId, createdAt: at }), created: true }
      } catch (error) {
        const raced = error instanceof DurableLogError && error.code === 'conflict'
        if (!raced || round >= MAX_ROUNDS) throw error
      }
    }
  }
}

function epochOf(rootSessionId: string, entry: StoredEntry, expected: number): GraphEpoch {
  try {
    const { epoch, graphId, at, ...data } = parseEpochEntry(entry)
    if (data.rootSessionId !== rootSessionId) throw new ShapeError('belongs to another root')
    if (epoch !== expected || entry.seq !== epoch) throw new ShapeError('is out of order')
    return Object.freeze({ rootSessionId, epoch, graphId, createdAt: at })
  } catch (error) {
    const what = error instanceof ShapeError ? error.describe() : 'unreadable'
    throw new GraphControlError(
      'quarantined',
      `the epochs of root ${rootSessionId} cannot be read: stream ${rootStream(rootSessionId)}, ` +
        `entry ${entry.seq}: ${what}`,
      { cause: error },
    )
  }
}
