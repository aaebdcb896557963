/** What the model is given and what it tells: a cell is the hosts of one database. Times are milliseconds. */

/** Mean times of one piece of work. */
export interface ServiceTimes {
  /** Cores of the database: a trip of appends, and each append in it. */
  readonly dbTrip: number
  readonly dbAppend: number
  readonly dbNotify: number
  /** A poll for news, and each stream that it finds changed. */
  readonly dbPoll: number
  readonly dbPollRow: number
  /** Until a commit is on the disk. */
  readonly sync: number
  /** What a round trip takes besides, without using anything. */
  readonly wire: number
  /** A host's thread: each append with all that leads to it, each trip, each poll and its rows. */
  readonly hostAppend: number
  readonly hostTrip: number
  readonly hostPoll: number
  readonly hostPollRow: number
}

export interface Cell {
  readonly times: ServiceTimes
  readonly hosts: number
  readonly sessionsPerHost: number
  /** Appends of a turn before and after the wait for the model. */
  readonly appendsBefore: number
  readonly appendsAfter: number
  readonly waitMs: number
  /** Between a turn of a session and its next one. */
  readonly pauseMs: number
  /** Cores of the database. */
  readonly cores: number
  /** All hosts run on those cores, too: a cell on one machine. */
  readonly onOneMachine: boolean
  /** How waits, pauses and services are spread around their means. */
  readonly spread: 'constant' | 'exponential'
  readonly warmUpMs: number
  readonly windowMs: number
  readonly seed: number
}

export interface Outcome {
  readonly turnsPerSecond: number
  readonly appendsPerSecond: number
  /** Share of the cores of the database that was in use, with the hosts where they are on them. */
  readonly coresUsed: number
  /** Of that, what polls for news took. */
  readonly coresUsedByNews: number
  /** From an append's call to its end. */
  readonly appendMs: { readonly p50: number; readonly p95: number }
}
