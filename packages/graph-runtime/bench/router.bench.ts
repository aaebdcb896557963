/**
 * What a router costs on top of the model call and the graph run, with 50 graphs offered. Both ways are
 * timed in turns: a routing, and the same model calls through `ctx.llm` followed by the same run through
 * the entry. The median is the difference of the two in one turn, for one attempt; the ratio is the
 * cost of the routing over the cost of the bare calls.
 */
import { Context } from '@deepseek-ai/cordis'
import {
  BlockAssembler,
  CallId,
  LlmAdapter,
  LlmRuntime,
  type GenerateOptions,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime } from '@deepseek-ai/dsh-tools'
import * as graphRuntime from '../src/index.ts'
import type { BenchFigure } from './call.bench.ts'

const GRAPHS = 50
const ROUNDS = 1000
const WARM_UP = 300
const BUDGET_US = 200

/** Calls a graph with wrong arguments `wrong` times, then with right ones. */
class Model extends LlmAdapter {
  private readonly wrong: number

  constructor(wrong: number) {
    super()
    this.wrong = wrong
  }

  // oxlint-disable-next-line require-await -- the contract is an async iterable
  override async *stream({ messages }: GenerateOptions): AsyncIterable<StreamChunk> {
    const answered = messages.filter(({ role }) => role === 'assistant').length
    const args = answered < this.wrong ? `{"topic":${answered}}` : '{"topic":"moss","style":"formal"}'
    const id = CallId(`c${answered}`)
    yield { type: 'tool-call-delta', index: 0, id, name: 'graph_7', argumentsDelta: args }
    yield { type: 'usage', usage: { inputTokens: 900, outputTokens: 20 } }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

const parameters = {
  topic: { type: 'string', required: true, description: 'What it is about.' },
  style: { type: 'string', enum: ['formal', 'casual'], description: 'How to say it.' },
  times: { type: 'integer', description: 'How often.' },
} as const

async function open(wrong: number): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(graphRuntime, {})
  for (let i = 0; i < GRAPHS; i++) {
    const graph = { invoke: async (input: unknown) => ({ input }) }
    const options = { name: `graph_${i}`, description: `Graph number ${i}.`, parameters }
    ctx.get('graphTools')?.register(graph, ctx, options)
  }
  ctx.get('llm')?.registerAdapter(['bench'], new Model(wrong))
  return ctx
}

/** The model calls of a routing, as often as it makes them, and the run that it ends with. */
function bareWay(ctx: Context, requests: readonly GenerateOptions[]): () => Promise<void> {
  const [llm, graphs] = [ctx.get('llm'), ctx.get('graphTools')]
  return async () => {
    let args = ''
    for (const request of requests) {
      const assembler = new BlockAssembler()
      for await (const chunk of llm?.stream(request) ?? []) assembler.push(chunk)
      const [block] = assembler.blocks()
      if (block?.type === 'tool-call') args = block.arguments
    }
    await graphs?.get('graph_7')?.run(JSON.parse(args), { request: 'x' })
  }
}

async function timed(way: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await way()
  return (performance.now() - start) * 1000
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

async function measure(bench: string, wrong: number, listen: boolean): Promise<BenchFigure> {
  const ctx = await open(wrong)
  const attempts = wrong + 1
  try {
    const requests: GenerateOptions[] = []
    const note = ctx.on('llm/stream', (options, next) => (requests.push(options), next()))
    const router = new graphRuntime.GraphRoutingAgent(ctx, { provider: 'bench', model: 'm' })
    const routed = (): Promise<unknown> => router.route({ input: 'say something about moss' })
    await routed()
    note()
    if (listen) {
      ctx.on('graphTools/pre-execute', (_execution, next) => next())
      ctx.on('graphTools/post-execute', (_execution, _outcome, next) => next())
    }
    const bare = bareWay(ctx, requests.slice())
    const [whole, base, extra]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const first = round % 2 === 0 ? await timed(routed) : await timed(bare)
      const second = round % 2 === 0 ? await timed(bare) : await timed(routed)
      if (round < WARM_UP) continue
      const [ours, theirs] = round % 2 === 0 ? [first, second] : [second, first]
      whole.push(ours)
      base.push(theirs)
      extra.push((ours - theirs) / attempts)
    }
    const bareMedian = quantile(base, 0.5)
    return {
      bench,
      median: quantile(extra, 0.5),
      p95: quantile(extra, 0.95),
      unit: 'µs an attempt',
      baseline: `cost over ${attempts} model call(s) and the run, ${bareMedian.toFixed(0)} µs; budget ${BUDGET_US} µs`,
      ratio: quantile(whole, 0.5) / bareMedian,
      n: extra.length,
    }
  } finally {
    await ctx.fiber.dispose()
  }
}

export async function run(): Promise<BenchFigure[]> {
  return [
    await measure('router', 0, false),
    await measure('router-with-listeners', 0, true),
    await measure('router-with-two-retries', 2, false),
  ]
}
