/**
 * Ties one host to the fiber it lives on: open it, recover, provide it, and close it with the fiber.
 */
import type { Context } from '@deepseek-ai/cordis'
import { backgroundClock, systemClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import { RunHost } from './host.ts'
import { streamLimits } from './streams/limits.ts'
import type { AgentLoopHost } from './types.ts'

/** The part of the Cordis loader that tells when a boot has settled. */
interface Settling {
  await(): Promise<unknown>
}

/**
 * Resolves when the host has read what is stored and `ctx.agentLoopHost` is there.
 *
 * @param ctx injects `agents`, `sessions` and `durableLog`.
 * @param background times what nobody waits for.
 */
export async function mountHost(
  ctx: Context,
  config: Config,
  clock: Clock = systemClock,
  background: Clock = backgroundClock,
): Promise<RunHost> {
  const { defaultTimeoutMs, graceMs } = config
  const events = { limits: streamLimits(config.events), background }
  const host = new RunHost({ ctx, log: ctx.durableLog, clock, defaultTimeoutMs, graceMs, events })
  ctx.effect(() => () => host.close(), 'lanes of the agent-loop host')
  await host.recover()
  ctx.provide('agentLoopHost', facade(host))
  if (config.recover === 'all') void adoptAfterBoot(ctx, host)
  return host
}

/** Openers register while the profile boots; foreign sessions are opened when all had the chance. */
async function adoptAfterBoot(ctx: Context, host: RunHost): Promise<void> {
  const loader = ctx.get('loader') as Settling | undefined
  try {
    await loader?.await()
  } catch {
    // A boot that failed reports itself; the runs are still ours.
  }
  host.adoptAll()
}

/** Plain functions: a class instance read through a context would be handed out as a proxy of it. */
function facade(host: RunHost): AgentLoopHost {
  return Object.freeze({
    accept: (request) => host.accept(request),
    wait: (request) => host.wait(request),
    abort: (request) => host.abort(request),
    read: (runId) => host.read(runId),
    lanes: () => host.lanes(),
    registerOpener: (opener) => host.registerOpener(opener),
    subscribe: (request) => host.events.subscribe(request),
    registerMessagingTool: (tool) => host.events.registerMessagingTool(tool),
  } satisfies AgentLoopHost)
}
