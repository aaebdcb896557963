/**
 * Ties one host to the fiber it lives on: open it, recover, provide it, and close it with the fiber.
 */
import type { Context } from '@deepseek-ai/cordis'
import { backgroundClock, systemClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import { RunHost } from './host.ts'
import { HookHost } from './hooks/hook-host.ts'
import { loadHooks, startHooks } from './hooks/start-hooks.ts'
import { DEFAULT_HOOK_SETTINGS } from './hooks/settings.ts'
import { openDoor } from './door.ts'
import { streamLimits } from './streams/limits.ts'

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
  const log = ctx.durableLog
  const settings = config.hooks ?? DEFAULT_HOOK_SETTINGS
  const hooks = new HookHost({
    ctx,
    log,
    clock,
    settings,
    runIdOf: (sessionId, messageId) => host.runIdOf(sessionId, messageId),
  })
  const outgoing = hooks.outgoing.bind(hooks)
  const events = { limits: streamLimits(config.events), background }
  const host = new RunHost({ ctx, log, clock, defaultTimeoutMs, graceMs, outgoing, events })
  ctx.effect(
    () => async () => void (await Promise.all([hooks.stop(), host.close()])),
    'lanes and hooks of the agent-loop host',
  )
  await loadHooks(ctx, hooks, settings)
  await host.recover()
  ctx.provide('agentLoopHost', openDoor(ctx, host, hooks))
  void startHooks(ctx, hooks)
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
