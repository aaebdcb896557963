/**
 * Calls the handlers of a hook, one way for each kind. Owns their deadlines and what a failure means;
 * knows nothing of agents and turns.
 */
import { deepFreeze } from '@deepseek-ai/dsh-llm'
import { types } from 'node:util'
import type { Clock } from '../clock.ts'
import { AgentLoopError } from '../errors.ts'
import { callWithin } from './call-within.ts'
import { ANSWERS, emptyFold, mergeAnswer, type Fold } from './merge.ts'
import type { HookRegistry, Registration } from './registry.ts'
import type { HookEvent, HookName, HookResults, ModifyingHookName } from './types.ts'

export interface DispatcherPorts {
  readonly registry: HookRegistry
  readonly clock: Clock
  readonly warn: (text: string) => void
}

export class HookDispatcher {
  private readonly ports: DispatcherPorts
  private readonly closing = new AbortController()

  constructor(ports: DispatcherPorts) {
    this.ports = ports
  }

  has(...names: readonly HookName[]): boolean {
    return !this.closing.signal.aborted && names.some((name) => this.ports.registry.has(name))
  }

  /** Starts all handlers, in order; resolves when each is done or late, and never rejects. */
  async observe<N extends HookName>(name: N, event: HookEvent<N>): Promise<void> {
    if (!this.has(name)) return
    const frozen = deepFreeze(event)
    await Promise.all(this.ports.registry.list(name).map((one) => this.tell(one, frozen)))
  }

  /** Tells one handler alone. Never rejects. */
  async tell(registration: Registration, event: unknown): Promise<void> {
    try {
      await this.call(registration, deepFreeze(event))
    } catch (error) {
      this.report(registration, error)
    }
  }

  /**
   * Asks the handlers one after the other.
   *
   * @param eventOf the event of the next handler, from what the earlier ones decided.
   * @param signal ends the asking; its reason is thrown.
   * @throws `hook-failed` when a handler that fails closed failed or was late.
   */
  async modify<N extends ModifyingHookName>(
    name: N,
    eventOf: (earlier: Partial<HookResults[N]>) => HookEvent<N>,
    signal?: AbortSignal,
  ): Promise<Fold<N>> {
    let fold = emptyFold<N>()
    for (const one of this.ports.registry.list(name)) {
      if (fold.isFinal) break
      const event = deepFreeze(eventOf(fold.result))
      fold = await this.attempt(one, fold, signal, async () =>
        this.merged(name, fold, await this.call(one, event, signal), one),
      )
    }
    return fold
  }

  /** Hands a value to the handlers, one after the other, to be changed in place. @throws as {@link modify}. */
  async draft<N extends HookName, V>(
    name: N,
    value: V,
    eventOf: (value: V) => HookEvent<N>,
    check: (value: unknown) => V,
    signal?: AbortSignal,
  ): Promise<V> {
    let current = value
    for (const one of this.ports.registry.list(name)) {
      current = await this.attempt(one, current, signal, async () => {
        // A copy each: what a failed handler left half changed is not taken over.
        const copy = structuredClone(current)
        await this.call(one, Object.freeze(eventOf(copy)), signal)
        return check(copy)
      })
    }
    return current
  }

  /**
   * Calls the handlers one after the other, at once.
   *
   * @param step what becomes of the value with an answer; it throws when the answer is no good.
   * @throws `hook-failed` when a handler that fails closed failed, or gave a promise.
   */
  sync<N extends HookName, V>(
    name: N,
    value: V,
    eventOf: (value: V) => HookEvent<N>,
    step: (value: V, answer: unknown) => V,
  ): V {
    let current = value
    for (const one of this.ports.registry.list(name)) {
      current = this.stepAtOnce(one, current, deepFreeze(eventOf(current)), step)
    }
    return current
  }

  /** Ends every call under way; from now on nobody is called. */
  close(): void {
    this.closing.abort(new AgentLoopError('closed', 'the agent-loop host is shutting down'))
  }

  private call(registration: Registration, event: unknown, signal?: AbortSignal): Promise<unknown> {
    const signals = [this.closing.signal, registration.gone, ...(signal === undefined ? [] : [signal])]
    return callWithin(registration, event, this.ports.clock, signals)
  }

  private async attempt<T>(
    registration: Registration,
    before: T,
    signal: AbortSignal | undefined,
    operation: () => Promise<T>,
  ): Promise<T> {
    try {
      return await operation()
    } catch (error) {
      signal?.throwIfAborted()
      this.settle(registration, error, registration.failMode)
      return before
    }
  }

  private merged<N extends ModifyingHookName>(
    name: N,
    fold: Fold<N>,
    answer: unknown,
    { plugin }: Registration,
  ): Fold<N> {
    if (answer === undefined || answer === null) return fold
    const parsed = ANSWERS[name].safeParse(answer)
    if (!parsed.success) {
      const problems = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '))
      throw new Error(`its answer is no good: ${problems.join('; ')}`)
    }
    return mergeAnswer(name, fold, parsed.data as Partial<HookResults[N]>, plugin)
  }

  private stepAtOnce<V>(
    one: Registration,
    value: V,
    event: unknown,
    step: (value: V, answer: unknown) => V,
  ): V {
    const { name, plugin, gone } = one
    let mode = one.failMode
    try {
      const answer = one.handler(event, { hook: name, plugin, signal: gone })
      if (!isThenable(answer)) return answer === undefined || answer === null ? value : step(value, answer)
      mode = one.promiseMode
      // Nobody waits for it, and its failure must not end the process.
      answer.then(undefined, () => undefined)
      throw new Error('it gave a promise, and the hook is synchronous; nothing of it is used')
    } catch (error) {
      this.settle(one, error, mode)
      return value
    }
  }

  private settle(registration: Registration, error: unknown, mode: 'open' | 'closed'): void {
    this.report(registration, error)
    if (mode === 'open') return
    const { name, plugin } = registration
    throw new AgentLoopError('hook-failed', `hook ${name} of plugin "${plugin}" failed: ${textOf(error)}`, {
      cause: error,
    })
  }

  private report({ name, plugin }: Registration, error: unknown): void {
    this.ports.warn(`hook ${name} of plugin "${plugin}" failed: ${textOf(error)}`)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (types.isPromise(value)) return true
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Whatever a handler throws; its own text conversion is not trusted. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'it threw something without a text'
  }
}
