/** A real log whose next appends fail on demand, before or after they were stored. */
import { DurableLogError, memoryLog, type DurableLog } from 'dsh-durable-log'

export interface FaultyLog {
  readonly log: DurableLog
  /** The next appends fail as `unavailable`; `after`: although the entry is stored. */
  failNext(times: number, when: 'before' | 'after'): void
  /** How many of them are still to come. */
  readonly left: number
}

export function faultyLog(inner: DurableLog = memoryLog()): FaultyLog {
  let left = 0
  let when: 'before' | 'after' = 'before'
  const unavailable = (): DurableLogError => new DurableLogError('unavailable', 'the medium is away')
  const log: DurableLog = {
    append: async (stream, expectedSeq, entries, options) => {
      const fails = left > 0
      if (fails) left -= 1
      if (fails && when === 'before') throw unavailable()
      const seq = await inner.append(stream, expectedSeq, entries, options)
      if (fails) throw unavailable()
      return seq
    },
    read: (stream, options) => inner.read(stream, options),
    list: (options) => inner.list(options),
    saveSnapshot: (stream, seq, snapshot) => inner.saveSnapshot(stream, seq, snapshot),
    loadSnapshot: (stream) => inner.loadSnapshot(stream),
    remove: (stream) => inner.remove(stream),
    subscribe: (prefix, listener) => inner.subscribe(prefix, listener),
    close: () => inner.close(),
  }
  return {
    log,
    get left() {
      return left
    },
    failNext: (times, mode) => {
      left = times
      when = mode
    },
  }
}
