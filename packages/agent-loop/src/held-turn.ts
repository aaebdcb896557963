/**
 * Which turn a piece of code holds up: what runs inside a tool call, or inside a hook before a step,
 * keeps the turn open until it has ended. Carried in the async context; work that such code leaves
 * behind in the background holds nothing once the call is over.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context } from '@deepseek-ai/cordis'

interface Held {
  readonly sessionId: string
  isOver: boolean
}

export class HeldTurns {
  private readonly storage = new AsyncLocalStorage<Held>()

  /** @param ctx owns the listeners. */
  constructor(ctx: Context) {
    const prepend = { prepend: true }
    ctx.on(
      'tools/execute',
      (exec, next) => (exec.agent === undefined ? next() : this.hold(exec.agent.id, next)),
      prepend,
    )
    ctx.on('agent/pre-step', ({ agent }, next) => this.hold(agent.id, next), prepend)
  }

  /** The session whose turn waits for the code that asks. */
  get sessionId(): string | undefined {
    const held = this.storage.getStore()
    return held === undefined || held.isOver ? undefined : held.sessionId
  }

  private async hold<T>(sessionId: string, next: () => Promise<T>): Promise<T> {
    const held: Held = { sessionId, isOver: false }
    try {
      return await this.storage.run(held, next)
    } finally {
      held.isOver = true
    }
  }
}
