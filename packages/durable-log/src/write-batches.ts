/**
 * Writes in the order of the calls, one trip to the medium at a time; appends that wait together
 * share a trip.
 *
 * Owns: the order, what goes into one trip, and that an abort takes a waiting append out at once.
 * Does not own: what a trip does, or whether it is repeated.
 *
 *     append append remove append … ──► [append append] ─► [remove] ─► [append …]
 */
import type { CheckedAppend } from './checks.ts'
import type { DurableLogError } from './errors.ts'
import { aborted } from './refusals.ts'

/** Carries appends to the medium in one transaction; tells for each one its seq or its refusal. */
export type SendAppends = (
  requests: readonly CheckedAppend[],
) => Promise<readonly (number | DurableLogError)[]>

interface WaitingAppend {
  readonly request: CheckedAppend
  readonly length: number
  readonly begin: () => void
  readonly settle: (outcome: number | DurableLogError) => void
  readonly reject: (error: unknown) => void
}

interface WaitingWrite {
  readonly request: undefined
  readonly run: () => Promise<void>
}

type Waiting = WaitingAppend | WaitingWrite

/** Bounds of one trip, which a single append may exceed. */
const MAX_APPENDS = 256
const MAX_LENGTH = 1024 * 1024

export class WriteBatches {
  private readonly send: SendAppends
  private waiting: Waiting[] = []
  private pumping: Promise<void> | undefined

  constructor(send: SendAppends) {
    this.send = send
  }

  append(request: CheckedAppend): Promise<number> {
    return new Promise<number>((resolve, reject) => {
      const { signal, stream } = request
      const onAbort = () => {
        this.waiting = this.waiting.filter((other) => other !== entry)
        reject(aborted(stream, signal?.reason))
      }
      const entry: WaitingAppend = {
        request,
        length: request.entries.reduce((sum, { data }) => sum + data.text.length, 0),
        begin: () => signal?.removeEventListener('abort', onAbort),
        settle: (outcome) => (typeof outcome === 'number' ? resolve(outcome) : reject(outcome)),
        reject,
      }
      if (signal?.aborted === true) {
        onAbort()
        return
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.push(entry)
    })
  }

  /** A write that goes alone. */
  alone<T>(run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.push({ request: undefined, run: () => run().then(resolve, reject) })
    })
  }

  /** Resolves when everything submitted so far has ended. */
  async idle(): Promise<void> {
    await this.pumping
  }

  private push(entry: Waiting): void {
    this.waiting.push(entry)
    this.pumping ??= this.pump()
  }

  private async pump(): Promise<void> {
    // Calls of the same task travel together.
    await Promise.resolve()
    while (this.waiting.length > 0) {
      const appends = this.takeAppends()
      const [next] = this.waiting
      if (appends.length > 0) await this.carry(appends)
      else if (next?.request === undefined) {
        this.waiting.shift()
        await next?.run()
      }
    }
    this.pumping = undefined
  }

  /** The appends at the front that fit into one trip. */
  private takeAppends(): WaitingAppend[] {
    const taken: WaitingAppend[] = []
    let length = 0
    for (const entry of this.waiting) {
      if (entry.request === undefined || taken.length === MAX_APPENDS) break
      length += entry.length
      if (length > MAX_LENGTH && taken.length > 0) break
      taken.push(entry)
    }
    this.waiting.splice(0, taken.length)
    return taken
  }

  private async carry(appends: readonly WaitingAppend[]): Promise<void> {
    for (const { begin } of appends) begin()
    try {
      const outcomes = await this.send(appends.map(({ request }) => request))
      for (const [index, append] of appends.entries()) append.settle(outcomes[index] ?? 0)
    } catch (error) {
      for (const { reject } of appends) reject(error)
    }
  }
}
