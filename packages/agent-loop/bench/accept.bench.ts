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
import { figureOf, quantile, type BenchFigure } from '../../../scripts/figures.ts'

const WARM_UP = 50
const ROUNDS = 400
const SESSIONS = 10

export async function run(): Promise<BenchFigure[]> {
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
  // Nothing gives way: an accept is measured, not what it may do to a full queue.
  await ctx.plugin(plugin, { queue: { ...plugin.Config({}).queue, cap: 10_000 } })
  const host = ctx.get('agentLoopHost') as plugin.AgentLoopHost
  host.registerOpener(
    (_sessionId, signal) =>
      new Promise((_done, fail) => {
        signal.addEventListener('abort', () => fail(signal.reason), { once: true })
      }),
  )
  return host
}

async function measure(host: plugin.AgentLoopHost, log: DurableLog): Promise<BenchFigure> {
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
  return figureOf('accept', 'ms', {
    ours: accepts,
    base: appends,
    baseline: `one durable append, p95 ${quantile(appends, 0.95).toFixed(3)} ms`,
  })
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

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
