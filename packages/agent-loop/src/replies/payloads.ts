/**
 * What a run has to say to a person, in order: the error, a line for each tool call, the reasoning, the
 * answers, and the failure of a tool when there is nothing else. Pure.
 */
import type { EventBlock, LifecycleData } from '../streams/types.ts'
import type { Receipts } from './receipts.ts'
import { failureText, type ToolFailure } from './tool-notes.ts'
import type { ReplyPayload } from './types.ts'

/** All that a run said, as far as it counts: what a repeated request took back is not here. */
export interface RunTale {
  readonly end: Exclude<LifecycleData, { phase: 'start' }>
  readonly toolNotes: readonly ReplyPayload[]
  readonly reasoning: readonly ReplyPayload[]
  readonly answers: readonly ReplyPayload[]
  readonly receipts: Receipts
  readonly failure: ToolFailure | undefined
}

/** Ends that a person wanted, or that another run speaks about. */
const QUIET_ENDS = new Set(['aborted', 'superseded'])

export function shapePayloads(tale: RunTale): readonly ReplyPayload[] {
  const error = errorOf(tale.end)
  const answers = tale.answers.flatMap((payload) => {
    const isEcho = error !== undefined && payload.text.trim() === error.text && payload.images.length === 0
    return isEcho ? [] : (tale.receipts.strip(payload) ?? [])
  })
  const payloads = [...(error === undefined ? [] : [error]), ...tale.toolNotes, ...tale.reasoning, ...answers]
  const isQuiet = tale.end.phase === 'error' && error === undefined
  const isSpeechless = !isQuiet && error === undefined && answers.length === 0 && tale.receipts.isEmpty
  if (!isSpeechless || tale.failure === undefined) return payloads
  return [...payloads, payloadOf('error', tale.failure.message, failureText(tale.failure))]
}

export function payloadOf(
  kind: ReplyPayload['kind'],
  message: number,
  text: string,
  images: readonly EventBlock[] = [],
): ReplyPayload {
  return { kind, message, text, images }
}

function errorOf(end: RunTale['end']): ReplyPayload | undefined {
  if (end.phase === 'end' || QUIET_ENDS.has(end.state)) return undefined
  return payloadOf('error', 0, end.error.message.trim())
}
