/**
 * Lets calls on one thread of one memory wait for each other, in the order in which they came. Two that
 * overlap would both start from the same checkpoint, and the last to end would undo the other.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallScope } from './call-scope.ts'

/** A turn that is being taken, with those around it. */
interface Turn {
  readonly turns: ThreadTurns
  readonly thread: string
  readonly outer: Turn | undefined
  taken: boolean
}

const current = new AsyncLocalStorage<Turn>()

export class ThreadTurns {
  private readonly last = new Map<string, Promise<void>>()

  /**
   * Runs `work` when every earlier call on the thread has ended.
   *
   * @param entangled makes the error of a call that would wait for the one it is part of.
   * @throws the abort's reason, when the scope aborts while it waits.
   */
  async take<T>(
    thread: string,
    scope: CallScope,
    work: () => Promise<T>,
    entangled: () => Error,
  ): Promise<T> {
    for (let turn = current.getStore(); turn !== undefined; turn = turn.outer) {
      if (turn.taken && turn.turns === this && turn.thread === thread) throw entangled()
    }
    const before = this.last.get(thread) ?? Promise.resolve()
    const turn: Turn = { turns: this, thread, outer: current.getStore(), taken: true }
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    // One that gives up while it waits keeps its place until those before it have ended.
    const tail = before.then(() => ended)
    this.last.set(thread, tail)
    void tail.then(() => {
      if (this.last.get(thread) === tail) this.last.delete(thread)
    })
    try {
      await scope.race(before)
      return await current.run(turn, work)
    } finally {
      turn.taken = false
      end()
    }
  }
}

const memories = new WeakMap<object, ThreadTurns>()

/** The turns of one memory: a checkpointer, or a graph that keeps its own. */
export function turnsOf(memory: object): ThreadTurns {
  let turns = memories.get(memory)
  if (turns === undefined) memories.set(memory, (turns = new ThreadTurns()))
  return turns
}
