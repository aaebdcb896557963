/**
 * What a tool call costs on top of the graph: the same one-node graph, compiled the same way, invoked
 * bare and through its tool, in turns, so that a busy machine slows both alike. Ratios are the cost
 * of a call over the cost of the bare invoke; through DSH's whole pipeline, over the cost of a tool that
 * somebody wrote by hand around the same invoke.
 */
import { Context } from '@deepseek-ai/cordis'
import { CallId } from '@deepseek-ai/dsh-llm'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime, type JsonValue, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { createGraphTool } from '../src/index.ts'
import { heapAfterGc } from '../tests/heap.ts'
import { figureOf, type BenchFigure } from '../../../scripts/figures.ts'

export type { BenchFigure }

const ROUNDS = 1500
const WARM_UP = 300
const RETAINING_CALLS = 3000

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

/** Runs all ways in turns and gives each its times in microseconds. */
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
  return times
}

/** Bytes that stay on the heap after three thousand calls with one signal. */
async function retained(call: Way): Promise<BenchFigure> {
  const before = await heapAfterGc()
  for (let i = 0; i < RETAINING_CALLS; i++) await call()
  const kept = Math.max(0, (await heapAfterGc()) - before) / 1024
  return {
    bench: 'call-retained',
    median: kept,
    p95: kept,
    unit: 'KiB',
    baseline: `over a budget of 1 MiB for ${RETAINING_CALLS} calls`,
    ratio: kept / 1024,
    n: RETAINING_CALLS,
  }
}

async function openTools(tools: readonly ToolDefinition[]): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  for (const tool of tools) ctx.get('tools')?.register(tool)
  return ctx
}

export async function run(): Promise<BenchFigure[]> {
  const graph = compile()
  const parameters = { topic: { type: 'string', required: true } } as const
  const tool = createGraphTool(compile(), { name: 'echo', parameters })
  const byHand: ToolDefinition = {
    ...tool,
    name: 'by-hand',
    execute: async (input) => (await graph.invoke(structuredClone(input) as { topic: string })) as JsonValue,
  }
  const ctx = await openTools([tool, byHand])
  const tools = ctx.get('tools')
  const { signal } = new AbortController()
  const exec = { signal } as Parameters<ToolDefinition['execute']>[1]
  const args = Object.freeze({ topic: 'moss' })
  try {
    const call = (name: string) => async () =>
      tools?.execute({ callId: CallId('bench'), name, arguments: args, signal })
    const [bare, body, pipeline, handmade] = await race([
      () => graph.invoke({ topic: 'moss' }),
      async () => tool.output.render(args, (await tool.execute(args, exec)) as never),
      call('echo'),
      call('by-hand'),
    ])
    const baseline = 'cost over bare graph.invoke'
    const piped = { ours: pipeline ?? [], base: handmade ?? [], baseline: 'cost over a tool written by hand' }
    return [
      figureOf('call-overhead', 'µs', { ours: body ?? [], base: bare ?? [], baseline }),
      figureOf('call-overhead-in-pipeline', 'µs', piped),
      await retained(() => tool.execute(args, exec)),
    ]
  } finally {
    await ctx.fiber.dispose()
  }
}
