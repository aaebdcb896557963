/**
 * An operator of a root that this process does not drive any more runs no tools: another process has
 * the work by now, and the two must not both act on the world.
 */
import type { Context } from '@deepseek-ai/cordis'

export interface LeaseGuardDeps {
  /** The root of an operator's session, if the session is one. */
  readonly rootOf: (sessionId: string) => string | undefined
  readonly holds: (rootSessionId: string) => boolean
}

export function guardOperators(ctx: Context, { rootOf, holds }: LeaseGuardDeps): void {
  ctx.tools.guard(({ agent }) => {
    const root = agent === undefined ? undefined : rootOf(agent.id)
    if (root === undefined || holds(root)) return undefined
    return 'another process has taken this work over; end your turn now'
  })
}
