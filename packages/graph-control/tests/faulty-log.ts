/** A log whose chosen append fails, before it is written or after; everything else passes through. */
import { type DurableLog, DurableLogError, type Entry } from 'dsh-durable-log'

export interface Fault {
  /** Counted over all appends, from 1. */
  readonly append: number
  readonly when: 'before' | 'after'
}

export interface FaultyLog extends DurableLog {
  /** How many appends were asked for. */
  readonly appends: number
}

export function faultyLog(log: DurableLog, fault?: Fault): FaultyLog {
  let appends = 0
  const lost = () => new DurableLogError('unavailable', 'the medium went away during the write')
  return {
    get appends() {
      return appends
    },
    async append(stream: string, expectedSeq: number | 'any', entries: readonly Entry[]) {
      appends += 1
      const hit = fault?.append === appends
      if (hit && fault.when === 'before') throw lost()
      const seq = await log.append(stream, expectedSeq, entries)
      if (hit) throw lost()
      return seq
    },
    read: (...args) => log.read(...args),
    list: (...args) => log.list(...args),
    saveSnapshot: (...args) => log.saveSnapshot(...args),
    loadSnapshot: (...args) => log.loadSnapshot(...args),
    subscribe: (...args) => log.subscribe(...args),
    close: () => log.close(),
  }
}
