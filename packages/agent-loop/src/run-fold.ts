/**
 * The runs of one session, folded from its entries in order. Knows which entry may follow which;
 * knows no clock, no log and no agent.
 *
 *     accepted ──► running (attempt 1, 2, …) ──► ok | error | aborted | timed-out | interrupted
 *         └──────────────────────────────────────────────────────────────▲
 */
import type { AcceptedData, RunEntry, SettledData, StartedData } from './entries.ts'
import { AgentLoopError } from './errors.ts'
import type { RunState, RunView } from './types.ts'

/** How a run ended, without the times. */
export type Settlement = Omit<SettledData, 'v' | 'runId' | 'endedAt'>

export interface RunRecord {
  readonly runId: string
  readonly sessionId: string
  readonly key: string
  readonly fingerprint: string
  readonly messageId: string
  readonly acceptedAt: number
  /** Dropped at the settlement: nothing sends it again. */
  readonly request: AcceptedData['request'] | undefined
  readonly state: RunState
  /** How often the message was handed to an agent. */
  readonly attempt: number
  readonly startedAt: number | undefined
  readonly settled: Settlement | undefined
  readonly endedAt: number | undefined
}

export class RunFold {
  readonly sessionId: string
  /** Position of the newest entry folded. */
  seq = 0
  private readonly records = new Map<string, RunRecord>()
  private readonly runIdByKey = new Map<string, string>()
  private readonly openIds = new Set<string>()

  constructor(sessionId: string) {
    this.sessionId = sessionId
  }

  get(runId: string): RunRecord | undefined {
    return this.records.get(runId)
  }

  withKey(key: string): RunRecord | undefined {
    const runId = this.runIdByKey.get(key)
    return runId === undefined ? undefined : this.records.get(runId)
  }

  /** Every run, in the order of acceptance. */
  all(): Iterable<RunRecord> {
    return this.records.values()
  }

  /** Ids of the runs without a settlement, in the order of acceptance. */
  open(): readonly string[] {
    return [...this.openIds]
  }

  /**
   * Whether the entry may come next. Called before an entry is stored, so that none is ever stored
   * which the fold refuses.
   *
   * @throws `quarantined` with the rule that the entry breaks.
   */
  admit(entry: RunEntry): void {
    const known = this.records.get(entry.data.runId)
    if (entry.type === 'run/accepted') {
      if (known !== undefined) throw broken(entry, 'the run was accepted before')
      if (this.runIdByKey.has(entry.data.key)) throw broken(entry, 'its key belongs to another run')
      return
    }
    if (known === undefined) throw broken(entry, 'the run was never accepted')
    if (known.settled !== undefined) throw broken(entry, 'the run is settled')
    if (entry.type === 'run/started' && entry.data.attempt !== known.attempt + 1) {
      throw broken(entry, `attempt ${entry.data.attempt} follows attempt ${known.attempt}`)
    }
  }

  /** Folds the entry at `seq`. @throws `quarantined`, and then nothing has changed. */
  apply(entry: RunEntry, seq: number): RunRecord {
    this.admit(entry)
    const record = this.next(entry)
    this.records.set(record.runId, record)
    this.runIdByKey.set(record.key, record.runId)
    if (record.settled === undefined) this.openIds.add(record.runId)
    else this.openIds.delete(record.runId)
    this.seq = seq
    return record
  }

  private next(entry: RunEntry): RunRecord {
    if (entry.type === 'run/accepted') return accepted(this.sessionId, entry.data)
    const known = this.records.get(entry.data.runId)
    if (known === undefined) throw broken(entry, 'the run was never accepted')
    return entry.type === 'run/started' ? started(known, entry.data) : settled(known, entry.data)
  }
}

function accepted(sessionId: string, data: AcceptedData): RunRecord {
  const { runId, key, fingerprint, messageId, acceptedAt, request } = data
  return {
    runId,
    sessionId,
    key,
    fingerprint,
    messageId,
    acceptedAt,
    request,
    state: 'accepted',
    attempt: 0,
    startedAt: undefined,
    settled: undefined,
    endedAt: undefined,
  }
}

function started(record: RunRecord, { attempt, startedAt }: StartedData): RunRecord {
  return { ...record, state: 'running', attempt, startedAt }
}

function settled(record: RunRecord, data: SettledData): RunRecord {
  const { v: _version, runId: _runId, endedAt, ...settlement } = data
  return { ...record, state: settlement.state, request: undefined, settled: settlement, endedAt }
}

function broken(entry: RunEntry, why: string): AgentLoopError {
  return new AgentLoopError('quarantined', `${entry.type} of run ${entry.data.runId} does not fit: ${why}`)
}

/** What the world may know of a run. */
export function viewOf(record: RunRecord): RunView {
  const { runId, sessionId, state, acceptedAt, startedAt, endedAt, settled: end } = record
  return {
    runId,
    sessionId,
    state,
    acceptedAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(end?.turn === undefined ? {} : { turn: end.turn }),
    ...(end?.reply === undefined ? {} : { reply: end.reply }),
    ...(end?.usage === undefined ? {} : { usage: end.usage }),
    ...(end?.error === undefined ? {} : { error: end.error }),
  }
}
