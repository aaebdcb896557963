/**
 * What a call of the tools costs in a graph of 10², 10³ and 10⁴ works, through the real tool runtime
 * on a SQLite file: an update that adds one work, a view, and a view that acknowledges what ended
 * since the one before, which is one append more. Against the smallest graph of the same run, which shows whether the cost is flat,
 * and beyond the append that is in it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { sqliteLog, type DurableLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { figureOf, quantile, type BenchFigure } from '../../../scripts/figures.ts'
import { createAgentGraphController } from '../src/index.ts'
import { bootCore, callTool, HandExecutor, makeAgent, mountTools, textOf } from '../tests/core.ts'

const SIZES = [100, 1_000, 10_000] as const
const GRAPHS = { 100: 20, 1_000: 4, 10_000: 1 } as const
const CALLS = 200
const WARM_UP = 20

/** Graphs of one size, called in turns: a small one would not stay small under all the calls. */
interface Bed {
  readonly size: number
  readonly agents: readonly Agent[]
  readonly update: number[]
  readonly view: number[]
  readonly seen: number[]
  readonly append: number[]
  /** Bytes of text of the newest answers. */
  bytes: { update: number; view: number }
  next: number
}

export async function run(): Promise<BenchFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'graph-bench-'))
  const log = new TimedLog(sqliteLog({ path: join(folder, 'log.sqlite') }))
  const ctx = await bootCore()
  const store = await GraphControlStore.open(log.timed)
  const controllers = new Map<string, ReturnType<typeof createAgentGraphController>>()
  try {
    await mountTools(ctx)
    ctx.provide('agentGraphController', { forSession: (id: string) => controllers.get(id) })
    const beds: Bed[] = []
    for (const size of SIZES) {
      const agents: Agent[] = []
      for (let copy = 0; copy < GRAPHS[size]; copy++)
        agents.push(await makeAgent(ctx, `root-${size}-${copy}`))
      // Nothing is admitted, so that every commit is one of the calls.
      const options = { executor: new HandExecutor(), maxNewActivations: 0 }
      for (const { id } of agents)
        controllers.set(id, createAgentGraphController({ store, rootSessionId: id, options }))
      const bed: Bed = {
        size,
        agents,
        update: [],
        view: [],
        seen: [],
        append: [],
        bytes: { update: 0, view: 0 },
        next: size,
      }
      for (const agent of agents) await fill(ctx, agent, size)
      beds.push(bed)
    }
    // In turns, so that whatever else the machine does meets all sizes alike.
    for (let round = 0; round < CALLS + WARM_UP; round++)
      for (const bed of beds) await measure(ctx, log, bed, round >= WARM_UP)
    return figuresOf(beds)
  } finally {
    for (const controller of controllers.values()) await controller.dispose()
    await ctx.root.fiber.dispose()
    await store.close()
    await log.timed.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A log that tells how long the appends take. */
class TimedLog {
  readonly timed: DurableLog
  spentMs = 0

  constructor(log: DurableLog) {
    const append: DurableLog['append'] = async (...request) => {
      const start = performance.now()
      try {
        return await log.append(...request)
      } finally {
        this.spentMs += performance.now() - start
      }
    }
    this.timed = new Proxy(log, {
      get: (target, key) => {
        if (key === 'append') return append
        const value: unknown = Reflect.get(target, key)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  }
}

const work = (index: number) => ({
  workId: `work-${index}`,
  title: `Review part ${index} of the tree`,
  instruction: 'Read the part and its tests, list every fault with its line, mend it, and run the tests.',
})

async function say(ctx: Context, agent: Agent, tool: 'view' | 'update', args: object): Promise<string> {
  const result = await callTool(ctx, agent, `${tool}_agent_graph`, args)
  if (result.isError) throw new Error(textOf(result))
  return textOf(result)
}

/** Half of the works have ended, a tenth of the rest waits for another one. */
async function fill(ctx: Context, agent: Agent, size: number): Promise<void> {
  for (let from = 0; from < size; from += 20) {
    const indices = Array.from({ length: Math.min(20, size - from) }, (_, at) => from + at)
    const addWork = indices.map((index) => ({
      ...work(index),
      ...(index % 20 === 19 ? { inputIds: [`work-${index - 1}`] } : {}),
    }))
    await say(ctx, agent, 'update', { addWork })
    const ended = indices.filter((index) => index % 2 === 1 && index % 20 !== 19)
    await say(ctx, agent, 'update', {
      stop: ended.map((index) => ({ targetId: `work-${index}`, reason: 'not needed any more' })),
    })
  }
}

async function measure(ctx: Context, log: TimedLog, bed: Bed, isKept: boolean): Promise<void> {
  const index = (bed.next += 1)
  const agent = bed.agents[index % bed.agents.length]
  if (agent === undefined) return
  // Each round in a turn of its own: who looks again and again within one is refused.
  agent.session.append('turn/start', { turn: bed.next })
  log.spentMs = 0
  const update = await timed(() => say(ctx, agent, 'update', { addWork: [work(index)] }))
  const appendMs = log.spentMs
  await say(ctx, agent, 'update', { stop: [{ targetId: `work-${index}`, reason: 'not needed any more' }] })
  const seen = await timed(() => say(ctx, agent, 'view', {}))
  const view = await timed(() => say(ctx, agent, 'view', {}))
  bed.bytes = { update: Buffer.byteLength(update.value), view: Buffer.byteLength(view.value) }
  if (!isKept) return
  bed.update.push(update.ms)
  bed.append.push(appendMs)
  bed.view.push(view.ms)
  bed.seen.push(seen.ms)
}

async function timed<T>(act: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const start = performance.now()
  const value = await act()
  return { ms: performance.now() - start, value }
}

function figuresOf(beds: readonly Bed[]): BenchFigure[] {
  const [smallest] = beds
  if (smallest === undefined) return []
  return beds.flatMap((bed) => [
    figureOf(`[update-flat] ${bed.size} works, ${bed.bytes.update} bytes`, 'ms', {
      ours: bed.update,
      base: smallest.update,
      baseline: `cost over that at ${smallest.size} works`,
    }),
    beyondAppend(bed),
    figureOf(`[view-flat] ${bed.size} works, ${bed.bytes.view} bytes`, 'ms', {
      ours: bed.view,
      base: smallest.view,
      baseline: `cost over that at ${smallest.size} works`,
    }),
    figureOf(`view that acknowledges, ${bed.size} works`, 'ms', {
      ours: bed.seen,
      base: smallest.seen,
      baseline: `cost over that at ${smallest.size} works`,
    }),
  ])
}

/** What an update takes beyond the append in it. */
function beyondAppend({ size, update, append }: Bed): BenchFigure {
  const beyond = update.map((ms, at) => ms - (append[at] ?? 0))
  const base = quantile(append, 0.5)
  return {
    bench: `update beyond its append, ${size} works`,
    median: quantile(beyond, 0.5),
    p95: quantile(beyond, 0.95),
    unit: 'ms',
    baseline: `its append, ${base.toPrecision(3)} ms`,
    ratio: quantile(beyond, 0.5) / base,
    n: beyond.length,
  }
}
