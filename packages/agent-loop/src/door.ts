/**
 * The service as plugins see it: plain functions, so that no class instance is handed out as a proxy of
 * its inside. `hook` alone is told whose context it is called through, to become an effect of it.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import { AgentLoopError } from './errors.ts'
import type { RunHost } from './host.ts'
import type { HookHost } from './hooks/hook-host.ts'
import type { AgentLoopHost } from './types.ts'

/** @param ctx the host's own context. */
export function openDoor(ctx: Context, host: RunHost, hooks: HookHost): AgentLoopHost {
  const door = {
    ctx,
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
    isDraining: () => host.isDraining(),
    watchLanes: (listener) => host.watchLanes(listener),
    observe: (listener) => host.observe(listener),
    registerOpener: (opener) => host.registerOpener(opener),
    subscribe: (request) => host.events.subscribe(request),
    registerMessagingTool: (tool) => host.events.registerMessagingTool(tool),
    hook(name, handler, options) {
      const caller = (this as { readonly ctx?: Context } | undefined)?.ctx
      if (caller === undefined) {
        throw new AgentLoopError('invalid', 'hook refused: call it as ctx.agentLoopHost.hook(…)')
      }
      return hooks.hook(caller, name, handler, options)
    },
  } satisfies AgentLoopHost & { ctx: Context }
  // Cordis then puts the caller's context in the place of `ctx`.
  return Object.defineProperty(door, Service.tracker, { value: { property: 'ctx' } })
}
