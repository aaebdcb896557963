/** What DSH keeps of sessions that are not live: whether one is there, whether a person put it away. */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'

/** What is used of DSH's workspaces, which only the web profile has. */
interface Workspaces {
  readonly archivedSessionIds: readonly string[]
}

/** @throws what the persistence says of a session that is there and cannot be read. */
export async function isSessionStored(ctx: Context, sessionId: string): Promise<boolean> {
  const persistence = ctx.get('sessionPersistence')
  if (persistence === undefined) return false
  try {
    await persistence.inspect(SessionId(sessionId))
    return true
  } catch (error) {
    // A damaged session is not a missing one: making it anew would lose its history unseen.
    if (isSessionMissing(error, sessionId)) return false
    throw error
  }
}

/** A person closed the session: nothing of it goes on until it is opened again. */
export function isSessionArchived(ctx: Context, sessionId: string): boolean {
  const workspaces = ctx.get('workspaceRegistry') as Workspaces | undefined
  return workspaces?.archivedSessionIds.includes(sessionId) ?? false
}

/** DSH's persistence has no code for it; this is what each of its ways to read says. */
function isSessionMissing(error: unknown, sessionId: string): boolean {
  return error instanceof Error && error.message === `session "${sessionId}" not found`
}
