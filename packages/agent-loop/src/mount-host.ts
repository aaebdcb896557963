/**
 * Ties one host to the fiber it lives on: open it, recover, provide it, and close it with the fiber.
 */
import type { Context } from '@deepseek-ai/cordis'
import { leaseStore, type Processes } from 'dsh-durable-log'
import { systemClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import { RunHost } from './host.ts'
import type { AgentLoopHost } from './types.ts'

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
  readonly processes?: Processes
}

/**
 * Resolves when the host has read what is stored and `ctx.agentLoopHost` is there.
 *
 * @param ctx injects `agents`, `sessions` and `durableLog`.
 */
export async function mountHost(
  ctx: Context,
  config: Config,
  { clock = systemClock, leaseClock = clock, processes }: MountOptions = {},
): Promise<void> {
  const log = ctx.durableLog
  const leases = leaseStore({
    log,
    holderId: HOLDER,
    ttlMs: config.leaseMs,
    clock: { now: () => leaseClock.now(), monotonic: () => leaseClock.monotonic() },
    ...(processes === undefined ? {} : { processes }),
  })
  const host = new RunHost({ ctx, log, clock, config, leases, leaseClock })
  ctx.effect(() => () => host.close(), 'lanes of the agent-loop host')
  await host.recover()
  ctx.provide('agentLoopHost', facade(host))
  if (config.recover === 'all') void adoptAfterBoot(ctx, host)
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
    metrics: () => host.metrics(),
    queue: host.queue,
    configure: (sessionId, changes) => host.configure(sessionId, changes),
    settings: (sessionId) => host.settings(sessionId),
    drain: (options) => host.drain(options),
    observe: (listener) => host.observe(listener),
    registerOpener: (opener) => host.registerOpener(opener),
  } satisfies AgentLoopHost)
}
