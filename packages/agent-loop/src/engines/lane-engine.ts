/**
 * The port of a lane engine: which of the sessions that wait gets the next slot of a global lane. A
 * session waits as a whole; what it runs when its turn comes is its own queue's to say, so that a
 * cancel or a placement in front still counts at the last moment.
 *
 * `embedded-lanes.ts` serves one host from memory, `pg-boss-lanes.ts` several hosts on one database.
 * Both pass `laneEngineContract` of `dsh-agent-loop-host/testing`.
 */
import type { SqlWork } from 'dsh-durable-log'
import { type Level, RingNode } from './lane-ring.ts'

export type { Level } from './lane-ring.ts'

/** A session that may wait; has room for the embedded engine's links. */
export class LaneSeat extends RingNode {
  /** Of the session. */
  readonly id: string

  constructor(id: string) {
    super()
    this.id = id
  }
}

/** A turn that a session waits for. */
export interface LaneWish {
  readonly lane: string
  readonly level: Level
}

/** What is stored in one transaction with entries of the log. */
export interface Companion {
  readonly work: SqlWork
  /** Called once it is stored. */
  readonly stored: () => void
}

/** What an engine of several hosts tells its own. */
export interface LaneEngineEvents {
  /** `next` may have something. Called outside of every call to the engine. */
  readonly stirred: () => void
  /**
   * A session's turn has come here, which waits for none as far as this host knows. Resolves when the
   * host has read what it has to run; then it waits, or its turn passes.
   */
  readonly summoned: (sessionId: string) => Promise<void>
  /** The turn of a session was given to another host, since this one gave no sign of life. */
  readonly lost: (sessionId: string) => void
  readonly warn: (text: string) => void
}

/** Methods are synchronous and throw nothing; what has to be stored is stored behind them. */
export interface LaneEngine {
  /** Whether other hosts may be given a session's turn: then a session that falls busy has to be told to them. */
  readonly isShared: boolean
  /** This host among those that share the lanes. */
  readonly hostId?: string
  connect(events: LaneEngineEvents): void
  /** The session waits for a turn. Said again, it replaces what was said and keeps the time since when. */
  want(seat: LaneSeat, wish: LaneWish, now: number): void
  /** It waits no more. */
  unwant(seat: LaneSeat): void
  /** The session whose turn it is, which holds a slot of its lane until `finish`. */
  next(now: number): LaneSeat | undefined
  /** Whether `next` may have something that it had not before. */
  readonly isStirred: boolean
  /** The turn that `next` gave is over. What the session wants then, it says afterwards. */
  finish(seat: LaneSeat): void
  /** Whether a session that began to wait now would be `next` at once. */
  hasRoom(lane: string): boolean
  /** From now on nobody gets a turn here; turns under way go on. */
  pause(): void
  /**
   * What is stored with the acceptance that makes a session busy which had nothing to run, so that no
   * crash lies between them. Only of a shared engine.
   *
   * @param host the only one that may be given the turn while it lives.
   */
  summons?(sessionId: string, wish: LaneWish, host: string | undefined): Companion
  /** Something has happened on another host. */
  nudge(): void
  /** Resolves when nothing is under way; turns that were not finished pass to other hosts. Idempotent. */
  close(): Promise<void>
}
