/**
 * What outlives the simulated processes: the log and the stored sessions, both in memory. A process gets
 * views of them that end with its life.
 */
import type { SessionEvent, SessionHeader } from '@deepseek-ai/dsh-session'
import { leaseStore, memoryLog, systemProcesses, type DurableLog } from 'dsh-durable-log'
import type { Life } from './life.ts'

const LEASES = 'lease/'

/** A session as it is stored: JSON, so that nobody shares an object with a process that is gone. */
export interface StoredSession {
  readonly header: SessionHeader
  readonly events: string[]
}

export class Home {
  readonly log: DurableLog = memoryLog()
  readonly sessions = new Map<string, StoredSession>()

  /** The holder of every lease is seen to be dead, as the next process sees of one that was killed. */
  async dropLeases(): Promise<void> {
    const processes = { self: systemProcesses().self, stateOf: () => 'dead' as const }
    const store = leaseStore({ log: this.log, ttlMs: 1_000, processes })
    const { streams } = await this.log.list({ prefix: LEASES, limit: 100 })
    for (const { stream } of streams) {
      const lease = await store.acquire(stream.slice(LEASES.length))
      await lease.release()
    }
  }

  storedEvents(sessionId: string): readonly SessionEvent[] {
    return (this.sessions.get(sessionId)?.events ?? []).map((line) => JSON.parse(line) as SessionEvent)
  }

  logFor(life: Life): DurableLog {
    const { log } = this
    return {
      append: (...call) => life.write(() => log.append(...call)),
      read: (...call) => life.during(() => log.read(...call)),
      list: (...call) => life.during(() => log.list(...call)),
      saveSnapshot: (...call) => life.write(() => log.saveSnapshot(...call)),
      loadSnapshot: (...call) => life.during(() => log.loadSnapshot(...call)),
      remove: (...call) => life.write(() => log.remove(...call)),
      subscribe: (prefix, listener) =>
        log.subscribe(prefix, (head) => {
          if (!life.isOver) listener(head)
        }),
      // The next process goes on with it.
      close: () => Promise.resolve(),
    }
  }
}
