/**
 * How runs end: from the reason a turn closed for, from a stop of ours, or from a failure before any
 * turn. Pure tables; writing the settlement down is the host's.
 */
import type { PassedLimit } from './deadline.ts'
import type { TurnEndReason } from '@deepseek-ai/dsh-session'
import type { Settlement } from './run-record.ts'

const MAX_CODE = 100
const MAX_TEXT = 10_000

/** The part of a settlement that a cause decides; reply and usage come from the session. */
export type Ending = Pick<Settlement, 'state' | 'error' | 'stopReason'>

/** Why we end a run before its turn did. */
export type Stop =
  | { readonly kind: 'abort'; readonly cause: string | undefined }
  | { readonly kind: 'interrupt'; readonly by: string }
  | PassedLimit

/** Stands for the end of a turn that the session log does not have. */
export const LOST_TURN: TurnEndReason = {
  kind: 'error',
  error: { code: 'turn-lost', message: 'the turn ended without a word of how' },
}

/** The ending of a run whose turn closed for this reason. */
export function endingOfTurn(reason: TurnEndReason): Ending {
  return { ...endingOf(reason), stopReason: reason.kind }
}

function endingOf(reason: TurnEndReason): Ending {
  switch (reason.kind) {
    case 'completed':
      return { state: 'ok' }
    case 'error':
      return {
        state: 'error',
        error: { code: reason.error.code || 'UNKNOWN', message: reason.error.message },
      }
    case 'aborted':
      if (reason.reason.kind === 'disposed') return interrupted('the agent was disposed while the turn ran')
      if (isTakenOver(reason)) return interrupted(TAKEN_OVER.reason)
      return aborted(
        reason.reason.kind === 'hook'
          ? `the turn was cancelled: ${reason.reason.reason}`
          : `the turn was cancelled by ${reason.reason.kind}`,
      )
    case 'interrupted':
      return interrupted('the process ended while the turn ran')
    case 'blocked':
      return problem('blocked', 'a hook refused the step')
    case 'max-tokens':
      return problem('max-tokens', 'the answer reached the output token limit')
    default:
      return unknownEnd(reason)
  }
}

/** Why the host itself cancels a turn whose session is not its own any more. */
export const TAKEN_OVER = { kind: 'hook', reason: 'another process has taken the session over' } as const

function isTakenOver(reason: TurnEndReason): boolean {
  return (
    reason.kind === 'aborted' &&
    reason.reason.kind === TAKEN_OVER.kind &&
    reason.reason.reason === TAKEN_OVER.reason
  )
}

/** Whether nobody wanted the turn to end: its process did, or lost its session. */
export function isCutOff(reason: TurnEndReason): boolean {
  if (reason.kind === 'interrupted') return true
  return reason.kind === 'aborted' && (reason.reason.kind === 'disposed' || isTakenOver(reason))
}

/** Plugins may add endings of their own. */
function unknownEnd(reason: { readonly kind: string }): Ending {
  return problem(reason.kind, `the turn ended as "${reason.kind}"`)
}

function aborted(message: string): Ending {
  return { state: 'aborted', error: { code: 'aborted', message: message.slice(0, MAX_TEXT) } }
}

export function interrupted(message: string): Ending {
  return { state: 'interrupted', error: { code: 'interrupted', message } }
}

/** The ending of a run that we stopped. */
export function endingOfStop(stop: Stop): Ending {
  switch (stop.kind) {
    case 'abort':
      return aborted(stop.cause ?? 'the run was aborted')
    case 'interrupt':
      return aborted(`a message that interrupts came (run ${stop.by})`)
    case 'deadline':
      return timedOut('run-timeout', `the run passed its deadline of ${stop.timeoutMs} ms`)
    case 'idle':
      return timedOut('run-idle', `the run made no progress for ${stop.idleTimeoutMs} ms`)
  }
}

/** The ending of a run that nobody wanted any more by the time its turn came. */
export function expired(expiresAt: number): Ending {
  return timedOut('expired', `the run was still queued at ${new Date(expiresAt).toISOString()}`)
}

function timedOut(code: string, message: string): Ending {
  return { state: 'timed-out', error: { code, message } }
}

/** The ending of a run that failed outside any turn. */
export function failed(code: string, error: unknown): Ending {
  return problem(code, error instanceof Error ? error.message : String(error))
}

/** Codes and texts come from providers and plugins, so neither is trusted to be short. */
function problem(code: string, message: string): Ending {
  return {
    state: 'error',
    error: { code: code.slice(0, MAX_CODE) || 'UNKNOWN', message: message.slice(0, MAX_TEXT) },
  }
}
