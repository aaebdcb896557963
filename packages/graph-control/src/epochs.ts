/**
 * The epochs of a root session: its graphs, numbered from 1, in the stream `root/<rootSessionId>`.
 *
 * Owns: the root streams. Does not own: graphs; whether the current one is finished is asked for.
 */
import { type DurableLog, DurableLogError } from 'dsh-durable-log'
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
    const stream = rootStream(rootSessionId)
    const before = this.known.get(rootSessionId) ?? []
    const entries = await this.log.read(stream, { afterSeq: before.length })
    const added = entries.map((entry, index) => {
      try {
        const { epoch, graphId, at, ...data } = parseEpochEntry(entry)
        if (data.rootSessionId !== rootSessionId) throw new ShapeError('belongs to another root')
        if (epoch !== before.length + index + 1 || entry.seq !== epoch)
          throw new ShapeError('is out of order')
        return Object.freeze({ rootSessionId, epoch, graphId, createdAt: at })
      } catch (error) {
        const what = error instanceof ShapeError ? error.describe() : 'unreadable'
        throw new GraphControlError(
          'quarantined',
          `the epochs of root ${rootSessionId} cannot be read: stream ${stream}, entry ${entry.seq}: ${what}`,
          { cause: error },
        )
      }
    })
    if (added.length === 0) return before
    const epochs = Object.freeze([...before, ...added])
    if (epochs.length > (this.known.get(rootSessionId)?.length ?? 0)) this.known.set(rootSessionId, epochs)
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
