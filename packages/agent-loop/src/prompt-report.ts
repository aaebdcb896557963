/** What the prompt of a run's turn was made of, read from its session. Pure. */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import type { RunRecord, Settlement } from './run-record.ts'

type Report = NonNullable<Settlement['prompt']>

/** @param run as it was when its message was sent, with its request. */
export function promptReport(
  session: Session,
  turn: number,
  run: RunRecord,
  members: readonly RunRecord[],
): Report {
  const header = session.requestHeader()
  const told = [run, ...members].flatMap(({ request }) => request ?? [])
  const digested = [run, ...members].reduce((sum, { superseded }) => sum + superseded, run.digest?.count ?? 0)
  const sum = (sizeOf: (request: (typeof told)[number]) => number): number =>
    told.reduce((total, request) => total + sizeOf(request), 0)
  return {
    ...(header === undefined
      ? {}
      : { model: { provider: header.config.provider, model: header.config.model } }),
    ...(header?.config.reasoningEffort === undefined ? {} : { effort: header.config.reasoningEffort }),
    systemPrompt: header?.system?.length ?? 0,
    tools: header?.tools?.length ?? 0,
    ...messagesAround(session.events, turn),
    message: sum(({ message }) => message.length),
    attachments: sum(({ attachments }) => attachments?.length ?? 0),
    extraSystemPrompt: run.request?.extraSystemPrompt?.length ?? 0,
    collected: members.length + 1,
    digested,
  }
}

function messagesAround(
  events: readonly SessionEvent[],
  turn: number,
): { readonly history: number; readonly joined: number } {
  let history = 0
  let inTurn = 0
  let isBefore = true
  for (const { type, data } of events) {
    if (type === 'turn/start' && data.turn === turn) isBefore = false
    else if (type === 'turn/end' && data.turn === turn) break
    else if (isBefore && (type === 'user/message' || type === 'assistant/message' || type === 'tool/result'))
      history += 1
    else if (!isBefore && type === 'user/message') inTurn += 1
  }
  return { history, joined: Math.max(0, inTurn - 1) }
}
