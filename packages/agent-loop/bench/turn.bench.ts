/**
 * [turn-overhead] A turn through the host, from `accept` to the end of `wait` with SQLite durability, over
 * the same turn of a bare DSH agent, from `followup` to `whenIdle`; the model takes 100 ms. Both in turn,
 * each as often the first.
 *
 * [turn-overhead in ms] What the host adds before and after the model, whose timer is as late on one side
 * as on the other but not at the same moments. Over one bare durable append on the same file: a turn
 * writes twice, that it was accepted and started, and how it ended. On the memory log what is left is the
 * host's own work.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { createUserMessage, LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import { memoryLog, sqliteLog, type DurableLog } from 'dsh-durable-log'
import { figureOf, quantile, type BenchFigure } from '../../../scripts/figures.ts'
import * as plugin from '../src/index.ts'

const MODEL_MS = 100
const WARM_UP = 5
const ROUNDS = 40

class SlowModel extends LlmAdapter {
  /** How long the last call was under way, milliseconds. */
  tookMs = 0

  async *stream(): AsyncIterable<StreamChunk> {
    const begin = performance.now()
    // Not before 100 ms: a timer may fire a little early.
    const until = performance.now() + MODEL_MS
    while (performance.now() < until) {
      await new Promise((done) => setTimeout(done, Math.ceil(until - performance.now())))
    }
    this.tookMs = performance.now() - begin
    yield { type: 'block-start', index: 0, blockType: 'text' }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: 'ok' } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

export async function run(): Promise<BenchFigure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turn-bench-'))
  try {
    return [
      ...(await measureOn(sqliteLog({ path: join(folder, 'log.sqlite') }), 'SQLite')),
      ...(await measureOn(memoryLog(), 'memory')),
    ]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function measureOn(log: DurableLog, medium: string): Promise<BenchFigure[]> {
  const ctx = new Context()
  const model = new SlowModel()
  try {
    for (const service of [LlmRuntime, SessionStore, SystemPrompt, ToolRuntime, AgentRegistry]) {
      await ctx.plugin(service as typeof SystemPrompt, {})
    }
    await ctx.plugin(AgentLoop, { agents: [] })
    ctx.llm.registerAdapter(['slow'], model)
    ctx.provide('durableLog', log)
    await ctx.plugin(plugin, {})
    return await measure({ ctx, log, model, medium })
  } finally {
    await ctx.fiber.dispose()
    await log.close()
  }
}

async function agentOf(ctx: Context, sessionId: string): Promise<Agent> {
  const agentOptions = { provider: 'slow', model: 'm' }
  return (await ctx.agents.create({ sessionId: SessionId(sessionId), agentOptions })).agent
}

interface Bench {
  readonly ctx: Context
  readonly log: DurableLog
  readonly model: SlowModel
  readonly medium: string
}

async function measure({ ctx, log, model, medium }: Bench): Promise<BenchFigure[]> {
  await agentOf(ctx, 'hosted')
  const bare = await agentOf(ctx, 'bare')
  const host = ctx.get('agentLoopHost') as plugin.AgentLoopHost
  const sides = {
    hosted: async (round: number) => {
      const request = { sessionId: 'hosted', message: 'go', idempotencyKey: `k${round}` }
      const { runId } = await host.accept(request)
      const { status } = await host.wait({ runId })
      if (status !== 'ok') throw new Error(`a turn ended as ${status}`)
    },
    bare: async () => {
      const content = [{ type: 'text' as const, text: 'go' }]
      bare.followup(createUserMessage({ content, source: { kind: 'user' } }))
      await bare.whenIdle()
    },
    append: async (round: number) => {
      await log.append('bare/append', round, [{ type: 'bare', data: { text: 'x'.repeat(300) } }])
    },
  }
  const took: Record<keyof typeof sides, number[]> = { hosted: [], bare: [], append: [] }
  const besides: Record<keyof typeof sides, number[]> = { hosted: [], bare: [], append: [] }
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const turns = round % 2 === 0 ? (['hosted', 'bare'] as const) : (['bare', 'hosted'] as const)
    for (const side of [...turns, 'append'] as const) {
      const begin = performance.now()
      await sides[side](round)
      const ms = performance.now() - begin
      if (round < WARM_UP) continue
      took[side].push(ms)
      besides[side].push(ms - model.tookMs)
    }
  }
  const base = quantile(besides.bare, 0.5)
  const added = besides.hosted.map((ms) => ms - base)
  return [
    figureOf(`turn-overhead, ${medium}`, 'ms', {
      ours: took.hosted,
      base: took.bare,
      baseline: 'the bare agent',
    }),
    figureOf(`turn-overhead in ms, ${medium}`, 'ms', {
      ours: added,
      base: took.append,
      baseline: 'one durable append',
    }),
  ]
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
