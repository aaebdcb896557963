/**
 * The user messages of runs: their ids and their words. An id is made from the run's, so that a
 * restarted host recognizes in a session log what it sent before. Pure.
 */
import { createHash } from 'node:crypto'
import {
  boundContextSummary,
  freezeMessage,
  MessageId,
  type ContentBlock,
  type MessageSource,
} from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import type { Digest, RunRecord } from './run-record.ts'
import type { RunProvenance } from './types.ts'

export const PLUGIN = 'dsh-agent-loop-host'
const PREFIX = 'run-message_'
const ID_LENGTH = PREFIX.length + 32

export function messageIdOf(runId: string): string {
  return PREFIX + createHash('sha256').update(runId).digest('hex').slice(0, 32)
}

/** The id under which a run that was cut off is told to go on, as its attempt of this number. */
export function continuationIdOf(messageId: string, attempt: number): string {
  return `${messageId}.${attempt}`
}

/** The id of the copy that goes into an open turn while the message itself waits. */
export function echoIdOf(messageId: string): string {
  return `${messageId}.echo`
}

/** The message id of the run that sent this one; undefined when no run can have sent it. */
export function runMessageIdOf(messageId: string): string | undefined {
  return messageId.startsWith(PREFIX) ? messageId.slice(0, ID_LENGTH) : undefined
}

/** The id under which a run knows a message: that of the first one when it is told to go on. */
export function answeredMessageId(messageId: string): string {
  const isContinuation = messageId.startsWith(PREFIX) && /^\.\d+$/.test(messageId.slice(ID_LENGTH))
  return isContinuation ? messageId.slice(0, ID_LENGTH) : messageId
}

/** The id of the message that this one is or copies; undefined when no run has sent it. */
export function firstMessageId(messageId: string): string | undefined {
  const id = runMessageIdOf(messageId)
  return id === messageId || (id !== undefined && messageId === echoIdOf(id)) ? id : undefined
}

/** What the message of a run consists of. */
export interface MessageParts {
  readonly run: RunRecord
  /** Runs whose messages are told with it. */
  readonly members: readonly RunRecord[]
  /** Images of all of them, in order. */
  readonly images: readonly ContentBlock[]
}

/** @returns nothing when the run is settled and its request is gone. */
export function runMessage({ run, members, images }: MessageParts): UserMessage | undefined {
  const { request } = run
  if (request === undefined) return undefined
  const told = [run, ...members.filter((member) => member.request !== undefined)]
  const text = told.length === 1 ? request.message : collected(told)
  const notes = [digestNote(run.digest), ...told.map(supersededNote)].filter((note) => note !== undefined)
  return freezeMessage<UserMessage>({
    id: MessageId(run.messageId),
    role: 'user',
    content: [...notes, text].map((part): ContentBlock => ({ type: 'text', text: part })).concat(images),
    source: sourceOf(request.provenance),
  })
}

export function echoOf(message: UserMessage): UserMessage {
  return freezeMessage<UserMessage>({ ...message, id: MessageId(echoIdOf(message.id)) })
}

/** Tells a session whose turn was cut off to go on with it. */
export function continuationMessage(messageId: string): UserMessage {
  const text =
    'The process ended while the message before this one was being worked on. Look at what was done ' +
    'already, do not repeat it, and finish the work.'
  return freezeMessage<UserMessage>({
    id: MessageId(messageId),
    role: 'user',
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: PLUGIN, form: 'notice', summary: 'Continue after an interruption' },
  })
}

/** What a run asks the model to keep to, as a message in front of the run's own. */
export function instructionMessage(run: RunRecord): UserMessage | undefined {
  const text = run.request?.extraSystemPrompt
  if (text === undefined) return undefined
  return freezeMessage<UserMessage>({
    id: MessageId(`${run.messageId}.instructions`),
    role: 'user',
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: PLUGIN, form: 'instructions' },
  })
}

function collected(runs: readonly RunRecord[]): string {
  const blocks = runs.map((run, index) => {
    const id = run.request?.messageId ?? run.runId
    return `[${index + 1}/${runs.length}, ${id}]\n${run.request?.message ?? ''}`
  })
  return [`${runs.length} messages came while the session was busy:`, ...blocks].join('\n\n')
}

function digestNote(digest: Digest | undefined): string | undefined {
  if (digest === undefined) return undefined
  const { count, previews } = digest
  const lines = previews.map((preview) => `- ${preview}`)
  const head = `${count} earlier ${count === 1 ? 'message was' : 'messages were'} dropped, the queue was full:`
  return [head, ...lines].join('\n')
}

function supersededNote(run: RunRecord): string | undefined {
  const key = run.request?.supersedeKey
  if (run.superseded === 0 || key === undefined) return undefined
  const what = run.superseded === 1 ? '1 earlier message' : `${run.superseded} earlier messages`
  return `This replaces ${what} about ${JSON.stringify(key)}.`
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
