/** One run as its entries tell it, how each entry changes it, and what the world may know of it. Pure. */
import type { AcceptedData, DeferredData, SettledData, StartedData } from './entries.ts'
import type { StoredRequest } from './request-schemas.ts'
import type { RunPayload, RunResult, RunState, RunView } from './types.ts'

/** How a run ended, without the times. */
export type Settlement = Omit<SettledData, 'v' | 'runId' | 'endedAt'>

/** Earlier messages that the turn of a run tells about in short. */
export interface Digest {
  readonly count: number
  /** One line each, the newest last. */
  readonly previews: readonly string[]
}

export interface RunRecord {
  readonly runId: string
  readonly sessionId: string
  readonly key: string
  readonly fingerprint: string
  readonly messageId: string
  readonly acceptedAt: number
  /** The global lane it was accepted for. */
  readonly lane: string
  /** Dropped at the settlement: nothing sends it again. */
  readonly request: StoredRequest | undefined
  /** Never `queued`: a queue is where a process has it. */
  readonly state: RunState
  /** How often the message was handed to an agent. */
  readonly attempt: number
  readonly via: 'turn' | 'steer'
  readonly startedAt: number | undefined
  /** The run in whose turn this one's message is told. */
  readonly leader: string | undefined
  /** Runs whose messages are told in this one's turn. */
  readonly members: readonly string[]
  /** How many earlier runs with its supersede key it replaced. */
  readonly superseded: number
  /** Messages dropped from the queue that its turn tells about. */
  readonly digest: Digest | undefined
  /** How often its message could not be handed over. */
  readonly failures: number
  readonly retryAt: number | undefined
  /** A copy of its message went into an open turn. */
  readonly echoed: boolean
  readonly settled: Settlement | undefined
  readonly endedAt: number | undefined
  /** The result was retained for its time and is forgotten. */
  readonly isForgotten: boolean
}

export function accepted(sessionId: string, data: AcceptedData, superseded: number): RunRecord {
  const { runId, key, fingerprint, messageId, acceptedAt, request } = data
  return {
    runId,
    sessionId,
    key,
    fingerprint,
    messageId,
    acceptedAt,
    lane: request.lane,
    request,
    state: 'accepted',
    attempt: 0,
    via: 'turn',
    startedAt: undefined,
    leader: undefined,
    members: [],
    superseded,
    digest: undefined,
    failures: 0,
    retryAt: undefined,
    echoed: false,
    settled: undefined,
    endedAt: undefined,
    isForgotten: false,
  }
}

export function started(record: RunRecord, data: StartedData, digest: Digest | undefined): RunRecord {
  const { attempt, startedAt, via, members = [] } = data
  const told = record.digest ?? digest
  return { ...record, state: 'running', attempt, via, startedAt, members, digest: told, retryAt: undefined }
}

/** The run is told in the turn of another one. */
export function joined(record: RunRecord, leader: string, startedAt: number): RunRecord {
  const attempt = record.attempt + 1
  return { ...record, state: 'running', attempt, startedAt, leader, retryAt: undefined }
}

export function deferred(record: RunRecord, { retryAt }: DeferredData): RunRecord {
  return { ...record, state: 'accepted', failures: record.failures + 1, retryAt }
}

export function settled(record: RunRecord, data: SettledData): RunRecord {
  const { v: _version, runId: _runId, endedAt, ...settlement } = data
  return {
    ...record,
    state: settlement.state,
    request: undefined,
    digest: undefined,
    settled: settlement,
    endedAt,
  }
}

/** The run without its result; that it was accepted and how it ended stays known. */
export function forgotten(record: RunRecord): RunRecord {
  if (record.settled === undefined) return record
  const { state, error, turn, stopReason } = record.settled
  const kept: Settlement = {
    state,
    ...(error === undefined ? {} : { error }),
    ...(turn === undefined ? {} : { turn }),
    ...(stopReason === undefined ? {} : { stopReason }),
  }
  return { ...record, settled: kept, isForgotten: true }
}

/** Whether it waits in a queue and nothing of it was handed over. */
export function isPending(record: RunRecord): boolean {
  return (
    record.settled === undefined &&
    record.attempt === 0 &&
    record.failures === 0 &&
    record.leader === undefined
  )
}

/** What the world may know of a run. */
export function viewOf(record: RunRecord): RunView {
  const { runId, sessionId, state, acceptedAt, startedAt, endedAt, settled: end } = record
  const result = resultOf(record)
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
    ...(result === undefined ? {} : { result }),
  }
}

function resultOf(record: RunRecord): RunResult | undefined {
  const { settled: end, endedAt, startedAt } = record
  if (end === undefined || endedAt === undefined || record.isForgotten) return undefined
  return {
    payloads: payloadsOf(end),
    durationMs: startedAt === undefined ? 0 : Math.max(0, endedAt - startedAt),
    stopReason: end.stopReason ?? end.error?.code ?? (end.state === 'ok' ? 'completed' : end.state),
    ...(end.usage === undefined ? {} : { usage: end.usage }),
    ...(end.prompt === undefined ? {} : { prompt: promptOf(end.prompt) }),
  }
}

function promptOf(prompt: NonNullable<Settlement['prompt']>): NonNullable<RunResult['prompt']> {
  const { model, effort, ...sizes } = prompt
  return {
    ...sizes,
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
  }
}

/** What a run had to say, in order. */
export function payloadsOf({ payloads, reply, error }: Settlement): readonly RunPayload[] {
  if (payloads !== undefined) {
    return payloads.map(({ kind, text, images }) => ({
      kind,
      text,
      ...(images === undefined ? {} : { images }),
    }))
  }
  return [
    ...(error === undefined ? [] : [{ kind: 'error' as const, text: error.message }]),
    ...(reply === undefined ? [] : [{ kind: 'answer' as const, text: reply }]),
  ]
}
