/**
 * From the events of one run to what a person gets: deltas, blocks, and the final after the run's end.
 * Pure: knows no clock and sends nothing. Deltas come as often as the model writes; the shell around it
 * leaves some out.
 */
import type { AgentEvent, AssistantData, EventBlock, LifecycleData, ToolData } from '../streams/types.ts'
import { mediaKey, Receipts } from './receipts.ts'
import { MessageDraft, readText } from './message-draft.ts'
import { payloadOf, shapePayloads } from './payloads.ts'
import { SILENT_TOKEN } from './silent-token.ts'
import { ToolNotes } from './tool-notes.ts'
import type { Chunk } from './chunker.ts'
import type { Reply, ReplyOptions, ReplyPayload } from './types.ts'

/** What blocks said of a message. */
interface Said {
  isComplete: boolean
  readonly media: Set<string>
}

export class RunReplies {
  private readonly runId: string
  private readonly options: ReplyOptions
  private readonly silentToken: string
  private readonly receipts: Receipts
  private readonly notes = new ToolNotes()
  private readonly toolNotes: ReplyPayload[] = []
  private readonly answers: ReplyPayload[] = []
  private reasoning: ReplyPayload[] = []
  private draft: MessageDraft | undefined
  private hasHole = false
  /** The newest message that ended; what comes late for it is known. */
  private endedMessage = 0
  private attempt = 0
  /** The chunks of the message under way that were sent. */
  private sent: string[] = []
  /** Chunks that an attempt before sent and that this one may say again. */
  private repeated: string[] = []
  private thought = { message: 0, block: -1, text: '' }
  private readonly said = new Map<number, Said>()
  private notesSaid = 0
  private blocks = 0
  private isOver = false

  constructor(runId: string, options: ReplyOptions) {
    this.runId = runId
    this.options = options
    this.silentToken = options.silentToken ?? SILENT_TOKEN
    this.receipts = new Receipts(options.target)
  }

  push(event: AgentEvent): readonly Reply[] {
    if (this.isOver) return []
    switch (event.stream) {
      case 'lifecycle':
        if (event.data.phase !== 'start') return this.end(event.data)
        return this.begin(event.data.attempt)
      case 'assistant':
        return this.onAssistant(event.data)
      case 'thinking':
        return this.onThinking(event.data)
      case 'tool':
        return this.onTool(event.data)
      case 'gap':
        this.draft?.gap()
        this.hasHole = true
        return [{ kind: 'gap', runId: this.runId }]
      default:
        return []
    }
  }

  /** Another attempt counts its messages from the beginning; one that is taken up goes on. */
  private begin(attempt: number): readonly Reply[] {
    if (attempt > this.attempt) this.endedMessage = 0
    this.attempt = Math.max(attempt, this.attempt)
    return []
  }

  private get isStreaming(): boolean {
    return this.options.blocks === 'text_end' || this.options.blocks === 'message_end'
  }

  private onAssistant(data: AssistantData): readonly Reply[] {
    if (data.message <= this.endedMessage) return []
    if (data.phase === 'reset') return this.reset(data.message)
    const draft = this.draftOf(data.message)
    if (data.phase === 'delta') {
      const before = draft.visible
      const blocks = this.sendChunks(draft, draft.delta(data.block, data.delta))
      return draft.visible === before ? blocks : [this.delta(draft), ...blocks]
    }
    if (data.phase === 'text-end') {
      const before = draft.visible
      const blocks = this.sendChunks(draft, draft.textEnd(data.block, data.text))
      return draft.visible === before ? blocks : [this.delta(draft), ...blocks]
    }
    return this.endMessage(draft, data)
  }

  private draftOf(message: number): MessageDraft {
    if (this.draft?.message === message) return this.draft
    // The end of the message before is gone.
    if (this.draft !== undefined) this.answers.push(...this.cutOff(this.draft))
    const chunk = this.options.blocks === 'text_end' ? (this.options.chunk ?? {}) : undefined
    this.draft = new MessageDraft(message, { silentToken: this.silentToken, chunk })
    if (this.hasHole) this.draft.gap()
    return this.draft
  }

  private delta({ message, visible }: MessageDraft): Reply {
    return { kind: 'delta', runId: this.runId, message, text: visible }
  }

  private endMessage(
    draft: MessageDraft,
    data: Extract<AssistantData, { phase: 'message-end' }>,
  ): readonly Reply[] {
    const { message } = draft
    const before = draft.visible
    const replies = [...this.sendChunks(draft, draft.end(data.text))]
    if (draft.visible !== before) replies.unshift(this.delta(draft))
    this.draft = undefined
    this.endedMessage = message
    this.hasHole = false
    this.sent = []
    this.repeated = []
    const { text, thinking } = readText(data.text, this.silentToken)
    if (thinking !== '' && this.options.reasoning === 'on') {
      this.reasoning.push(payloadOf('reasoning', message, thinking))
    }
    if (text !== '' || data.images.length > 0) {
      this.answers.push(payloadOf('answer', message, text, data.images))
      if (this.options.blocks === 'message_end') replies.push(...this.sendWhole(message, text))
      if (this.isStreaming) replies.push(...this.sendImages(message, data.images))
    }
    if (this.isStreaming) this.saidOf(message).isComplete = !draft.isSpoiled
    return replies
  }

  /** A complete message, in as few chunks as fit. */
  private sendWhole(message: number, text: string): readonly Reply[] {
    const chunk = this.options.chunk ?? {}
    const draft = new MessageDraft(message, {
      silentToken: this.silentToken,
      chunk: { ...chunk, minChars: chunk.maxChars ?? 1_200 },
    })
    return this.sendChunks(draft, draft.end(text))
  }

  private sendChunks({ message }: MessageDraft, chunks: readonly Chunk[]): readonly Reply[] {
    return chunks.flatMap(({ raw, text }) => {
      if (text.trim() === '' || this.isRepeated(raw)) return []
      this.sent.push(raw)
      const payload = this.receipts.strip(payloadOf('answer', message, text))
      return payload === undefined ? [] : [this.block(payload)]
    })
  }

  /** A repeated request often begins as the failed one did; the person has that. */
  private isRepeated(raw: string): boolean {
    const isSame = this.repeated.shift() === raw
    if (!isSame) this.repeated = []
    return isSame
  }

  private sendImages(message: number, images: readonly EventBlock[]): readonly Reply[] {
    const payload =
      images.length === 0 ? undefined : this.receipts.strip(payloadOf('answer', message, '', images))
    for (const image of images) this.saidOf(message).media.add(mediaKey(image))
    return payload === undefined ? [] : [this.block(payload)]
  }

  private block(payload: ReplyPayload): Reply {
    this.blocks += 1
    return { kind: 'block', runId: this.runId, index: this.blocks, payload }
  }

  private saidOf(message: number): Said {
    const said = this.said.get(message) ?? { isComplete: false, media: new Set<string>() }
    this.said.set(message, said)
    return said
  }

  private reset(message: number): readonly Reply[] {
    this.draft = undefined
    this.hasHole = false
    this.repeated = this.sent.slice()
    this.thought = { message: 0, block: -1, text: '' }
    this.reasoning = this.reasoning.filter((payload) => payload.message !== message)
    return [{ kind: 'reset', runId: this.runId, message }]
  }

  private onThinking(data: Extract<AgentEvent, { stream: 'thinking' }>['data']): readonly Reply[] {
    const { message, block } = data
    if (data.phase === 'end') {
      const text = data.text.trim()
      if (this.options.reasoning === 'on' && text !== '') {
        this.reasoning.push(payloadOf('reasoning', message, text))
      }
      return []
    }
    if (this.options.reasoning !== 'stream') return []
    if (this.thought.message !== message || this.thought.block !== block) {
      this.thought = { message, block, text: '' }
    }
    this.thought.text += data.delta
    return [{ kind: 'thinking', runId: this.runId, message, text: this.thought.text }]
  }

  private onTool(data: ToolData): readonly Reply[] {
    if (data.phase === 'start') this.notes.started(data)
    if (data.phase !== 'end') return []
    if (data.receipt !== undefined) this.receipts.add(data.receipt)
    const note = payloadOf('tool', data.message, this.notes.ended(data))
    if (this.options.verbose !== true) return []
    this.toolNotes.push(note)
    if (!this.isStreaming) return []
    this.notesSaid += 1
    return [this.block(note)]
  }

  private end(end: Exclude<LifecycleData, { phase: 'start' }>): readonly Reply[] {
    this.isOver = true
    const { runId, receipts, notes } = this
    const { toolNotes, reasoning } = this
    const rest = this.draft === undefined ? [] : this.abandon(this.draft)
    const { answers } = this
    const all = shapePayloads({ end, toolNotes, reasoning, answers, receipts, failure: notes.failure })
    const payloads = all.flatMap((payload) => this.unsaid(payload))
    return [...rest, { kind: 'final', runId, state: end.state, payloads, all }]
  }

  /** The run ended in the middle of a message. @returns the blocks that were still held back. */
  private abandon(draft: MessageDraft): readonly Reply[] {
    const blocks = this.sendChunks(draft, draft.abandon())
    this.answers.push(...this.cutOff(draft))
    if (this.options.blocks === 'text_end') this.saidOf(draft.message).isComplete = !draft.isSpoiled
    return blocks
  }

  /** What was told of a message that never ended. */
  private cutOff({ message, visible }: MessageDraft): readonly ReplyPayload[] {
    const text = visible.trim()
    return text === '' ? [] : [payloadOf('answer', message, text)]
  }

  /** The payload without what blocks have said of it. */
  private unsaid(payload: ReplyPayload): readonly ReplyPayload[] {
    if (payload.kind === 'tool') return this.toolNotes.indexOf(payload) < this.notesSaid ? [] : [payload]
    const said = payload.kind === 'answer' ? this.said.get(payload.message) : undefined
    if (said === undefined) return [payload]
    const images = payload.images.filter((image) => !said.media.has(mediaKey(image)))
    const text = said.isComplete ? '' : payload.text
    return text === '' && images.length === 0 ? [] : [{ ...payload, text, images }]
  }
}
