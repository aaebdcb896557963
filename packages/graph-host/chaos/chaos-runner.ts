/**
 * The runner of a headless profile under chaos, in the place of DSH's own: a plugin row that supervises
 * the twelve works as `start` supervises its three, with a model of its own, and ends the process once
 * the graph is finished. It dies at the kill point that the command line names.
 *
 * The task is `<point> <occurrence>`, or `none`; each line on stdout is one JSON value.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '@deepseek-ai/cordis'
import { LlmAdapter, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { defineTool } from '@deepseek-ai/dsh-tools'
import z from '@deepseek-ai/schemastery'
import { Supervision } from '../../../start/supervise.ts'
import { listing } from '../fuzz/stack/chores.ts'
import { errorAnswer, textAnswer, toolAnswer } from '../fuzz/stack/model-chunks.ts'
import { MEASURE, operatorAnswer, rootAnswer, type Answer, type Told } from './chaos-works.ts'
import { KillPoint, POINTS, type Aim } from './kill-point.ts'

export const ROOT = 'chaos-root'

/** What the process tells; `done` comes last. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'killed'; readonly point: Aim['point'] }
  | { readonly kind: 'done'; readonly answer: string; readonly passed: KillPoint['passed'] }

/** Between two chunks, so that a kill finds turns that are under way. */
const CHUNK_MS = 4

class ChaosModel extends LlmAdapter {
  private readonly ctx: Context
  private readonly point: KillPoint

  constructor(ctx: Context, point: KillPoint) {
    super()
    this.ctx = ctx
    this.point = point
  }

  override providerInfo(provider: string) {
    return { id: provider, name: 'Chaos' }
  }

  override listModels() {
    return Promise.resolve([])
  }

  override resolveModel(provider: string, model: string) {
    return Promise.resolve({ provider, id: model, name: model, inputModalities: ['text'] as const })
  }

  override async *stream({ messages, sessionId }: GenerateOptions): AsyncIterable<StreamChunk> {
    const isRoot = String(sessionId) === ROOT
    const told = textsOf(messages)
    const isWoken = isRoot && told.findLast(({ isSaid }) => isSaid)?.text.startsWith('Agent graph ') === true
    const answer = isRoot ? await this.rootAnswer() : operatorAnswer(told)
    for (const chunk of chunksOf(answer, `call_${messages.length}`)) {
      if (!isRoot) this.point.pass('child-turn')
      if (isWoken) this.point.pass('wake')
      await pause(CHUNK_MS)
      yield chunk
    }
  }

  private async rootAnswer(): Promise<Answer> {
    const { graphControl } = this.ctx
    const epoch = await graphControl.currentEpoch(ROOT)
    return rootAnswer(epoch === undefined ? undefined : await graphControl.readGraph(epoch.graphId))
  }
}

function textsOf(messages: GenerateOptions['messages']): readonly Told[] {
  return messages.flatMap(({ content, role }) => {
    if (role === 'assistant' || role === 'system') return []
    return content.flatMap((block): Told[] => {
      if (block.type === 'text') return [{ text: block.text, isSaid: true }]
      if (block.type !== 'tool-result') return []
      const text = block.content.map((inner) => (inner.type === 'text' ? inner.text : '')).join('')
      return [{ text, isSaid: false }]
    })
  })
}

function chunksOf(answer: Answer, callId: string): readonly StreamChunk[] {
  switch (answer.kind) {
    case 'text':
      return textAnswer(answer.text)
    case 'call':
      return toolAnswer(callId, answer.tool, answer.args)
    case 'failure':
      return errorAnswer(answer.code, answer.message)
  }
}

const measure = defineTool({
  name: MEASURE,
  description: 'Measures.',
  parameters: { what: { type: 'string', required: true } },
  output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
  execute: async ({ what }) => {
    await pause(CHUNK_MS)
    return `the ${what} is 40 m high`
  },
})

export const name = 'chaos-runner'
export const inject = ['agents', 'llm', 'tools', 'durableLog', 'headlessStartup']
export const Config: z<{ task: string }> = z.object({ task: z.string().required() })

export function apply(ctx: Context, { task }: { readonly task: string }): void {
  const point = new KillPoint(aimOf(task))
  point.watch(ctx.durableLog)
  ctx.tools.register(measure)
  const needs = ['agentLoopHost', 'agentGraphController', 'graphControl', 'graphTools', 'sessionPersistence']
  ctx.inject(needs, (live: Context) => {
    live.llm.registerAdapter(['scripted'], new ChaosModel(live, point))
    live.graphTools.mount(listing, live)
    void supervise(live, point).then(
      () => process.kill(process.pid, 'SIGTERM'),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, () =>
          process.exit(1),
        )
      },
    )
  })
}

function aimOf(task: string): Aim | undefined {
  const [name = '', occurrence = ''] = task.split(' ')
  const point = POINTS.find((one) => one === name)
  return point === undefined ? undefined : { point, occurrence: Number(occurrence) }
}

async function supervise(ctx: Context, { passed }: KillPoint): Promise<void> {
  report({ kind: 'ready' })
  const errand = { version: 1, sessionId: ROOT, task: 'Twelve works', startedAt: Date.now() } as const
  const view = { show: () => undefined, close: () => undefined }
  const { answer } = await new Supervision(ctx, errand, view).run(new AbortController().signal)
  report({ kind: 'done', answer, passed })
}

function report(line: Report): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
