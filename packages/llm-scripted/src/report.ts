/** What a script was asked and what it still waits for. Vocabulary, and the texts that tell it. */
import { ScriptedLlmError, type ScriptRefusalCode } from './errors.ts'

/** A request that the script had no answer to. */
export interface UnexpectedRequest {
  readonly code: ScriptRefusalCode
  /** The session id, or a fingerprint; `#purpose` follows for an auxiliary call. */
  readonly conversation: string
  /** Absent when no track matched. */
  readonly track?: string
  /** Index of the step where the conversation stands; absent in a stateless track. */
  readonly step?: number
  readonly message: string
}

/** A step that is not optional and was not played. */
export interface UnusedStep {
  readonly track: string
  readonly step: number
  readonly name?: string
  /** The conversation that did not come to it; absent when none of the track did. */
  readonly conversation?: string
}

export interface ConversationReport {
  readonly conversation: string
  readonly track: string
  readonly requests: number
  /** The first step that may still be played; always 0 in a stateless track. */
  readonly position: number
}

export interface ScriptReport {
  /** All requests so far, the unexpected ones included. */
  readonly requests: number
  /** The first 100 of them. */
  readonly unexpected: readonly UnexpectedRequest[]
  readonly unexpectedCount: number
  /** In a track that is played in order: per conversation. In a stateless one: over all of them. */
  readonly unusedSteps: readonly UnusedStep[]
  /** In the order of their first requests; those that no track matched are not among them. */
  readonly conversations: readonly ConversationReport[]
}

const LISTED = 20

/** @throws ScriptedLlmError `unexpected-requests`, or else `unused-steps`, naming them. */
export function assertExhausted(report: ScriptReport): void {
  if (report.unexpectedCount > 0) {
    const listed = report.unexpected.slice(0, LISTED).map((request) => request.message)
    throw new ScriptedLlmError(
      'unexpected-requests',
      `${count(report.unexpectedCount, 'request')} had no answer in the script: ` +
        list(listed, report.unexpectedCount),
    )
  }
  if (report.unusedSteps.length > 0)
    throw new ScriptedLlmError('unused-steps', describeUnused(report.unusedSteps))
}

/** One sentence that names the unused steps. */
export function describeUnused(steps: readonly UnusedStep[]): string {
  const listed = steps.slice(0, LISTED).map((step) => {
    const name = step.name === undefined ? '' : ` (${step.name})`
    const conversation = step.conversation === undefined ? '' : ` in conversation ${step.conversation}`
    return `track "${step.track}" step ${step.step}${name}${conversation}`
  })
  return `${count(steps.length, 'step')} of the script never played: ${list(listed, steps.length)}`
}

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`
}

function list(listed: readonly string[], total: number): string {
  return listed.join('; ') + (total > listed.length ? `; and ${total - listed.length} more` : '')
}
