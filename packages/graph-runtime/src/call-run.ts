/**
 * The graph's part of one call: runs the graph, asks what it stops to ask, lets it go on, until it has
 * ended or failed. Arguments are checked before, and the final state becomes a result after this.
 */
import type { CallScope } from './call-scope.ts'
import type { CallServices } from './call-services.ts'
import type { CallThread } from './call-thread.ts'
import { Conversation } from './conversation.ts'
import { messageOf, type GraphInterrupt } from './errors.ts'
import { explained } from './graph-failure.ts'
import { runGraph } from './graph-run.ts'
import { interruptsOf } from './interrupts.ts'
import type { TellProgress } from './progress.ts'
import { resumeCommand } from './resume.ts'
import type { CheckedSettings } from './settings.ts'
import type { GraphCall, GraphInvocable } from './types.ts'

export interface CallRunParts {
  readonly name: string
  readonly settings: CheckedSettings
  readonly graph: GraphInvocable
  readonly thread: CallThread
  readonly scope: CallScope
  readonly call: GraphCall
  readonly services: CallServices | undefined
}

export class CallRun {
  private readonly parts: CallRunParts
  private readonly config: object
  private tell: TellProgress | undefined

  constructor(parts: CallRunParts) {
    this.parts = parts
    this.config = configOf(parts)
  }

  /**
   * Runs to the end, in turn with other calls on the thread, and tells listeners about it. A thread that
   * was made for this call is gone afterwards.
   *
   * @returns the final state.
   * @throws the graph's own error; {@link GraphInterruptedError} when it asked and got no answer; the
   *   abort's reason.
   */
  toEnd(input: unknown): Promise<unknown> {
    const { scope, thread } = this.parts
    return thread.hold(scope, () => this.told(input))
  }

  private async told(input: unknown): Promise<unknown> {
    const { name, thread, call, services } = this.parts
    this.tell = services?.progress(name, call)
    try {
      const state = await this.conversed(input)
      this.tell?.({ phase: 'end' })
      return state
    } catch (error) {
      this.tell?.({ phase: 'error', error: messageOf(error) })
      throw error
    } finally {
      if (thread.ephemeral) await this.leaveThread()
    }
  }

  private async leaveThread(): Promise<void> {
    const { name, thread, scope, services } = this.parts
    try {
      await scope.outlast(thread.delete(), () => this.complainOf('deleting its thread'))
    } catch (error) {
      services?.warn(`graph "${name}": the thread of a call was not deleted: ${messageOf(error)}`)
    }
  }

  private complainOf(what: string): void {
    const { name, services } = this.parts
    services?.warn(`graph "${name}": ${what} ignores the abort and is left behind`)
  }

  private async conversed(input: unknown): Promise<unknown> {
    let state = await this.step(input)
    let interrupts = interruptsOf(state)
    if (interrupts === undefined) return state
    const conversation = this.conversation()
    while (interrupts !== undefined) {
      state = await this.resume(conversation, interrupts)
      interrupts = interruptsOf(state)
    }
    return state
  }

  private conversation(): Conversation {
    const { name, settings, scope, call, services, thread } = this.parts
    return new Conversation({
      graph: name,
      rounds: settings.questionRounds,
      scope,
      agent: call.agent,
      person: () => services?.person(),
      obstacle: thread.obstacle,
    })
  }

  private async resume(conversation: Conversation, interrupts: readonly GraphInterrupt[]): Promise<unknown> {
    for (;;) {
      const command = await resumeCommand(await conversation.resumeValue(interrupts))
      try {
        return await this.step(command)
      } catch (error) {
        // An answer that the graph's own schema refused: the same questions are still open.
        if (!conversation.isRefusal(error)) throw error
      }
    }
  }

  private async step(input: unknown): Promise<unknown> {
    const { name, settings, graph, scope } = this.parts
    const { drain, inherit } = settings
    try {
      const { config, tell } = this
      const running = runGraph(graph, input, { config, signal: scope.signal, drain, inherit, tell })
      const state = await (drain ? running : scope.outlast(running, () => this.complainOf('its run')))
      // A graph that ignores its signal may still come to an end; what it brings is too late.
      scope.check()
      return state
    } catch (error) {
      throw scope.failure(explained(name, error))
    }
  }
}

/** Config of a run, without what stops it. Keys that nobody set are absent: LangGraph takes an undefined one as a value. */
function configOf({ call: { idempotencyKey }, settings, thread }: CallRunParts): object {
  const configurable = {
    ...settings.configurable,
    ...(thread.id === undefined ? {} : { thread_id: thread.id }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
  return { ...(Object.keys(configurable).length === 0 ? {} : { configurable }), ...settings.forwarded }
}
