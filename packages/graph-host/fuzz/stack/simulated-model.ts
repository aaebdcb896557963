/** The model adapter of one simulated process: roots are minds, everybody else does a chore. */
import { LlmAdapter, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm'
import type { GraphState } from 'dsh-graph-control'
import { choreIn, doChore, type Chore } from './chores.ts'
import type { Life } from './life.ts'
import { ABORTED, errorAnswer, pause, textAnswer, toolAnswer } from './model-chunks.ts'
import type { Decision, RootMind } from './root-mind.ts'

export interface SimulatedModelDeps {
  readonly life: Life
  readonly minds: ReadonlyMap<string, RootMind>
  /** What a root would see if it looked. */
  readonly look: (rootId: string) => Promise<GraphState | undefined>
  /** @param heard what the root was told since it last answered. */
  readonly onDecision: (rootId: string, decision: Decision, heard: string) => void
  /** An operator is asked about its chore for the first time in a turn. */
  readonly onChore: (sessionId: string, chore: Chore) => void
  /** Operators of a root that a model answers now. */
  readonly onWorking: (rootId: string, sessionIds: ReadonlySet<string>) => void
}

export class SimulatedModel extends LlmAdapter {
  private readonly deps: SimulatedModelDeps
  private readonly working = new Map<string, Set<string>>()

  constructor(deps: SimulatedModelDeps) {
    super()
    this.deps = deps
  }

  override providerInfo(provider: string) {
    return { id: provider, name: 'Simulated' }
  }

  override listModels() {
    return Promise.resolve([])
  }

  override resolveModel(provider: string, model: string) {
    return Promise.resolve({ provider, id: model, name: model, inputModalities: ['text'] as const })
  }

  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const answers = this.answer(options)
    for await (const chunk of answers) {
      if (this.deps.life.isOver) await new Promise(() => undefined)
      yield chunk
    }
  }

  private answer(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const sessionId = String(options.sessionId)
    const mind = this.deps.minds.get(sessionId)
    return mind === undefined ? this.work(sessionId, options) : this.think(mind, options)
  }

  private async *think(mind: RootMind, options: GenerateOptions): AsyncIterable<StreamChunk> {
    const { life, look, onDecision } = this.deps
    const state = await life.during(() => look(mind.rootId))
    const { messages } = options
    const isNewTurn = messages.at(-1)?.content.some(({ type }) => type === 'tool-result') !== true
    const decision = mind.decide(state, isNewTurn)
    onDecision(mind.rootId, decision, newestInput(options))
    if (!(await pause(mind.thinkingMs(), options.signal))) return yield ABORTED
    if (decision.kind === 'fail') return yield* errorAnswer('UPSTREAM', 'the model does not answer')
    if (decision.kind === 'say') return yield* textAnswer(decision.text)
    yield* toolAnswer(`call_${messages.length}`, decision.tool, decision.args)
  }

  private async *work(sessionId: string, options: GenerateOptions): AsyncIterable<StreamChunk> {
    const given = choreIn(options)
    const { root } = given.chore
    if (given.isFirst) this.deps.onChore(sessionId, given.chore)
    const working = this.working.get(root) ?? new Set()
    this.working.set(root, working.add(sessionId))
    this.deps.onWorking(root, working)
    try {
      yield* doChore(given, options)
    } finally {
      working.delete(sessionId)
    }
  }
}

function newestInput({ messages }: GenerateOptions): string {
  const answered = messages.findLastIndex(({ role }) => role === 'assistant')
  const blocks = messages.slice(answered + 1).flatMap(({ content }) => content)
  return blocks.map((block) => (block.type === 'text' ? block.text : block.type)).join(' | ')
}
