/**
 * Where a session is at home among the hosts on one log, and which of its runs are this host's to take up.
 * With the lanes of one host alone, a run belongs to the process that accepted it.
 */
import type { Companion, LaneEngine, LaneWish } from './engines/lane-engine.ts'
import { levelOf, type LaneBook } from './lane-book.ts'
import type { Lanes } from './lanes.ts'
import type { RunLedger } from './ledger.ts'
import type { Openers } from './openers.ts'
import type { OvertakenAgents } from './overtaken-agents.ts'
import type { CheckedRunRequest } from './request.ts'
import type { RunRecord } from './run-record.ts'
import type { SessionLeases } from './session-lease.ts'

/** Its sessions are opened by whoever asks for their runs; a host that asks again after a crash has them now. */
const ASKERS_LANE = 'subagent'

export interface SessionHomesPorts {
  readonly book: LaneBook
  readonly engine: LaneEngine
  readonly lanes: Lanes
  readonly leases: SessionLeases
  readonly ledger: RunLedger
  readonly openers: Openers
  readonly overtaken: OvertakenAgents
}

export class SessionHomes {
  private readonly ports: SessionHomesPorts

  constructor(ports: SessionHomesPorts) {
    this.ports = ports
  }

  /** The only host that may run a session as long as that host lives: where its agent is, or else was. */
  homeOf(sessionId: string, lane: string): string | undefined {
    const { engine, ledger, openers, overtaken } = this.ports
    const isLive = openers.live(sessionId) !== undefined && !overtaken.has(sessionId)
    if (lane === ASKERS_LANE || isLive) return engine.hostId
    return ledger.stream(sessionId).fold.host
  }

  /** Sessions with open runs, and what the first of them waits for. */
  *openSessions(): Generator<{ readonly sessionId: string; readonly wish: LaneWish }, void> {
    const { ledger, book } = this.ports
    for (const { fold, quarantined } of ledger.all()) {
      const [first] = fold.openCount > 0 && quarantined === undefined ? fold.open() : []
      const run = first === undefined ? undefined : fold.get(first)
      if (run === undefined) continue
      yield {
        sessionId: fold.sessionId,
        wish: { lane: book.laneOf(run), level: levelOf(run.request?.priority) },
      }
    }
  }

  /** What tells other hosts that a session, at rest until now, has something to run. */
  summonsOf({ sessionId, asked }: CheckedRunRequest, name: string): Companion | undefined {
    const { book, engine } = this.ports
    const lane = book.keyOf(name, sessionId)
    return engine.summons?.(sessionId, { lane, level: levelOf(asked.priority) }, this.homeOf(sessionId, lane))
  }

  /**
   * Whether a run that was asked for here is taken up here. Where other hosts may run it, too, it is when
   * the session is here, or when nobody else knows of it.
   */
  isOurs({ sessionId, lane }: RunRecord, isNew: boolean, isSummoned: boolean): boolean {
    if (!this.ports.engine.isShared || isSummoned) return isNew
    // Another host may have stored it while it was on its way here, too; then nobody told this one.
    return lane === ASKERS_LANE || this.isHere(sessionId)
  }

  /** Whether a run that another process accepted is taken up here. */
  takesFromOthers(sessionId: string): boolean {
    const { engine, leases } = this.ports
    return engine.isShared ? this.isHere(sessionId) : leases.epoch(sessionId) !== undefined
  }

  private isHere(sessionId: string): boolean {
    const { lanes, leases, openers } = this.ports
    return (
      leases.epoch(sessionId) !== undefined ||
      openers.live(sessionId) !== undefined ||
      lanes.isBusy(sessionId)
    )
  }
}
