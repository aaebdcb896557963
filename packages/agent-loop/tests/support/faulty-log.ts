/** A real log whose next appends fail on demand, before or after they were stored. */
import { DurableLogError, memoryLog, type DurableLog } from 'dsh-durable-log'

/** A log that takes nothing for streams of this prefix while it is away. */
export function partlyAway(prefix: string, inner: DurableLog = memoryLog()) {
  const state = { isAway: false }
  const log: DurableLog = {
    ...faultyLog(inner).log,
    append: async (stream, expectedSeq, entries, options) => {
      if (state.isAway && stream.startsWith(prefix)) {
        throw new DurableLogError('unavailable', 'the medium is away')
      }
      return await inner.append(stream, expectedSeq, entries, options)
    },
  }
  return { log, state }
}

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
