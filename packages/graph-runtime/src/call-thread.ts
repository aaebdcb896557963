/**
 * The thread of one call: which it is, whether the graph's memory can work with it, when its turn
 * comes, and that a thread made for one call is gone after it.
 */
import { randomUUID } from 'node:crypto'
import type { CallScope } from './call-scope.ts'
import { copyJson } from './copy-json.ts'
import { GraphThreadError, messageOf } from './errors.ts'
import type { CheckedSettings } from './settings.ts'
import { turnsOf } from './thread-turns.ts'
import type { GraphCallContext, GraphInvocable } from './types.ts'

interface Checkpointer {
  deleteThread?(thread: string): Promise<void>
}

/** A graph's memory. A subgraph's `true` or `false` is none of its own. */
function checkpointerOf(graph: GraphInvocable): Checkpointer | undefined {
  const checkpointer: unknown = Reflect.get(graph, 'checkpointer')
  return typeof checkpointer === 'object' && checkpointer !== null ? checkpointer : undefined
}

/** A thread that the author bound to the graph with `withConfig`. */
function boundThread(graph: GraphInvocable): unknown {
  const config = Reflect.get(graph, 'config') as { configurable?: Record<string, unknown> } | undefined
  return config?.configurable?.['thread_id']
}

export interface ThreadOptions {
  readonly name: string
  readonly settings: CheckedSettings
  readonly graph: GraphInvocable
  readonly input: unknown
  readonly context: GraphCallContext
}

/** The thread that the author's settings pick for a call, `undefined` for none. */
function pickedThread({ name, settings, input, context }: ThreadOptions): unknown {
  if (settings.ephemeralThread) return `${name}-${randomUUID()}`
  if (typeof settings.threadId !== 'function')
    return settings.threadId ?? settings.configurable?.['thread_id']
  let picked: unknown
  try {
    picked = settings.threadId(copyJson(input), context)
  } catch (error) {
    throw new GraphThreadError(name, `threadId of graph "${name}" threw: ${messageOf(error)}`, {
      cause: error,
    })
  }
  if (picked === undefined) return settings.configurable?.['thread_id']
  if (typeof picked === 'string' && picked !== '') return picked
  // Nobody waits for an async function here, and its failure must not end the process.
  if (picked instanceof Promise) picked.catch(() => undefined)
  throw new GraphThreadError(name, `threadId of graph "${name}" must return a non-empty string or undefined`)
}

export class CallThread {
  /** What goes into `configurable.thread_id`; `undefined` for nothing. */
  readonly id: unknown
  /** What keeps the graph from going on after a question, a clause with the cure; absent when nothing does. */
  readonly obstacle: string | undefined
  private readonly name: string
  private readonly settings: CheckedSettings
  private readonly graph: GraphInvocable

  /** @throws {GraphThreadError} a checkpointer without a thread, which LangGraph finds only after nodes ran; a `threadId` that gives none. */
  constructor(options: ThreadOptions) {
    const { name, settings, graph } = options
    this.name = name
    this.settings = settings
    this.graph = graph
    this.id = pickedThread(options)
    const remembers = Reflect.get(graph, 'lg_is_pregel') === true && checkpointerOf(graph) !== undefined
    const threaded = this.id !== undefined || boundThread(graph) !== undefined
    if (remembers && !threaded && !settings.inherit) {
      throw new GraphThreadError(
        name,
        `graph "${name}" has a checkpointer but the call has no thread; give its definition a threadId, or ephemeralThread`,
      )
    }
    this.obstacle = remembers ? undefined : 'it cannot go on from an answer; compile it with a checkpointer'
  }

  /** Runs the graph's part of the call, in turn with others on the thread if the author wants that. */
  hold<T>(scope: CallScope, work: () => Promise<T>): Promise<T> {
    if (!this.settings.serialize || typeof this.id !== 'string') return work()
    const thread = this.id
    const turns = turnsOf(checkpointerOf(this.graph) ?? this.graph)
    return turns.take(
      thread,
      scope,
      work,
      () =>
        new GraphThreadError(
          this.name,
          `graph "${this.name}" was called on thread "${thread}" from within a call on that thread, which it would wait for; use another thread, or drop serialize`,
        ),
    )
  }

  /** Whether the thread was made for this call and must be deleted after it. */
  get ephemeral(): boolean {
    return this.settings.ephemeralThread
  }

  /**
   * Deletes the thread from the graph's memory, if it has one.
   *
   * @throws what the checkpointer threw; {@link GraphThreadError} one that deletes nothing.
   */
  async delete(): Promise<void> {
    const memory = checkpointerOf(this.graph)
    if (memory === undefined) return
    if (typeof memory.deleteThread !== 'function') {
      throw new GraphThreadError(
        this.name,
        'its checkpointer has no deleteThread; give it a threadId instead',
      )
    }
    await memory.deleteThread(String(this.id))
  }
}
