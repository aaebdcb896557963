/**
 * Gives each code graph its view. Names of tools are their authors', so the host is asked for them: at
 * the start, and whenever the connection to it is made anew.
 */
import type { ClientContext } from '@deepseek-ai/dsh-client-runtime/client'
import type { Desk } from './desk.ts'
import type { FeedClient } from './feed-client.ts'

export interface CodeGraphViews {
  readonly ctx: ClientContext
  readonly desk: Desk
  readonly feed: FeedClient
  /** Shows the calls of one tool; returns the undo. */
  readonly register: (tool: string) => () => void
}

export function followCodeGraphs({ ctx, desk, feed, register }: CodeGraphViews): void {
  const views = new Map<string, () => void>()
  let seen: { readonly sessionId: string; readonly leave: () => void } | undefined
  /** A run that nobody watches from its beginning cannot be drawn: the session in front is watched before. */
  const followCurrent = () => {
    const current = views.size === 0 ? undefined : ctx.sessions.list.getSnapshot().current
    if (current === seen?.sessionId) return
    seen?.leave()
    seen =
      current === undefined
        ? undefined
        : { sessionId: current, leave: feed.runsOf(current).subscribe(() => undefined) }
  }
  const look = async () => {
    const { names } = await desk('codeGraphs', {})
    for (const name of names) if (!views.has(name)) views.set(name, register(name))
    for (const [name, undo] of views) {
      if (names.includes(name)) continue
      views.delete(name)
      undo()
    }
    followCurrent()
  }
  // Calls of graphs that are not known yet have DSH's own row.
  const lookQuietly = () => void look().catch(() => undefined)
  lookQuietly()
  ctx.on('connection/reset', lookQuietly)
  ctx.effect(() => ctx.sessions.list.subscribe(followCurrent), 'runs of code graphs')
}
