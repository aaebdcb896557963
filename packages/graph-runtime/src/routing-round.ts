/**
 * One routing, from the request to the outcome: ask the model, judge its choice, run it or tell it why
 * not, and again. Lives for one `route`; services are looked up by the router.
 */
import type { TokenUsage } from '@deepseek-ai/dsh-llm'
import type { CallScope } from './call-scope.ts'
import { judge, type Judged } from './routing-choice.ts'
import type { CheckedRouting } from './routing-config.ts'
import { GraphRoutingError, GraphRoutingModelError, type GraphRoutingTrace } from './routing-errors.ts'
import type { RoutingEvents } from './routing-events.ts'
import type { Rejection, Settled } from './routing-execution.ts'
import { FilteredGraphs, type Registry } from './routing-filter.ts'
import { addUsage, callModel, type ModelAnswer, type ModelStream } from './routing-model.ts'
import { toolSchemas } from './routing-schemas.ts'
import { RoutingTranscript } from './routing-transcript.ts'
import type { GraphRoutingAttempt, GraphRoutingOutcome, GraphRoutingRequest } from './routing-types.ts'
import type { GraphEntry } from './types.ts'

export interface RoundParts {
  readonly config: CheckedRouting
  readonly request: GraphRoutingRequest
  readonly registry: Registry
  readonly llm: ModelStream
  readonly events: RoutingEvents
  /** The cancellation of the routing, and its signal. */
  readonly life: CallScope
  readonly signal: AbortSignal
}

const ONE_ONLY = 'not run: only one tool per routing round'
const SAME_AGAIN = 'you already tried exactly this, the same call as before; change it or choose another tool'

export class RoutingRound {
  private readonly parts: RoundParts
  private readonly transcript: RoutingTranscript
  private readonly graphs: FilteredGraphs
  private readonly attempts: GraphRoutingAttempt[] = []
  private readonly rejectedCalls = new Set<string>()
  private usage: TokenUsage = { inputTokens: 0, outputTokens: 0 }

  /** @throws {GraphRoutingConfigError} a filter that does not fit the graphs there are. */
  constructor(parts: RoundParts) {
    this.parts = parts
    const { config, request, registry } = parts
    this.graphs = new FilteredGraphs(registry, config.filter)
    this.transcript = new RoutingTranscript(request.history ?? config.history, request.input)
  }

  /** @throws see `GraphRoutingAgent.route`. */
  async run(): Promise<GraphRoutingOutcome> {
    const { maxRetries, stopOnRepeat } = this.parts.config
    let last: Rejection | undefined
    for (let call = 0; call <= maxRetries; call++) {
      const entries = this.graphs.list()
      // Every graph left while the model was being corrected; there is nothing to choose from any more.
      if (entries.length === 0) break
      const answer = await this.ask(entries)
      if (answer.calls.length === 0) return this.fallback(answer)
      const judged = await judge(answer, { ...this.parts, graphs: this.graphs })
      if (judged.settled.kind === 'ran') return this.outcome(answer, judged, judged.settled)
      last = judged.settled
      const repeated = this.reject(answer, judged, last)
      if (repeated && stopOnRepeat) break
    }
    const reason = last?.reason ?? 'every graph was taken off'
    throw new GraphRoutingError(reason, this.trace(), last?.error === undefined ? {} : { cause: last.error })
  }

  private trace(): GraphRoutingTrace {
    return { usage: this.usage, attempts: Object.freeze(this.attempts.slice()) }
  }

  /** @throws {GraphRoutingModelError} a call that failed, or one that ended before it could choose. */
  private async ask(entries: readonly GraphEntry[]): Promise<ModelAnswer> {
    const { config, llm, life, signal } = this.parts
    const request = {
      ...config.call,
      messages: this.transcript.messages(),
      tools: toolSchemas(entries),
      signal,
    }
    const answer = await life.outlast(callModel(llm, request))
    this.usage = Object.freeze(addUsage(this.usage, answer.usage))
    if (answer.kind === 'failure') {
      throw new GraphRoutingModelError(answer.finish, answer.failure, this.trace())
    }
    if (answer.finish === 'max-tokens' && answer.calls.length === 0) {
      this.note(answer, { outcome: 'no-tool', repaired: [] })
      const message = 'the model reached its token limit before it chose a tool; raise maxTokens'
      throw new GraphRoutingModelError(answer.finish, { message, code: 'MAX_TOKENS' }, this.trace())
    }
    return answer
  }

  /** Tells the model why, and whether it said the same before. */
  private reject(answer: ModelAnswer, judged: Judged, { rejection, reason }: Rejection): boolean {
    const forAll = rejection === 'MULTIPLE_CALLS'
    const calls = forAll ? answer.calls : answer.calls.slice(0, 1)
    const key = JSON.stringify(calls.map((call) => [call.name, call.arguments]))
    const repeated = this.rejectedCalls.has(key)
    this.rejectedCalls.add(key)
    const told = repeated ? `${reason} (${SAME_AGAIN})` : reason
    this.transcript.reject(answer, this.parts.config.call, (at) => (at === 0 || forAll ? told : ONE_ONLY))
    const repeat = repeated ? { repeated: true as const } : {}
    this.note(answer, { outcome: 'rejected', repaired: judged.repaired, rejection, reason: told, ...repeat })
    return repeated
  }

  private note(
    answer: ModelAnswer,
    verdict: Pick<GraphRoutingAttempt, 'outcome' | 'repaired' | 'rejection' | 'reason' | 'repeated'>,
  ): void {
    const [call] = answer.calls
    this.attempts.push(
      Object.freeze({
        ...(call === undefined ? {} : { tool: call.name, arguments: call.arguments }),
        ...(answer.text === '' ? {} : { text: answer.text }),
        calls: answer.calls.length,
        finish: answer.finish,
        ...(answer.usage === undefined ? {} : { usage: answer.usage }),
        ...verdict,
      }),
    )
  }

  private outcome(
    answer: ModelAnswer,
    { tool, repaired }: Judged,
    { args, result }: Extract<Settled, { kind: 'ran' }>,
  ): GraphRoutingOutcome {
    this.note(answer, { outcome: 'ran', repaired })
    return { tool, args, result, ...this.trace() }
  }

  private async fallback(answer: ModelAnswer): Promise<GraphRoutingOutcome> {
    const { config, request, signal } = this.parts
    this.note(answer, { outcome: 'no-tool', repaired: [] })
    const agent = request.agent === undefined ? {} : { agent: request.agent }
    const result = await config.fallback.run({ signal, request: request.input, ...agent })
    return { tool: config.fallback.name, args: {}, result, fallback: true, ...this.trace() }
  }
}
