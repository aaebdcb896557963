/**
 * One call of the model through `ctx.llm`, up to a complete answer. What the answer is worth is not
 * judged here, except that a failed call is no answer.
 */
import {
  BlockAssembler,
  type ContentBlock,
  type GenerateOptions,
  type LlmFailure,
  type ReplayEnvelope,
  type StreamChunk,
  type TokenUsage,
  type ToolCallBlock,
} from '@deepseek-ai/dsh-llm'

/** A complete answer of the model. */
export interface ModelAnswer {
  readonly kind: 'answer'
  /** All blocks in order, tool calls included even where the answer was cut off. */
  readonly blocks: readonly ContentBlock[]
  readonly calls: readonly ToolCallBlock[]
  /** Visible text, without reasoning. */
  readonly text: string
  readonly finish: string
  readonly usage: TokenUsage | undefined
  readonly replayState: ReplayEnvelope | undefined
}

/** A call that gave no answer. */
export interface ModelFailure {
  readonly kind: 'failure'
  readonly finish: string
  readonly failure: LlmFailure
  readonly usage: TokenUsage | undefined
}

/** The streaming side of `ctx.llm`. */
export interface ModelStream {
  stream(options: GenerateOptions): AsyncIterable<StreamChunk>
}

/**
 * Calls the model once.
 *
 * @throws the reason of the request's signal once it aborts; what a listener of `llm/stream` throws.
 */
export async function callModel(
  llm: ModelStream,
  request: GenerateOptions & { readonly signal: AbortSignal },
): Promise<ModelAnswer | ModelFailure> {
  request.signal.throwIfAborted()
  const assembler = new BlockAssembler()
  let end: Extract<StreamChunk, { type: 'finish' }> | undefined
  for await (const chunk of llm.stream(request)) {
    if (request.signal.aborted) break
    // Kept apart: an assembler that knows of a token limit drops the calls, and they must be answered.
    if (chunk.type === 'finish') end = chunk
    else assembler.push(chunk)
  }
  if (request.signal.aborted) throw request.signal.reason
  const { usage } = assembler
  const reason = end?.reason ?? assembler.finish
  if (reason.kind === 'error' || reason.kind === 'aborted') {
    return { kind: 'failure', finish: reason.kind, failure: reason.failure, usage }
  }
  return answerOf(assembler, reason.kind, end?.replayState)
}

function answerOf(
  assembler: BlockAssembler,
  finish: string,
  replayState: ReplayEnvelope | undefined,
): ModelAnswer {
  const blocks = assembler.blocks()
  return {
    kind: 'answer',
    blocks,
    calls: blocks.filter((block) => block.type === 'tool-call'),
    text: blocks.flatMap((block) => (block.type === 'text' ? block.text : [])).join(''),
    finish,
    usage: assembler.usage,
    replayState,
  }
}

/** Adds up what was reported; a count that nobody reported stays absent. */
export function addUsage(total: TokenUsage, usage: TokenUsage | undefined): TokenUsage {
  if (usage === undefined) return total
  const sum: TokenUsage = {
    inputTokens: total.inputTokens + usage.inputTokens,
    outputTokens: total.outputTokens + usage.outputTokens,
  }
  for (const key of ['cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const) {
    if (total[key] !== undefined || usage[key] !== undefined) sum[key] = (total[key] ?? 0) + (usage[key] ?? 0)
  }
  return sum
}
