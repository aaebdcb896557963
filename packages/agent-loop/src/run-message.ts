/**
 * The one user message of a run. Its id is made from the run's, so that a restarted host recognizes
 * in a session log what it sent before.
 */
import { createHash } from 'node:crypto'
import { boundContextSummary, freezeMessage, MessageId, type MessageSource } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import type { AcceptedData } from './entries.ts'
import type { RunProvenance } from './types.ts'

const PREFIX = 'run-message_'

export function messageIdOf(runId: string): string {
  return PREFIX + createHash('sha256').update(runId).digest('hex').slice(0, 32)
}

/** Whether some run may have sent a message with this id. */
export function isRunMessageId(messageId: string): boolean {
  return messageId.startsWith(PREFIX)
}

export function runMessage(messageId: string, request: AcceptedData['request']): UserMessage {
  return freezeMessage<UserMessage>({
    id: MessageId(messageId),
    role: 'user',
    content: [{ type: 'text', text: request.message }],
    source: sourceOf(request.provenance),
  })
}

function sourceOf(provenance: RunProvenance): MessageSource {
  if (provenance.kind === 'user') return { kind: 'user' }
  return {
    kind: 'plugin',
    plugin: provenance.plugin,
    form: 'notice',
    summary: boundContextSummary(provenance.summary),
  }
}
