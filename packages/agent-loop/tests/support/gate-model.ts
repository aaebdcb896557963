/** A model route whose calls wait until the test answers them. */
import { type Context } from '@deepseek-ai/cordis'
import {
  CallId,
  LlmAdapter,
  ReasoningEffortId,
  type GenerateOptions,
  type LlmResolvedModelInfo,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { until } from './until.ts'

type Answer =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'max-tokens'; readonly text: string }
  | { readonly kind: 'failure'; readonly code: string; readonly message: string }
  | { readonly kind: 'tools'; readonly names: readonly string[] }

export class ModelCall {
  readonly sessionId: string
  /** The text of the newest user message. */
  readonly prompt: string
  /** Texts of all user messages of the request, oldest first. */
  readonly prompts: readonly string[]
  readonly model: string
  readonly effort: string | undefined
  readonly signal: AbortSignal | undefined
  /** A call that ignores its cancellation. */
  deaf = false
  readonly answered: Promise<Answer>
  private readonly resolve: (answer: Answer) => void

  constructor(options: GenerateOptions) {
    this.sessionId = String(options.sessionId)
    this.prompts = options.messages
      .filter((message) => message.role === 'user')
      .map((message) => message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
    this.prompt = this.prompts.at(-1) ?? ''
    this.model = options.model
    this.effort = options.reasoningEffort
    this.signal = options.signal
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.answered = promise
    this.resolve = resolve
  }

  reply(text: string): void {
    this.resolve({ kind: 'text', text })
  }

  cutShort(text: string): void {
    this.resolve({ kind: 'max-tokens', text })
  }

  /** Calls tools, without arguments. */
  useTool(...names: readonly string[]): void {
    this.resolve({ kind: 'tools', names })
  }

  fail(code: string, message: string): void {
    this.resolve({ kind: 'failure', code, message })
  }
}

export class GateModel extends LlmAdapter {
  readonly calls: ModelCall[] = []
  /** Answers a call at once with this text, when it gives one. */
  auto: (call: ModelCall) => string | undefined = () => undefined

  static register(ctx: Context): GateModel {
    const model = new GateModel()
    ctx.llm.registerAdapter(['gate'], model)
    return model
  }

  /** The call number `index`, as soon as it is made. */
  async call(index: number): Promise<ModelCall> {
    await until(() => this.calls.length > index)
    const call = this.calls[index]
    if (call === undefined) throw new Error(`no model call ${index}`)
    return call
  }

  /** Prompts of all calls in the order they were made. */
  get prompts(): readonly string[] {
    return this.calls.map((call) => call.prompt)
  }

  override async resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    const efforts = ['low', 'high'].map((id) => ({ id: ReasoningEffortId(id), name: id }))
    return { provider, id: model, name: model, reasoning: { efforts } }
  }

  async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const call = new ModelCall(options)
    this.calls.push(call)
    const text = this.auto(call)
    if (text !== undefined) call.reply(text)
    const cancelled = Promise.withResolvers<'cancelled'>()
    const onAbort = (): void => {
      if (!call.deaf) cancelled.resolve('cancelled')
    }
    options.signal?.addEventListener('abort', onAbort, { once: true })
    const answer = await Promise.race([call.answered, cancelled.promise])
    options.signal?.removeEventListener('abort', onAbort)
    if (answer === 'cancelled') {
      yield {
        type: 'finish',
        reason: { kind: 'aborted', failure: { message: 'cancelled', code: 'ABORTED' } },
      }
      return
    }
    if (answer.kind === 'failure') {
      const { code, message } = answer
      yield { type: 'finish', reason: { kind: 'error', failure: { code, message } } }
      return
    }
    if (answer.kind === 'tools') {
      for (const [index, name] of answer.names.entries()) {
        const id = CallId(`call-${this.calls.length}-${index}`)
        yield { type: 'block-start', index, blockType: 'tool-call' }
        yield { type: 'tool-call-delta', index, id, name, argumentsDelta: '{}' }
        yield { type: 'block-end', index, block: { type: 'tool-call', id, name, arguments: '{}' } }
      }
      yield { type: 'finish', reason: { kind: 'tool-calls' } }
      return
    }
    yield { type: 'block-start', index: 0, blockType: 'text' }
    yield { type: 'text-delta', index: 0, text: answer.text }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: answer.text } }
    yield { type: 'usage', usage: { inputTokens: 7, outputTokens: 3 } }
    yield { type: 'finish', reason: { kind: answer.kind === 'text' ? 'stop' : 'max-tokens' } }
  }
}
