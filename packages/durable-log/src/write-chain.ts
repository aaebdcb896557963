/**
 * Writes one after the other, for a medium that does not order them itself.
 *
 * Owns: that a write begins when the one before it has ended, well or not, and that an abort takes a
 * waiting write out at once. Does not own: what a write does.
 */
import { aborted } from './refusals.ts'

export interface ChainedWrite<T> {
  readonly stream: string
  readonly signal: AbortSignal | undefined
  readonly run: () => Promise<T>
}

export class WriteChain {
  private tail: Promise<void> = Promise.resolve()

  /** Settles as the write does; rejects with `aborted` when the signal fires before it began. */
  submit<T>({ stream, signal, run }: ChainedWrite<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let isGone = false
      const onAbort = () => {
        isGone = true
        reject(aborted(stream, signal?.reason))
      }
      if (signal?.aborted === true) {
        onAbort()
        return
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.tail = this.tail.then(() => {
        signal?.removeEventListener('abort', onAbort)
        return isGone ? undefined : run().then(resolve, reject)
      })
    })
  }

  /** Resolves when everything submitted so far has ended. */
  idle(): Promise<void> {
    return this.tail
  }
}
