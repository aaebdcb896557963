/**
 * Plays a script: binds conversations to tracks, keeps their positions and captured values, and decides
 * what each request is answered. Synchronous, so that requests that run side by side never see half a
 * decision. Does not stream, wait or log.
 */
import { composeAnswer, type Answer } from './answer.ts'
import { takeCaptures } from './captures.ts'
import { ScriptedLlmError, type ScriptRefusalCode } from './errors.ts'
import { quote } from './problems.ts'
import type { ConversationReport, ScriptReport, UnexpectedRequest, UnusedStep } from './report.ts'
import type { RequestView } from './request-view.ts'
import { describeWhen, mismatchOf, selectStep, type Selection } from './selection.ts'
import type { Captures } from './templates.ts'
import type { Script, Step, Track } from './types.ts'

/** What a request is answered. */
export type Cue =
  | { readonly kind: 'play'; readonly step: Step; readonly answer: Answer }
  | { readonly kind: 'refuse'; readonly refusal: UnexpectedRequest }

interface Conversation {
  readonly key: string
  readonly track: Track
  readonly played: Set<number>
  position: number
  captures: Captures
  requests: number
  /** The number in the newest tool call id. */
  calls: number
}

const CALL_ID = 'scripted-call-'
const KEPT_REFUSALS = 100
const SHOWN_CHARS = 200
const SHOWN_NAMES = 20

export class ScriptPlayer {
  private readonly script: Script
  private readonly conversations = new Map<string, Conversation>()
  private readonly byTrack = new Map<Track, Conversation[]>()
  private readonly refusals: UnexpectedRequest[] = []
  private refused = 0
  private requests = 0

  constructor(script: Script) {
    this.script = script
    for (const track of script.tracks) this.byTrack.set(track, [])
  }

  /** Answers one request. The conversation moves on only when the answer could be made whole. */
  next(request: RequestView): Cue {
    this.requests += 1
    const key = request.key
    const conversation = this.conversations.get(key) ?? this.bind(key, request)
    if (conversation === undefined)
      return this.refuse('SCRIPT_UNEXPECTED_REQUEST', this.noTrack(key, request), key)
    conversation.requests += 1
    const { track } = conversation
    const selection = selectStep(track, conversation.position, request)
    const step = selection.kind === 'play' ? track.steps[selection.index] : undefined
    if (selection.kind !== 'play' || step === undefined) {
      const message = notPlayed(conversation, selection, request)
      return this.refuse('SCRIPT_UNEXPECTED_REQUEST', message, key, conversation)
    }
    try {
      const captures = takeCaptures(step.captures, request, conversation.captures)
      let calls = Math.max(conversation.calls, request.callsMade(CALL_ID))
      const answer = composeAnswer(step, captures, () => `${CALL_ID}${(calls += 1)}`)
      conversation.played.add(selection.index)
      Object.assign(conversation, { captures, calls, position: selection.next })
      return { kind: 'play', step, answer }
    } catch (error) {
      if (!(error instanceof ScriptedLlmError)) throw error
      const code = error.code === 'capture-failed' ? 'SCRIPT_CAPTURE_FAILED' : 'SCRIPT_UNKNOWN_CAPTURE'
      const place = `${placeOf(track, selection.index)} of conversation ${key}`
      return this.refuse(code, `${place}: ${error.message}`, key, conversation)
    }
  }

  report(): ScriptReport {
    return {
      requests: this.requests,
      unexpected: [...this.refusals],
      unexpectedCount: this.refused,
      unusedSteps: this.script.tracks.flatMap((track) => this.unusedOf(track)),
      conversations: [...this.conversations.values()].map(
        ({ key, track, requests, position }): ConversationReport => {
          return { conversation: key, track: track.name, requests, position }
        },
      ),
    }
  }

  private bind(key: string, request: RequestView): Conversation | undefined {
    const track = this.script.tracks.find((one) => this.whyNot(one, request) === undefined)
    if (track === undefined) return undefined
    const conversation: Conversation = {
      key,
      track,
      played: new Set(),
      position: 0,
      captures: new Map(),
      requests: 0,
      calls: 0,
    }
    this.conversations.set(key, conversation)
    this.byTrack.get(track)?.push(conversation)
    return conversation
  }

  private whyNot(track: Track, request: RequestView): string | undefined {
    const mismatch = mismatchOf(track.match, request)
    if (mismatch !== undefined) return mismatch
    return this.boundTo(track).length < track.maxConversations ? undefined : 'has all its conversations'
  }

  private boundTo(track: Track): readonly Conversation[] {
    return this.byTrack.get(track) ?? []
  }

  private refuse(code: ScriptRefusalCode, message: string, key: string, conversation?: Conversation): Cue {
    const refusal: UnexpectedRequest = { code, conversation: key, ...placeIn(conversation), message }
    this.refused += 1
    if (this.refusals.length < KEPT_REFUSALS) this.refusals.push(refusal)
    return { kind: 'refuse', refusal }
  }

  private noTrack(key: string, request: RequestView): string {
    const tracks = this.script.tracks
      .slice(0, SHOWN_NAMES)
      .map((track) => `"${track.name}" ${this.whyNot(track, request) ?? 'matches'}`)
    const why = tracks.length === 0 ? 'the script is empty' : tracks.join(', ')
    return `no track of the script plays conversation ${key}: ${why}; ${shownOf(request, request.firstUser)}`
  }

  private unusedOf(track: Track): UnusedStep[] {
    const conversations = this.boundTo(track)
    if (conversations.length === 0) return missing(track, new Set())
    if (track.stateless) return missing(track, new Set(conversations.flatMap(({ played }) => [...played])))
    return conversations.flatMap(({ key, played }) =>
      missing(track, played).map((step) => Object.assign(step, { conversation: key })),
    )
  }
}

function missing(track: Track, played: ReadonlySet<number>): UnusedStep[] {
  return track.steps.flatMap((step, index) => {
    if (step.optional || played.has(index)) return []
    return [{ track: track.name, step: index, ...(step.name === undefined ? {} : { name: step.name }) }]
  })
}

function notPlayed(
  { key, track, position }: Conversation,
  selection: Selection,
  request: RequestView,
): string {
  const shown = shownOf(request, request.lastUser)
  const count = track.steps.length
  if (selection.kind !== 'blocked') {
    return `track "${track.name}" has played all its ${count} steps, and conversation ${key} asks again; ${shown}`
  }
  if (track.stateless) {
    return `no step of track "${track.name}" holds for a request of conversation ${key}; ${shown}`
  }
  const waits = `${placeOf(track, selection.at)} waits for ${describeWhen(track.steps[selection.at])}`
  const passed = selection.at === position ? '' : ` (conversation ${key} stands at step ${position})`
  return `${waits}${passed}, which does not hold for the request of conversation ${key}; ${shown}`
}

function placeIn(conversation: Conversation | undefined): { track?: string; step?: number } {
  if (conversation === undefined) return {}
  const { track, position } = conversation
  return track.stateless ? { track: track.name } : { track: track.name, step: position }
}

function placeOf(track: Track, index: number): string {
  const name = track.steps[index]?.name
  return `track "${track.name}" step ${index}${name === undefined ? '' : ` (${name})`}`
}

/** A bounded account of what the request holds. */
function shownOf(request: RequestView, user: string): string {
  const result = request.lastToolResult
  const names = request.toolNames
  const more = names.length > SHOWN_NAMES ? `, and ${names.length - SHOWN_NAMES} more` : ''
  const tools = names.length === 0 ? 'none' : names.slice(0, SHOWN_NAMES).join(', ') + more
  return [
    `user ${quote(user, SHOWN_CHARS)}`,
    ...(result === undefined ? [] : [`result of ${result.name} ${quote(result.text, SHOWN_CHARS)}`]),
    `tools ${tools}`,
  ].join(', ')
}
