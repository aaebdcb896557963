/**
 * Whether a root's turn stands still because its person is asked: for an approval, or by the tool that
 * asks. Read from the session's log, which says both.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId, type Session } from '@deepseek-ai/dsh-session'

/** DSH's own tool; the turn goes on when its person has answered. */
const ASK_TOOL = 'ask_user_question'
const RELEVANT: ReadonlySet<string> = new Set([
  'approval/asked',
  'approval/decided',
  'tool/call',
  'tool/result',
  'turn/end',
])

/** Approvals are a plugin's, and a profile may have none: their events have no type here. */
interface LoggedEvent {
  readonly type: string
  readonly data: unknown
}

/** What the newest turn of a session waits for, in words; `undefined` when it waits for no person. */
export function openQuestion(events: readonly LoggedEvent[]): string | undefined {
  const asked = new Map<string, string>()
  for (const { data, type } of events.slice(events.findLastIndex((event) => event.type === 'turn/start'))) {
    if (type === 'turn/end') asked.clear()
    if (type === 'approval/asked') {
      const { id, toolName } = data as { id: string; toolName: string }
      asked.set(id, `an approval of ${toolName}`)
    }
    if (type === 'approval/decided') asked.delete((data as { id: string }).id)
    if (type === 'tool/call') {
      const { callId, name } = data as { callId: string; name: string }
      if (name === ASK_TOOL) asked.set(callId, 'an answer to a question')
    }
    if (type === 'tool/result') {
      const { message } = data as { message: { content: readonly { callId?: string }[] } }
      for (const { callId } of message.content) asked.delete(callId ?? '')
    }
  }
  return [...asked.values()].at(-1)
}

export interface QuestionListener {
  /** Told once for each standstill, with what it waits for. */
  readonly onAsked: (question: string) => void
  readonly onAnswered: () => void
}

/** Follows the questions of a live root, those that are open now included. @returns the undo. */
export function followQuestions(
  ctx: Context,
  rootSessionId: string,
  { onAnswered, onAsked }: QuestionListener,
): () => void {
  let isAsked = false
  const look = (session: Session) => {
    const question = openQuestion(session.events)
    if ((question !== undefined) === isAsked) return
    isAsked = question !== undefined
    if (question === undefined) onAnswered()
    else onAsked(question)
  }
  const root = ctx.agents.get(SessionId(rootSessionId))
  if (root !== undefined) look(root.session)
  const off = ctx.on('session/event', (session, { type }) => {
    if (session.id === rootSessionId && RELEVANT.has(type)) look(session)
  })
  return () => void off()
}
