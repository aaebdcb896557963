/** Leads from a work to the child session it is done in. */
import type { ClientContext, SessionId } from '@deepseek-ai/dsh-client-runtime/client'

/** @throws Error when DSH does not know the child (yet). */
export async function openChildSession(ctx: ClientContext, root: string, child: string): Promise<void> {
  const parentSessionId = root as SessionId
  const childSessionId = child as SessionId
  // DSH opens a child by the catalog of its parent, which it reads when somebody asks.
  await ctx.sessions.refreshSubagents(parentSessionId)
  ctx.sessions.openSubagent({ parentSessionId, childSessionId, mode: 'one-shot' })
}
