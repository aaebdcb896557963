/** The payloads of a turn that is over, out of the session's own log. Pure. */
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { TurnTranslator, type TranslatorPorts } from '../streams/turn-translator.ts'
import type { AgentEvent, EventBody } from '../streams/types.ts'
import type { RunTale } from './payloads.ts'
import { RunReplies } from './run-replies.ts'
import type { ReplyOptions, ReplyPayload } from './types.ts'

/**
 * What the replies of the run would say in all, without blocks.
 *
 * @param events the events of the turn, from the run's message on.
 */
export function turnPayloads(
  events: readonly SessionEvent[],
  { end, options, ports }: { end: RunTale['end']; options: ReplyOptions; ports: TranslatorPorts },
): readonly ReplyPayload[] {
  const translator = new TurnTranslator(ports)
  const replies = new RunReplies('', { ...options, blocks: 'off' })
  const tell = (body: EventBody) =>
    replies.push({ runId: '', sessionId: '', seq: 1, ts: 0, ...body } as AgentEvent)
  for (const event of events) for (const body of translator.push(event)) tell(body)
  for (const body of translator.finish()) tell(body)
  const final = tell({ stream: 'lifecycle', data: end }).at(-1)
  return final?.kind === 'final' ? final.all : []
}
