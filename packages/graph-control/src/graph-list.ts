/**
 * The graphs of a root that are no epochs: registered under an id of the caller's, in the stream
 * `graphs/<rootSessionId>`. Epochs have a stream of their own (epochs).
 */
import { type DurableLog, DurableLogError } from 'dsh-durable-log'
import { GraphControlError } from './errors.ts'
import { id, position } from './request-shapes.ts'
import { object, oneOf, ShapeError } from './shape.ts'

const registered = object({ v: oneOf(1), at: position, graphId: id })

export function registeredStream(rootSessionId: string): string {
  return `graphs/${rootSessionId}`
}

export class GraphList {
  private readonly log: DurableLog

  constructor(log: DurableLog) {
    this.log = log
  }

  /** Ids in order of registration, other processes' included. */
  async list(rootSessionId: string): Promise<readonly string[]> {
    const stream = registeredStream(rootSessionId)
    return (await this.log.read(stream)).map((entry) => {
      try {
        if (entry.type !== 'graph') throw new ShapeError('is of an unknown kind')
        return registered(entry.data).graphId
      } catch (error) {
        const what = error instanceof ShapeError ? error.describe() : 'unreadable'
        throw new GraphControlError(
          'quarantined',
          `the graphs of root ${rootSessionId} cannot be read: stream ${stream}, entry ${entry.seq}: ${what}`,
          { cause: error },
        )
      }
    })
  }

  /** Adds a graph unless it is there; two who add the same one at once add it once. */
  async add(rootSessionId: string, graphId: string, at: number): Promise<void> {
    const entry = { type: 'graph', data: { v: 1, at, graphId } }
    for (;;) {
      const known = await this.list(rootSessionId)
      if (known.includes(graphId)) return
      try {
        await this.log.append(registeredStream(rootSessionId), known.length, [entry])
        return
      } catch (error) {
        if (!(error instanceof DurableLogError) || error.code !== 'conflict') throw error
      }
    }
  }
}
