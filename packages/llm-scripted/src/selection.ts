/** Which track plays a conversation, and which step a request. Pure. */
import { holdAll } from './patterns.ts'
import type { RequestView } from './request-view.ts'
import type { Match, Step, Track, When } from './types.ts'

/**
 * - `play`: this step answers; the conversation then stands at `next`.
 * - `blocked`: the step at `at` does not hold and may not be passed over.
 * - `exhausted`: every step was played.
 */
export type Selection =
  | { readonly kind: 'play'; readonly index: number; readonly next: number }
  | { readonly kind: 'blocked'; readonly at: number }
  | { readonly kind: 'exhausted' }

/** @param position the first step that may still be played; always 0 in a stateless track. */
export function selectStep(track: Track, position: number, request: RequestView): Selection {
  for (let index = position; index < track.steps.length; index += 1) {
    const step = track.steps[index]
    if (step === undefined) break
    if (holds(step.when, request)) return { kind: 'play', index, next: nextPosition(track, index) }
    if (!track.stateless && !step.optional && !step.repeat) return { kind: 'blocked', at: index }
  }
  return position < track.steps.length ? { kind: 'blocked', at: position } : { kind: 'exhausted' }
}

/** Why a track does not play a conversation; nothing when it does. */
export function mismatchOf(match: Match, request: RequestView): string | undefined {
  if (match.purpose !== request.purpose) return `is for ${match.purpose ?? 'ordinary requests'}`
  if (!holdAll(match.system, () => request.system)) return 'does not match the system prompt'
  if (!holdAll(match.firstUser, () => request.firstUser)) return 'does not match the first user message'
  const names = request.toolNames
  if (!match.tools.every((pattern) => names.some((name) => pattern.test(name)))) {
    return 'does not match the offered tools'
  }
  return undefined
}

/** What a step waits for, in the words of its author. */
export function describeWhen(step: Step | undefined): string {
  const when = step?.when
  if (when === undefined) return 'nothing'
  const parts = [
    ...when.lastUser.map((pattern) => `lastUser ${pattern}`),
    ...(when.lastToolResult === undefined ? [] : ['a tool result']),
    ...(when.lastToolResult?.name ?? []).map((pattern) => `named ${pattern}`),
    ...(when.lastToolResult?.text ?? []).map((pattern) => `with text ${pattern}`),
    ...when.conversation.map((pattern) => `conversation ${pattern}`),
  ]
  return parts.join(', ')
}

function nextPosition(track: Track, played: number): number {
  if (track.stateless) return 0
  return track.steps[played]?.repeat === true ? played : played + 1
}

function holds(when: When | undefined, request: RequestView): boolean {
  if (when === undefined) return true
  return (
    holdAll(when.lastUser, () => request.lastUser) &&
    holdsResult(when.lastToolResult, request) &&
    holdAll(when.conversation, () => request.conversation)
  )
}

function holdsResult(wanted: When['lastToolResult'], request: RequestView): boolean {
  if (wanted === undefined) return true
  const result = request.lastToolResult
  if (result === undefined) return false
  return holdAll(wanted.name, () => result.name) && holdAll(wanted.text, () => result.text)
}
