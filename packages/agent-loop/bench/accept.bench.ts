/**
 * [accept] From `accept` to its ack with SQLite durability, over one bare durable append of the same
 * size to the same file. Both are measured in turn, so that a slow moment of the disk hits both.
 *
 * The sessions are never opened: the first run of each waits for its opener, all others in the lane.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import SessionStore from '@deepseek-ai/dsh-session'
import { sqliteLog, type DurableLog, type JsonValue } from 'dsh-durable-log'
import * as plugin from '../src/index.ts'

export interface BenchResult {
  readonly bench: string
  readonly median: number
  readonly p95: number
  readonly unit: string
  readonly baseline: string
  readonly ratio: number
  readonly n: number
}

const WARM_UP = 50
const ROUNDS = 400
const SESSIONS = 10

export async function run(): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'accept-bench-'))
  const log = sqliteLog({ path: join(folder, 'log.sqlite') })
  const ctx = new Context()
  try {
    return [await measure(await mount(ctx, log), log)]
  } finally {
    await ctx.fiber.dispose()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function mount(ctx: Context, log: DurableLog): Promise<plugin.AgentLoopHost> {
  await ctx.plugin(SessionStore)
  await ctx.plugin(AgentRegistry)
  ctx.provide('durableLog', log)
  await ctx.plugin(plugin, {})
  const host = ctx.get('agentLoopHost') as plugin.AgentLoopHost
  host.registerOpener(
    (_sessionId, signal) =>
      new Promise((_done, fail) => {
        signal.addEventListener('abort', () => fail(signal.reason), { once: true })
      }),
  )
  return host
}

async function measure(host: plugin.AgentLoopHost, log: DurableLog): Promise<BenchResult> {
  const accepts: number[] = []
  const appends: number[] = []
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const sessionId = `session-${round % SESSIONS}`
    const [first, second] = round % 2 === 0 ? ['accept', 'append'] : ['append', 'accept']
    for (const what of [first, second]) {
      const begin = performance.now()
      if (what === 'accept')
        await host.accept({ sessionId, message: 'x'.repeat(200), idempotencyKey: `k${round}` })
      else
        await log.append(`bare/${sessionId}`, Math.floor(round / SESSIONS), [
          { type: 'bare', data: bareData(round) },
        ])
      const took = performance.now() - begin
      if (round >= WARM_UP) (what === 'accept' ? accepts : appends).push(took)
    }
  }
  const baseline = quantile(appends, 0.5)
  const median = quantile(accepts, 0.5)
  return {
    bench: 'accept',
    median,
    p95: quantile(accepts, 0.95),
    unit: 'ms',
    baseline: `one durable append, median ${baseline.toFixed(3)} ms, p95 ${quantile(appends, 0.95).toFixed(3)} ms`,
    ratio: median / baseline,
    n: accepts.length,
  }
}

/** As large as an accepted entry. */
function bareData(round: number): JsonValue {
  return {
    v: 1,
    runId: `run_${'0'.repeat(32)}`,
    key: `k${round}`,
    fingerprint: 'f'.repeat(64),
    messageId: `run-message_${'0'.repeat(32)}`,
    acceptedAt: 1_700_000_000_000,
    request: { message: 'x'.repeat(200), provenance: { kind: 'user' } },
  }
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
