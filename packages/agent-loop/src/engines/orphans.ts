/**
 * Sessions that have something to run and wait for no turn on any host, as after a crash between two
 * steps, or when a job was lost: they are asked for again, rarely while nobody can make use of it.
 */
import type { BossJobs, Summons } from './boss-jobs.ts'
import type { LaneWish } from './lane-engine.ts'

/** Between two times that a session is asked for, at first and at most. */
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 300_000

interface Orphan {
  readonly since: number
  pauseMs: number
  nextAt: number
}

export class Orphans {
  private readonly jobs: Pick<BossJobs, 'without'>
  private readonly known = new Map<string, Orphan>()

  constructor(jobs: Pick<BossJobs, 'without'>) {
    this.jobs = jobs
  }

  /** Somebody was given its turn. */
  forget(sessionId: string): void {
    this.known.delete(sessionId)
  }

  /** @param open sessions with something to run, of which no turn is known here. */
  async dueAmong(
    open: ReadonlyMap<string, LaneWish>,
    now: number,
  ): Promise<readonly Omit<Summons, 'host'>[]> {
    for (const sessionId of this.known.keys()) if (!open.has(sessionId)) this.known.delete(sessionId)
    if (open.size === 0) return []
    const due: Omit<Summons, 'host'>[] = []
    const alone = new Set(await this.jobs.without([...open.keys()]))
    for (const [sessionId, wish] of open) {
      if (!alone.has(sessionId)) continue
      const orphan = this.known.get(sessionId)
      // One that is seen the first time may be on its way from one step to the next.
      if (orphan === undefined)
        this.known.set(sessionId, { since: now, pauseMs: FIRST_PAUSE_MS, nextAt: now + 1 })
      else if (now >= orphan.nextAt) {
        due.push({ sessionId, ...wish, since: orphan.since })
        orphan.pauseMs = Math.min(LONGEST_PAUSE_MS, orphan.pauseMs * 2)
        orphan.nextAt = now + orphan.pauseMs
      }
    }
    return due
  }
}
