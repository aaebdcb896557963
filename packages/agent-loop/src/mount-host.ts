/**
 * Ties one host to the fiber it lives on: open it, recover, provide it, and close it with the fiber.
 */
import type { Context } from '@deepseek-ai/cordis'
import { leaseStore, type Processes } from 'dsh-durable-log'
import { backgroundClock, systemClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import { RunHost } from './host.ts'
import { leaseMsOf, openLanes } from './engines/open-lanes.ts'
import { HookHost } from './hooks/hook-host.ts'
import { loadHooks, startHooks } from './hooks/start-hooks.ts'
import { DEFAULT_HOOK_SETTINGS } from './hooks/settings.ts'
import { openDoor } from './door.ts'
import { openDoors } from './doors/open-doors.ts'
import { ModelDetours } from './model-detours.ts'
import { personConfig } from './person-config.ts'

/** The part of the Cordis loader that tells when a boot has settled. */
interface Settling {
  await(): Promise<unknown>
}

/** Hosts follow each other in one process, which has one at a time: the next takes its sessions at once. */
const HOLDER = 'dsh-agent-loop-host'

export interface MountOptions {
  readonly clock?: Clock
  /** The clock of the leases, which live longer than any run. */
  readonly leaseClock?: Clock
  /** Times what nobody waits for. */
  readonly background?: Clock
  readonly processes?: Processes
}

/**
 * Resolves when the host has read what is stored and `ctx.agentLoopHost` is there.
 *
 * @param ctx injects `agents`, `sessions` and `durableLog`.
 */
export async function mountHost(
  ctx: Context,
  configured: Config,
  { clock = systemClock, leaseClock = clock, background = backgroundClock, processes }: MountOptions = {},
): Promise<RunHost> {
  const log = ctx.durableLog
  const config = personConfig(ctx, configured)
  const logger = ctx.logger('agent-loop-host')
  const engine = await openLanes({
    config,
    log,
    clock: background,
    warn: (text) => void logger.warn(text),
    homeOf: (sessionId, lane) => host.homes.homeOf(sessionId, lane),
    open: () => host.homes.openSessions(),
  })
  const leases = leaseStore({
    log,
    holderId: engine?.hostId ?? HOLDER,
    ttlMs: leaseMsOf(config),
    clock: { now: () => leaseClock.now(), monotonic: () => leaseClock.monotonic() },
    ...(processes === undefined ? {} : { processes }),
  })
  const detours = new ModelDetours()
  const settings = config.hooks ?? DEFAULT_HOOK_SETTINGS
  const hooks: HookHost = new HookHost({
    ctx,
    log,
    clock,
    settings,
    detours,
    runIdOf: (sessionId, messageId) => host.runIdOf(sessionId, messageId),
  })
  const outgoing = hooks.outgoing.bind(hooks)
  const host: RunHost = new RunHost({
    ctx,
    log,
    clock,
    config,
    engine,
    leases,
    leaseClock,
    background,
    outgoing,
    detours,
  })
  ctx.effect(
    () => async () => void (await Promise.all([hooks.stop(), host.close()])),
    'lanes and hooks of the agent-loop host',
  )
  await loadHooks(ctx, hooks, settings)
  await host.recover()
  const door = openDoor(ctx, host, hooks)
  ctx.provide('agentLoopHost', door)
  openDoors(ctx, door, { web: config.webDoor })
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
