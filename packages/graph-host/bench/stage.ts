/**
 * What the benches of the stack are played on: one DSH process in process, with sessions and log on disk
 * as in a profile, a root session, and a model whose answers cost nothing but the time they are told to.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { CallId, LlmAdapter, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import { sqliteLog, type DurableLog } from 'dsh-durable-log'
import type { GraphState } from 'dsh-graph-control'
import type { Config } from '../src/index.ts'
import { compose, PROVIDER, type Composition } from '../fuzz/stack/composition.ts'
import { ABORTED, pause, textAnswer } from '../fuzz/stack/model-chunks.ts'

const LOG_FILE = 'log.sqlite'
export const ROOT = 'root'

export interface StageOptions {
  readonly config: Partial<Config>
  /** How long an operator's model takes. */
  readonly operatorMs: number
}

export class Stage {
  readonly ctx: Context
  readonly root: Agent
  readonly model: BenchModel
  private readonly composition: Composition
  private readonly folder: string
  private readonly log: DurableLog
  private calls = 0

  private constructor(
    parts: Pick<Stage, 'root' | 'model'> & { composition: Composition; folder: string; log: DurableLog },
  ) {
    this.composition = parts.composition
    this.ctx = parts.composition.ctx
    this.root = parts.root
    this.model = parts.model
    this.folder = parts.folder
    this.log = parts.log
  }

  static async set({ config, operatorMs }: StageOptions): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'graph-host-bench-'))
    const log = sqliteLog({ path: join(folder, LOG_FILE) })
    const model = new BenchModel(operatorMs)
    const composition = await compose({
      log,
      adapter: model,
      config,
      persistence: (ctx) => ctx.plugin(JsonlSessionPersistence, { root: join(folder, 'sessions') }),
    })
    const { agent } = await composition.ctx.agents.create({
      sessionId: SessionId(ROOT),
      agentOptions: { provider: PROVIDER, model: 'root' },
    })
    return new Stage({ root: agent, model, composition, folder, log })
  }

  /** Calls a graph tool as the loop does, outside of any turn. */
  async call(name: 'update' | 'yield', args: object): Promise<void> {
    const result = await this.ctx.tools.execute({
      callId: CallId(`call_${(this.calls += 1)}`),
      name: `${name}_agent_graph`,
      arguments: args,
      agent: this.root,
      signal: new AbortController().signal,
    })
    if (result.isError) throw new Error(JSON.stringify(result.content))
  }

  /** Calls back at each commit to a graph, until the stage is struck. */
  onCommitted(listener: (state: GraphState) => void): () => void {
    return this.ctx.graphControl.onCommitted(listener)
  }

  /** Resolves with the first committed state that fulfils the condition. */
  when(condition: (state: GraphState) => boolean): Promise<GraphState> {
    return new Promise((resolve) => {
      const off = this.onCommitted((state) => {
        if (!condition(state)) return
        off()
        resolve(state)
      })
    })
  }

  /** Bytes of the log, with what is not in its main file yet. */
  async logBytes(): Promise<number> {
    const files = [LOG_FILE, `${LOG_FILE}-wal`]
    const sizes = files.map((file) =>
      stat(join(this.folder, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }

  async strike(): Promise<void> {
    await this.composition.dispose()
    await this.log.close()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Roots note what they hear, operators take their time. */
export class BenchModel extends LlmAdapter {
  /** When a request of the root's arrived; called with `performance.now()`. */
  onRootRequest: (at: number) => void = () => undefined
  /** When an operator's last chunk went out. */
  onOperatorEnd: (at: number) => void = () => undefined
  private readonly operatorMs: number

  constructor(operatorMs: number) {
    super()
    this.operatorMs = operatorMs
  }

  override providerInfo(provider: string) {
    return { id: provider, name: 'Bench' }
  }

  override listModels() {
    return Promise.resolve([])
  }

  override resolveModel(provider: string, model: string) {
    return Promise.resolve({ provider, id: model, name: model, inputModalities: ['text'] as const })
  }

  override async *stream({ sessionId, signal }: GenerateOptions): AsyncIterable<StreamChunk> {
    if (String(sessionId) === ROOT) {
      this.onRootRequest(performance.now())
      yield* textAnswer('noted')
      return
    }
    if (this.operatorMs > 0 && !(await pause(this.operatorMs, signal))) return yield ABORTED
    const chunks = textAnswer('done')
    yield* chunks.slice(0, -1)
    this.onOperatorEnd(performance.now())
    yield* chunks.slice(-1)
  }
}
