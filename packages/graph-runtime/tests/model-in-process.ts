/**
 * A model in process, behind the real `ctx.llm`. It says what it is told to, chunk by chunk, and is as
 * strict about what it is sent as the strictest provider: an illegal request is a failed call.
 */
import {
  CallId,
  LlmAdapter,
  type GenerateOptions,
  type LlmFailure,
  type ReplayEnvelope,
  type StreamChunk,
  type TokenUsage,
} from '@deepseek-ai/dsh-llm'
import { requestFaults } from './request-faults.ts'

export interface SaidCall {
  readonly id?: string
  readonly name: string
  /** Text as it is, anything else as JSON. */
  readonly arguments?: unknown
}

/** What the model does with one request. */
export interface Said {
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: readonly SaidCall[]
  readonly finish?: 'stop' | 'tool-calls' | 'max-tokens'
  readonly failure?: LlmFailure
  readonly usage?: TokenUsage
  readonly replayState?: ReplayEnvelope
}

export type Says = (request: GenerateOptions, index: number) => Said | Promise<Said>

/** Shorthand for one tool call. */
export function calls(name: string, args: unknown = {}): Said {
  return { calls: [{ name, arguments: args }] }
}

function* fragments(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += 7) yield text.slice(at, at + 7)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function* chunksOf(said: Said, index: number): Generator<StreamChunk> {
  let block = 0
  for (const text of fragments(said.reasoning ?? '')) yield { type: 'reasoning-delta', index: block, text }
  if (said.reasoning !== undefined) block++
  for (const text of fragments(said.text ?? '')) yield { type: 'text-delta', index: block, text }
  if (said.text !== undefined) block++
  for (const [position, call] of (said.calls ?? []).entries()) {
    const id = CallId(call.id ?? `r${index}-c${position}`)
    const at = block++
    yield { type: 'block-start', index: at, blockType: 'tool-call' }
    yield { type: 'tool-call-delta', index: at, id, name: call.name, argumentsDelta: '' }
    for (const argumentsDelta of fragments(textOf(call.arguments ?? {}))) {
      yield { type: 'tool-call-delta', index: at, id, argumentsDelta }
    }
  }
  if (said.usage !== undefined) yield { type: 'usage', usage: said.usage }
  const kind = said.finish ?? ((said.calls ?? []).length > 0 ? 'tool-calls' : 'stop')
  yield {
    type: 'finish',
    reason: said.failure === undefined ? { kind } : { kind: 'error', failure: said.failure },
    ...(said.replayState === undefined ? {} : { replayState: said.replayState }),
  }
}

export class ModelInProcess extends LlmAdapter {
  readonly requests: GenerateOptions[] = []
  private readonly says: Says

  constructor(says: Says) {
    super()
    this.says = says
  }

  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const faults = requestFaults(options)
    if (faults.length > 0) throw new Error(`illegal request: ${faults.join('; ')}`)
    const index = this.requests.push(options) - 1
    yield* chunksOf(await this.says(options, index), index)
  }
}
