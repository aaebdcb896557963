/**
 * One live mount per plugin and Cordis root.
 *
 * Two bundles may both carry a row for the same plugin (the meta bundle and a member). Both rows
 * load concurrently, and neither sees the other's service yet, so the claim is taken synchronously,
 * before anything is awaited. The claim table hangs on `globalThis` under a registered symbol,
 * because two rows may also resolve to two copies of this very module.
 *
 * Owns: who is live, who stands by. Does not own: what the live one registers; that is its fiber's.
 */
import type { Context, Fiber, Inject } from '@deepseek-ai/cordis'

/** What a plugin does once it is the live one. Registrations go on the context it receives. */
export type Mount = (ctx: Context) => unknown

/** A row of one plugin: the head of the queue is live, the rest stand by. */
interface Claimant {
  readonly promote: () => PromiseLike<Fiber>
}

const CLAIMS = Symbol.for('dsh-graph.plugin-claims')

function queueOf(root: object, name: string): Claimant[] {
  const holder = globalThis as { [CLAIMS]?: WeakMap<object, Map<string, Claimant[]>> }
  const table = (holder[CLAIMS] ??= new WeakMap())
  let queues = table.get(root)
  if (queues === undefined) table.set(root, (queues = new Map()))
  let queue = queues.get(name)
  if (queue === undefined) queues.set(name, (queue = []))
  return queue
}

/**
 * Mounts a plugin unless another row of this Cordis root already did; then this row stands by with
 * one info line and takes over when the live one is disposed.
 *
 * @param ctx the row's own context; its disposal gives the claim back.
 * @param name the plugin's package name, the key of the claim.
 * @param inject services the mount needs. A service of a sibling package belongs here and not in
 *   the row's own `inject`: the mount then waits for it while the row itself is active.
 * @param mount runs on a child context of the row; a rejection fails the row.
 */
export async function mountOnce(ctx: Context, name: string, inject: Inject, mount: Mount): Promise<void> {
  const queue = queueOf(ctx.root, name)
  let fiber: (Fiber & PromiseLike<Fiber>) | undefined
  const claimant: Claimant = {
    promote: () =>
      (fiber = ctx.plugin({ name: `${name}:live`, inject, apply: (live: Context) => mount(live) })),
  }
  queue.push(claimant)

  ctx.effect(
    () => async () => {
      const live = queue[0] === claimant
      // The leaving mount is gone before its successor provides the same services. It keeps its
      // place until then, so that a row that loads meanwhile stands by instead of colliding.
      await fiber?.dispose()
      queue.splice(queue.indexOf(claimant), 1)
      if (live) await queue[0]?.promote()
    },
    `claim of ${name}`,
  )

  if (queue[0] === claimant) await claimant.promote()
  else ctx.logger(name).info('already loaded by another row of this profile; this row stands by')
}
