/**
 * The model adapter: streams what the player decides, with its delays and faults. Owns the waits of its
 * streams; registers nothing by itself.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import {
  LlmAdapter,
  ReasoningEffortId,
  type GenerateOptions,
  type LlmModelInfo,
  type LlmProviderInfo,
  type LlmResolvedModelInfo,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { chunksOf, usageOf, type Answer } from './answer.ts'
import { pause } from './pause.ts'
import { assertExhausted, type ScriptReport, type UnexpectedRequest } from './report.ts'
import { RequestView } from './request-view.ts'
import { ScriptPlayer } from './script-player.ts'
import { parseScript } from './script.ts'
import type { Script, ScriptSource, Step } from './types.ts'

export interface ScriptedLlmOptions {
  /** Called for each request that the script cannot answer, before the request ends. */
  readonly onUnexpected?: (request: UnexpectedRequest) => void
}

/**
 * A model that plays a script. Register it as any adapter: `ctx.llm.registerAdapter(['scripted'], llm)`;
 * it takes every model id, and the efforts `low`, `medium` and `high` for those who ask for one.
 *
 * A request that the script has no answer to ends with an `error` finish: `SCRIPT_UNEXPECTED_REQUEST`,
 * `SCRIPT_CAPTURE_FAILED` or `SCRIPT_UNKNOWN_CAPTURE`. An aborted one ends with `aborted`, code `ABORTED`.
 */
export class ScriptedLlm extends LlmAdapter {
  private readonly player: ScriptPlayer
  private readonly onUnexpected: (request: UnexpectedRequest) => void
  private readonly closing = new AbortController()

  /** @throws ScriptedLlmError `invalid-script`. */
  constructor(script: string | ScriptSource | Script, options: ScriptedLlmOptions = {}) {
    super()
    this.player = new ScriptPlayer(parseScript(script))
    this.onUnexpected = options.onUnexpected ?? (() => undefined)
  }

  /** What was asked so far. A copy; it does not change. */
  report(): ScriptReport {
    return this.player.report()
  }

  /** @throws ScriptedLlmError `unexpected-requests`, or else `unused-steps`, naming them. */
  assertExhausted(): void {
    assertExhausted(this.report())
  }

  /** Ends every stream that waits, and each later one at once, as aborted. */
  close(): void {
    this.closing.abort()
  }

  override providerInfo(provider: string): LlmProviderInfo {
    return { id: provider, name: 'Scripted' }
  }

  override listModels(provider: string): Promise<readonly LlmModelInfo[]> {
    return Promise.resolve([
      {
        provider,
        id: 'script',
        name: 'Script',
        description: 'Plays a script; every model id is accepted',
        inputModalities: ['text'],
      },
    ])
  }

  override resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    const efforts = ['Low', 'Medium', 'High'].map((name) => ({
      id: ReasoningEffortId(name.toLowerCase()),
      name,
    }))
    return Promise.resolve({
      provider,
      id: model,
      name: model,
      inputModalities: ['text'],
      reasoning: { efforts },
    })
  }

  /** The step is taken when the first chunk is asked for, and stays taken when the stream is abandoned. */
  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const signals = [this.closing.signal, ...(options.signal === undefined ? [] : [options.signal])]
    if (signals.some((signal) => signal.aborted)) return yield this.aborted()
    const request = new RequestView(options)
    const cue = this.player.next(request)
    if (cue.kind === 'refuse') {
      this.onUnexpected(cue.refusal)
      const { code, message } = cue.refusal
      return yield { type: 'finish', reason: { kind: 'error', failure: { code, message } } }
    }
    const { step, answer } = cue
    // As a model on a wire does: a script that loops must not keep signals and timers from their turn.
    if (step.delayMs === 0) await turnOfEventLoop()
    else if (!(await pause(step.delayMs, signals))) return yield this.aborted()
    if (step.fault?.kind === 'hang') {
      await pause(Infinity, signals)
      return yield this.aborted()
    }
    for (const chunk of contentOf(step, answer)) {
      if (signals.some((signal) => signal.aborted)) return yield this.aborted()
      yield chunk
    }
    if (signals.some((signal) => signal.aborted)) return yield this.aborted()
    if (step.fault !== undefined) {
      const { kind, code, message } = step.fault
      return yield { type: 'finish', reason: { kind, failure: { code, message } } }
    }
    yield { type: 'usage', usage: usageOf(request, answer) }
    yield { type: 'finish', reason: { kind: answer.toolCalls.length > 0 ? 'tool-calls' : 'stop' } }
  }

  private aborted(): StreamChunk {
    const message = this.closing.signal.aborted
      ? 'the scripted model was taken away'
      : 'the request to the scripted model was aborted'
    return { type: 'finish', reason: { kind: 'aborted', failure: { code: 'ABORTED', message } } }
  }
}

/**
 * A model adapter for a script, as `new ScriptedLlm(script, options)`.
 *
 * @throws ScriptedLlmError `invalid-script`.
 */
export function scriptedAdapter(
  script: string | ScriptSource | Script,
  options: ScriptedLlmOptions = {},
): ScriptedLlm {
  return new ScriptedLlm(script, options)
}

/** A step that ends in a fault sends the first chunks of its answer only. */
function contentOf(step: Step, answer: Answer): StreamChunk[] {
  const chunks = chunksOf(answer, step.chunkChars)
  return step.fault === undefined || step.fault.kind === 'hang' ? chunks : chunks.slice(0, step.fault.after)
}
