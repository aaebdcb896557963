/**
 * The end of a turn that does not heed its cancellation. After the grace the turn is *released*: a model
 * stream or a tool that still has not answered is answered for, so that the loop can close the turn, and
 * whatever the turn still tries is refused. A late answer concerns nobody.
 *
 * The turn's number is the token: a release never touches a later turn of the same session.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { isAgentLoopRequest, type StreamChunk } from '@deepseek-ai/dsh-llm'

import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
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
    ctx.on('llm/stream', (options, next) => {
      const { sessionId } = options
      if (sessionId === undefined || !isAgentLoopRequest(options)) return next()
      if (this.isReleased(sessionId)) throw refusal()
      return this.cuttable(sessionId, next())
    })
    ctx.on('tools/execute', async (exec, next) => {
      const agentId = exec.agent?.id
      if (agentId === undefined) return await next()
      if (this.isReleased(agentId)) throw refusal()
      return await this.orCut<ToolExecutionResult>(agentId, next())
    })
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

  private async *cuttable(agentId: string, stream: AsyncIterable<StreamChunk>): AsyncGenerator<StreamChunk> {
    const iterator = stream[Symbol.asyncIterator]()
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

function refusal(): AgentLoopError {
  return new AgentLoopError('closed', RELEASED)
}
