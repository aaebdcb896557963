/**
 * From the session events of a turn to the events of a run. Pure: the same session events give the same
 * run events, live and on catching up later. Does not say where a run begins and ends.
 *
 * A provider may say a block twice, late, or other than its deltas did: the end of a block replaces its
 * deltas. A request that failed and is made again is announced by a `reset` before its first new chunk.
 */
import type { ContentBlock, StreamChunk, TokenUsage } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import type { JsonValue } from 'dsh-durable-log'
import type { RunUsage } from '../types.ts'
import { boundedJson, cutText, eventBlocks, wholeEnd, type ContentLimits } from './tool-content.ts'
import type { DeliveryReceipt, EventBody } from './types.ts'

/** Longer texts are cut in the finals; even escaped they fit into one entry of the log. */
const MAX_FINAL_CHARACTERS = 600_000
const MAX_ARGUMENT_CHARACTERS = 16_000
const MAX_NAME = 256

/** A finished call, for whoever reads what it delivered. */
export interface FinishedCall {
  readonly callId: string
  readonly name: string
  /** As the model wrote them: parsed where they are JSON, else the text. */
  readonly args: unknown
  readonly isError: boolean
  readonly content: readonly ContentBlock[]
}

export interface TranslatorPorts {
  readonly limits: ContentLimits
  /** What a messaging tool delivered by a call that succeeded. */
  readonly receiptOf: (call: FinishedCall) => Omit<DeliveryReceipt, 'message'> | undefined
}

interface OpenBlock {
  readonly type: string
  /** Whether a delta was told. */
  isTold: boolean
  /** What its end said. */
  whole: string | undefined
  /** A high surrogate whose other half is still to come. */
  held: string
}

interface OpenCall {
  readonly name: string
  readonly args: unknown
  readonly message: number
}

export class TurnTranslator {
  private readonly ports: TranslatorPorts
  /** The assistant's message under way, from 1. */
  private message = 1
  private blocks = new Map<number, OpenBlock>()
  private hasFailed = false
  private hasCompacted = false
  private readonly calls = new Map<string, OpenCall>()
  private compaction: string | undefined

  constructor(ports: TranslatorPorts) {
    this.ports = ports
  }

  /** What the session event means for the run, in order. */
  push(event: SessionEvent): readonly EventBody[] {
    switch (event.type) {
      case 'assistant/chunk':
        return this.onChunk(event.data.chunk)
      case 'assistant/message':
        return this.onMessage(event)
      case 'tool/call':
        return this.onCall(event.data)
      case 'tool/result':
        return this.onResult(event)
      default:
        return this.onForeign(event)
    }
  }

  /** Ends what is still open: each start has its end, also when the turn was cut off. */
  finish(): readonly EventBody[] {
    const bodies: EventBody[] = []
    for (const [callId, { name, message }] of this.calls) {
      const content = [{ type: 'text', text: 'No result: the run ended first.' }] as const
      const data = { phase: 'end', message, callId, name, isError: true, content, code: 'NO_RESULT' } as const
      bodies.push({ stream: 'tool', data })
    }
    this.calls.clear()
    if (this.compaction !== undefined) bodies.push(this.endCompaction('the run ended first'))
    return bodies
  }

  private onChunk(chunk: StreamChunk): readonly EventBody[] {
    if (chunk.type === 'finish') {
      this.hasFailed = chunk.reason.kind === 'error' || chunk.reason.kind === 'aborted'
      return []
    }
    const reset = this.hasFailed ? this.restart() : []
    switch (chunk.type) {
      case 'block-start':
        this.open(chunk.index, chunk.blockType)
        return reset
      case 'text-delta':
        return [...reset, ...this.onDelta(chunk.index, 'text', chunk.text)]
      case 'reasoning-delta':
        return [...reset, ...this.onDelta(chunk.index, 'reasoning', chunk.text)]
      case 'block-end':
        return [...reset, ...this.onBlockEnd(chunk.index, chunk.block)]
      default:
        return reset
    }
  }

  private open(index: number, type: string): OpenBlock {
    const block = { type, isTold: false, whole: undefined, held: '' }
    this.blocks.set(index, block)
    return block
  }

  private onDelta(index: number, type: 'text' | 'reasoning', piece: string): readonly EventBody[] {
    const block = this.blocks.get(index) ?? this.open(index, type)
    if (block.whole !== undefined || block.type !== type) return []
    const text = block.held + piece
    const end = endsInHalf(text) ? text.length - 1 : text.length
    block.held = text.slice(end)
    const delta = text.slice(0, end)
    if (delta === '') return []
    block.isTold = true
    const data = { phase: 'delta', message: this.message, block: index, delta } as const
    return [type === 'text' ? { stream: 'assistant', data } : { stream: 'thinking', data }]
  }

  private onBlockEnd(index: number, content: ContentBlock): readonly EventBody[] {
    if (content.type !== 'text' && content.type !== 'reasoning') return []
    const block = this.blocks.get(index) ?? this.open(index, content.type)
    if (block.whole !== undefined) return []
    block.whole = content.text
    const text = finalText(content.text)
    const where = { message: this.message, block: index, text }
    return content.type === 'text'
      ? [{ stream: 'assistant', data: { phase: 'text-end', ...where } }]
      : [{ stream: 'thinking', data: { phase: 'end', ...where } }]
  }

  private onMessage({ data }: SessionEvent<'assistant/message'>): readonly EventBody[] {
    const { content } = data.message
    const ends = content.flatMap((block, index) => this.missingEnd(block, index))
    const body: EventBody = {
      stream: 'assistant',
      data: {
        phase: 'message-end',
        message: this.message,
        text: finalText(textOf(content)),
        images: eventBlocks(
          content.filter((block) => block.type === 'image'),
          this.ports.limits,
        ),
        toolCalls: content.filter((block) => block.type === 'tool-call').length,
        ...(data.interrupted === true ? { interrupted: true } : {}),
        ...(data.usage === undefined ? {} : { usage: usageOf(data.usage) }),
      },
    }
    this.message += 1
    this.blocks.clear()
    this.hasFailed = false
    this.hasCompacted = false
    return [...ends, body]
  }

  /** Reasoning whose block never ended by itself; text is said by the message. */
  private missingEnd(content: ContentBlock, index: number): readonly EventBody[] {
    if (content.type !== 'reasoning') return []
    const told = [...this.blocks.values()].some(
      (block) => block.type === 'reasoning' && block.whole === content.text,
    )
    return told ? [] : this.onBlockEnd(this.openReasoning() ?? index, content)
  }

  private openReasoning(): number | undefined {
    for (const [index, block] of this.blocks)
      if (block.type === 'reasoning' && block.whole === undefined) return index
    return undefined
  }

  private restart(): readonly EventBody[] {
    const isTold = [...this.blocks.values()].some(({ isTold, whole = '' }) => isTold || whole !== '')
    const reason = this.hasCompacted ? ('compaction-retry' as const) : ('request-retry' as const)
    this.hasFailed = false
    this.hasCompacted = false
    this.blocks.clear()
    if (!isTold && reason === 'request-retry') return []
    return [{ stream: 'assistant', data: { phase: 'reset', message: this.message, reason } }]
  }

  private onCall(data: SessionEvent<'tool/call'>['data']): readonly EventBody[] {
    const callId = String(data.callId)
    const name = data.name.slice(0, MAX_NAME)
    const args = parsed(data.arguments)
    const message = this.message - 1
    this.calls.set(callId, { name, args, message })
    const shown = boundedJson(args as JsonValue, MAX_ARGUMENT_CHARACTERS)
    return [{ stream: 'tool', data: { phase: 'start', message, callId, name, args: shown } }]
  }

  private onResult({ data }: SessionEvent<'tool/result'>): readonly EventBody[] {
    const [result] = data.message.content
    const callId = String(result.toolCallId)
    const call = this.calls.get(callId)
    if (call === undefined) return []
    this.calls.delete(callId)
    const { name, args, message } = call
    const { content } = result
    const isError = result.isError === true
    const receipt = isError ? undefined : this.ports.receiptOf({ callId, name, args, isError, content })
    const body: EventBody = {
      stream: 'tool',
      data: {
        phase: 'end',
        message,
        callId,
        name,
        isError,
        content: eventBlocks(content, this.ports.limits),
        ...(data.error === undefined ? {} : { code: data.error.code.slice(0, MAX_NAME) }),
        ...(receipt === undefined ? {} : { receipt: { message, ...receipt } }),
      },
    }
    return [body]
  }

  /** Events of packages that may be absent: their types are not loaded here, so each is looked at. */
  private onForeign(event: { readonly type: string; readonly data: unknown }): readonly EventBody[] {
    const data = (event.data ?? {}) as Record<string, unknown>
    switch (event.type) {
      case 'compaction/start': {
        this.compaction = String(data['compactionId'])
        return [{ stream: 'compaction', data: { phase: 'start', compactionId: this.compaction } }]
      }
      case 'compaction/end':
        if (this.compaction === undefined) return []
        return [this.endCompaction(data['error'] === undefined ? undefined : String(data['error']))]
      case 'tool/code-dispatch-start':
        return subCall(data, 'started')
      case 'tool/code-dispatch':
        return subCall(data, data['isError'] === true ? 'failed' : 'done')
      default:
        return []
    }
  }

  private endCompaction(error: string | undefined): EventBody {
    const compactionId = this.compaction ?? ''
    this.compaction = undefined
    const willRetry = this.hasFailed && error === undefined
    if (willRetry) this.hasCompacted = true
    const why = error === undefined ? {} : { error: cutText(error, 2_000) }
    return { stream: 'compaction', data: { phase: 'end', compactionId, willRetry, ...why } }
  }
}

function subCall(data: Record<string, unknown>, state: 'started' | 'done' | 'failed'): readonly EventBody[] {
  const callId = String(data['rootCallId'])
  const subCallId = String(data['subCallId'])
  const name = String(data['name']).slice(0, MAX_NAME)
  return [{ stream: 'tool', data: { phase: 'update', callId, subCallId, name, state } }]
}

function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
}

function finalText(text: string): string {
  if (text.length <= MAX_FINAL_CHARACTERS) return text.toWellFormed()
  const end = wholeEnd(text, MAX_FINAL_CHARACTERS)
  return `${text.slice(0, end).toWellFormed()}\n[cut: ${text.length - end} more characters]`
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

function parsed(raw: string): unknown {
  if (raw === '') return {}
  try {
    return JSON.parse(raw) as unknown
  } catch {
    // What is no JSON reaches the tool as text, too.
    return raw.toWellFormed()
  }
}

function usageOf({ inputTokens, outputTokens }: TokenUsage): RunUsage {
  const count = (tokens: number): number => (Number.isFinite(tokens) && tokens > 0 ? tokens : 0)
  return { inputTokens: count(inputTokens), outputTokens: count(outputTokens) }
}
