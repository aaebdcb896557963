/**
 * How the agent of a session becomes live: it is already, or a registered opener makes it so, or the
 * default one resumes it from the session persistence. Sessions are opened one call at a time each.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { AgentLoopError } from './errors.ts'
import type { DescribedData } from './entries.ts'
import { createKeyedSession, resumeSession, type OpenedSession } from './resume-session.ts'
import type { SessionOpener } from './types.ts'

export class Openers {
  private readonly ctx: Context
  private readonly agents: Context['agents']
  private readonly describe: (sessionId: string) => DescribedData | undefined
  private readonly registered: SessionOpener[] = []
  private readonly opening = new Map<string, Promise<unknown>>()
  /** What the default opener has opened. */
  private readonly own = new Map<string, OpenedSession>()

  /**
   * @param ctx owns the agents that the default opener makes and resumes.
   * @param describe what is known of a session that a key names.
   */
  constructor(ctx: Context, describe: (sessionId: string) => DescribedData | undefined) {
    this.ctx = ctx
    this.describe = describe
    this.agents = ctx.agents
  }

  register(opener: SessionOpener): () => void {
    this.registered.push(opener)
    return () => {
      const index = this.registered.indexOf(opener)
      if (index >= 0) this.registered.splice(index, 1)
    }
  }

  live(sessionId: string): Agent | undefined {
    return this.agents.get(SessionId(sessionId))
  }

  /**
   * The live agent of the session, opened when needed.
   *
   * @throws `session-not-found` when nobody can open it, or what the opener in charge throws.
   */
  open(sessionId: string, signal: AbortSignal): Promise<Agent> {
    return this.exclusively(sessionId, async () => {
      const agent = this.live(sessionId) ?? (await this.askAll(sessionId, signal))
      signal.throwIfAborted()
      return agent ?? (await this.resume(sessionId, signal))
    })
  }

  /** Asks one opener whether the session is its own. */
  probe(opener: SessionOpener, sessionId: string, signal: AbortSignal): Promise<Agent | undefined> {
    return this.exclusively(
      sessionId,
      async () => this.live(sessionId) ?? (await ask(opener, sessionId, signal)),
    )
  }

  /**
   * Closes a session that another host has taken over, whose agent here does not know what happens to it
   * there. @returns whether no such agent is left.
   */
  async letGo(sessionId: string): Promise<boolean> {
    return await this.exclusively(sessionId, async () => {
      const agent = this.live(sessionId)
      const opened = this.own.get(sessionId)
      this.own.delete(sessionId)
      if (agent === undefined) return true
      if (opened?.agent !== agent) return false
      await opened.dispose()
      return true
    })
  }

  private async askAll(sessionId: string, signal: AbortSignal): Promise<Agent | undefined> {
    for (const opener of this.registered.slice()) {
      const agent = await ask(opener, sessionId, signal)
      if (agent !== undefined) return agent
      signal.throwIfAborted()
    }
    return undefined
  }

  private async resume(sessionId: string, signal: AbortSignal): Promise<Agent> {
    const described = this.describe(sessionId)
    try {
      const made =
        described?.key === undefined
          ? undefined
          : await createKeyedSession(this.ctx, this.agents, sessionId, described, signal)
      const opened = made ?? (await resumeSession(this.ctx, this.agents, sessionId, signal))
      this.own.set(sessionId, opened)
      return opened.agent
    } catch (error) {
      // Somebody else, a person in the web app for one, may have opened it meanwhile.
      const agent = this.live(sessionId)
      if (agent === undefined) throw error
      return agent
    }
  }

  private async exclusively<T>(sessionId: string, open: () => Promise<T>): Promise<T> {
    const before = this.opening.get(sessionId)
    const mine = (async () => {
      await before?.catch(() => undefined)
      return await open()
    })()
    this.opening.set(sessionId, mine)
    try {
      return await mine
    } finally {
      if (this.opening.get(sessionId) === mine) this.opening.delete(sessionId)
    }
  }
}

async function ask(
  opener: SessionOpener,
  sessionId: string,
  signal: AbortSignal,
): Promise<Agent | undefined> {
  const agent = await opener(sessionId, signal)
  if (agent !== undefined && agent.id !== sessionId) {
    throw new AgentLoopError(
      'session-not-found',
      `an opener answered with agent ${JSON.stringify(agent.id)} for session ${JSON.stringify(sessionId)}`,
    )
  }
  return agent
}
