/**
 * Sends replies one after the other. A block that cannot be sent, or takes too long, ends the blocks: what
 * follows would come out of order. The final then says again whatever is not known to have arrived.
 */
import { systemClock, type Clock } from '../clock.ts'
import type { Reply, ReplyPayload } from './types.ts'

export interface DeliverOptions {
  /** Sends one payload; a rejection means that it may not have arrived. */
  readonly send: (payload: ReplyPayload, signal: AbortSignal) => Promise<unknown>
  /** How long a block may take, milliseconds; default 15,000. A payload of the final takes what it takes. */
  readonly blockTimeoutMs?: number
  /** Told when the blocks end early. */
  readonly onBlocksEnded?: (error: unknown) => void
  readonly clock?: Clock
}

const DEFAULT_TIMEOUT_MS = 15_000

/** @throws what `send` rejects with for a payload of a final; earlier ones have been sent. */
export async function deliverReplies(replies: AsyncIterable<Reply>, options: DeliverOptions): Promise<void> {
  const runs = new Map<string, Blocks>()
  for await (const reply of replies) {
    const blocks = runs.get(reply.runId) ?? new Blocks(options)
    runs.set(reply.runId, blocks)
    if (reply.kind === 'block') await blocks.send(reply.payload)
    if (reply.kind !== 'final') continue
    runs.delete(reply.runId)
    const { signal } = new AbortController()
    for (const payload of blocks.left(reply)) await options.send(payload, signal)
  }
}

/** The blocks of one run. */
class Blocks {
  private readonly options: DeliverOptions
  /** Payloads of which some part may not have arrived. */
  private readonly doubtful = new Set<string>()
  private isEnded = false

  constructor(options: DeliverOptions) {
    this.options = options
  }

  async send(payload: ReplyPayload): Promise<void> {
    if (!this.isEnded && (await this.attempt(payload))) return
    this.isEnded = true
    this.doubtful.add(nameOf(payload))
  }

  /** What the final has to send, in order. */
  left({ payloads, all }: Extract<Reply, { kind: 'final' }>): readonly ReplyPayload[] {
    if (this.doubtful.size === 0) return payloads
    const byName = new Map(payloads.map((payload) => [nameOf(payload), payload]))
    return all.flatMap((payload) => {
      const name = nameOf(payload)
      return this.doubtful.has(name) ? [payload] : (byName.get(name) ?? [])
    })
  }

  private async attempt(payload: ReplyPayload): Promise<boolean> {
    const { send, blockTimeoutMs = DEFAULT_TIMEOUT_MS, clock = systemClock, onBlocksEnded } = this.options
    const abort = new AbortController()
    const timedOut = Promise.withResolvers<never>()
    const disarm = clock.after(blockTimeoutMs, () => {
      const error = new Error(`a block was not sent within ${blockTimeoutMs} ms`)
      timedOut.reject(error)
      abort.abort(error)
    })
    try {
      await Promise.race([send(payload, abort.signal), timedOut.promise])
      return true
    } catch (error) {
      onBlocksEnded?.(error)
      return false
    } finally {
      disarm()
    }
  }
}

/** Notes of several calls of one message differ in their text. */
function nameOf({ kind, message, text }: ReplyPayload): string {
  return kind === 'tool' ? `tool ${message} ${text}` : `${kind} ${message}`
}
