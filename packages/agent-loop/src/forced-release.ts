/**
 * The end of a turn that does not heed its cancellation. After the grace the turn is *released*: whatever
 * it waits for is answered for, so that the loop can close the turn, and what it still tries is refused. A
 * late answer concerns nobody.
 *
 * A turn waits in the model, in a tool, and in what others do around both: a policy that asks a person, a
 * compaction with a model call of its own. All of them are waited for through DSH's extension points, and
 * this stands before everybody else there. Out of reach is what DSH asks without one: an adapter that looks
 * its model up, a section of the system prompt, a listener of `agent/turn-stopping`.
 *
 * The turn's number is the token: a release never touches a later turn of the same session.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import { AgentLoopError } from './errors.ts'

const RELEASED = 'the run was ended at its limit and its turn was released'

export class ForcedReleases {
  /** The released turn of a session, until it has closed. */
  private readonly released = new Map<string, number>()
  /** What the open turn of a session is waiting for. */
  private readonly waiting = new Map<string, Set<() => void>>()
  private readonly openTurn: (agentId: string) => number | undefined

  /** @param ctx owns the listeners. @param openTurn the number of a session's open turn. */
  constructor(ctx: Context, openTurn: (agentId: string) => number | undefined) {
    this.openTurn = openTurn
    const first = { prepend: true }
    ctx.on('agent/pre-step', async ({ agent }, next) => await this.held(agent.id, next), first)
    ctx.on('agent/request', async ({ agent }, next) => await this.held(agent.id, next), first)
    ctx.on(
      'agent/request-error',
      async ({ agent }, next) => await this.heldOr(agent.id, next, () => undefined),
      first,
    )
    ctx.on(
      'llm/stream',
      (options, next) => {
        const agentId = sessionOf(ctx, options)
        return agentId === undefined ? next() : this.cuttable(agentId, next)
      },
      first,
    )
    ctx.on(
      'tools/pre-execute',
      async ({ agent }, next) =>
        await this.heldOr(agent?.id, next, () => ({ kind: 'deny', reason: RELEASED })),
      first,
    )
    ctx.on('tools/execute', async ({ agent }, next) => await this.held(agent?.id, next), first)
    ctx.on(
      'tools/post-execute',
      // Withheld: whoever did not come to it may have had something to take out of the result.
      async ({ agent }, _result, next) =>
        await this.heldOr(agent?.id, next, () => ({
          kind: 'block',
          feedback: [{ type: 'text', text: RELEASED }],
        })),
      first,
    )
  }

  release(agent: Agent, turn: number): void {
    if (this.openTurn(agent.id) !== turn) return
    this.released.set(agent.id, turn)
    for (const cut of this.waiting.get(agent.id) ?? []) cut()
  }

  /** The turn has closed. */
  closed(agentId: string): void {
    this.released.delete(agentId)
  }

  private isReleased(agentId: string): boolean {
    const turn = this.released.get(agentId)
    return turn !== undefined && turn === this.openTurn(agentId)
  }

  /** What others answer, unless the turn is released before they do. */
  private async held<T>(agentId: string | undefined, next: () => Promise<T>): Promise<T> {
    if (agentId === undefined) return await next()
    if (this.isReleased(agentId)) throw refusal()
    return await this.orCut(agentId, next())
  }

  /** The same with an answer for a turn that is released, where a failure would say something else. */
  private async heldOr<T>(agentId: string | undefined, next: () => Promise<T>, answer: () => T): Promise<T> {
    try {
      return await this.held(agentId, next)
    } catch (error) {
      if (agentId !== undefined && this.isReleased(agentId)) return answer()
      throw error
    }
  }

  private async *cuttable(
    agentId: string,
    next: () => AsyncIterable<StreamChunk>,
  ): AsyncGenerator<StreamChunk> {
    if (this.isReleased(agentId)) throw refusal()
    const iterator = next()[Symbol.asyncIterator]()
    let isDone = false
    try {
      for (;;) {
        const step = await this.orCut(agentId, iterator.next())
        if (step.done === true) {
          isDone = true
          return
        }
        yield step.value
      }
    } finally {
      // A stream that does not answer does not answer this either.
      if (!isDone) void iterator.return?.().then(undefined, () => undefined)
    }
  }

  private orCut<T>(agentId: string, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(agentId) ?? new Set()
      this.waiting.set(agentId, waiting)
      const cut = (): void => {
        leave()
        reject(refusal())
      }
      const leave = (): void => {
        waiting.delete(cut)
        if (waiting.size === 0 && this.waiting.get(agentId) === waiting) this.waiting.delete(agentId)
      }
      waiting.add(cut)
      work.then(
        (value) => {
          leave()
          resolve(value)
        },
        (error: unknown) => {
          leave()
          reject(error as Error)
        },
      )
    })
  }
}

/** Whose turn asks: a compaction or a plugin asks the model for the turn it stands in, and names no session. */
function sessionOf(ctx: Context, { sessionId }: GenerateOptions): string | undefined {
  try {
    return sessionId ?? ctx.agents.currentInitiator()?.id
  } catch {
    return undefined
  }
}

function refusal(): AgentLoopError {
  return new AgentLoopError('closed', RELEASED)
}
