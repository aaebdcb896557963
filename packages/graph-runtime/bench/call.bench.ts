/**
 * What a tool call costs on top of the graph: the same one-node graph, compiled the same way, invoked
 * bare and through its tool, in turns, so that a busy machine slows both alike. Ratios are the cost
 * of a call over the cost of the bare invoke.
 */
import { Context } from '@deepseek-ai/cordis'
import { CallId } from '@deepseek-ai/dsh-llm'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { createGraphTool } from '../src/index.ts'

export interface BenchFigure {
  bench: string
  median: number
  p95: number
  unit: string
  baseline: string
  ratio: number
  n: number
}

const ROUNDS = 1500
const WARM_UP = 300

const State = Annotation.Root({
  topic: Annotation<string>,
  log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})

const compile = () =>
  new StateGraph(State)
    .addNode('echo', (state) => ({ log: [`seen:${state.topic}`] }))
    .addEdge(START, 'echo')
    .addEdge('echo', END)
    .compile()

type Way = () => Promise<unknown>

async function timed(way: Way): Promise<number> {
  const start = performance.now()
  await way()
  return (performance.now() - start) * 1000
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

/** Runs all ways in turns and gives each its sorted times in microseconds. */
async function race(ways: readonly Way[]): Promise<number[][]> {
  const times: number[][] = ways.map(() => [])
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (let turn = 0; turn < ways.length; turn++) {
      // Who goes first changes each round.
      const at = (round + turn) % ways.length
      const time = await timed(ways[at] as Way)
      if (round >= WARM_UP) times[at]?.push(time)
    }
  }
  return times.map((list) => list.toSorted((a, b) => a - b))
}

function figure(bench: string, ours: readonly number[], bare: readonly number[]): BenchFigure {
  const [median, base] = [quantile(ours, 0.5), quantile(bare, 0.5)]
  return {
    bench,
    median,
    p95: quantile(ours, 0.95),
    unit: 'µs',
    baseline: `cost over bare graph.invoke, ${base.toFixed(0)} µs`,
    ratio: median / base,
    n: ours.length,
  }
}

async function openTools(tool: ToolDefinition): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  ctx.get('tools')?.register(tool)
  return ctx
}

export async function run(): Promise<BenchFigure[]> {
  const graph = compile()
  const parameters = { topic: { type: 'string', required: true } } as const
  const tool = createGraphTool(compile(), { name: 'echo', parameters })
  const ctx = await openTools(tool)
  const tools = ctx.get('tools')
  const { signal } = new AbortController()
  const exec = { signal } as Parameters<ToolDefinition['execute']>[1]
  const args = Object.freeze({ topic: 'moss' })
  try {
    const [bare, body, pipeline] = await race([
      () => graph.invoke({ topic: 'moss' }),
      async () => tool.output.render(args, (await tool.execute(args, exec)) as never),
      async () => tools?.execute({ callId: CallId('bench'), name: 'echo', arguments: args, signal }),
    ])
    return [
      figure('call-overhead', body ?? [], bare ?? []),
      figure('call-overhead-in-pipeline', pipeline ?? [], bare ?? []),
    ]
  } finally {
    await ctx.fiber.dispose()
  }
}
