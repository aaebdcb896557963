/**
 * One run of a compiled graph, to its end or to where it stops to ask. Unwatched, it is one `invoke`;
 * watched, it is the same run read as a stream, folded into what `invoke` would have given. Kept apart
 * from a graph around it unless the author wants it otherwise.
 */
import { DrainControl } from './drain.ts'
import { messageOf } from './errors.ts'
import { INTERRUPTS } from './interrupts.ts'
import { runIsolated } from './isolation.ts'
import { OpenTasks } from './open-tasks.ts'
import type { ProgressStep, TellProgress } from './progress.ts'
import type { GraphInvocable } from './types.ts'

export interface RunOptions {
  /** Everything of the config but the cancellation. */
  readonly config: object
  readonly signal: AbortSignal
  /** Lets running nodes end before the run does. */
  readonly drain: boolean
  /** Leaves the config of a surrounding graph in force. */
  readonly inherit: boolean
  readonly tell?: TellProgress | undefined
}

interface Streaming extends GraphInvocable {
  readonly outputChannels: unknown
  stream(input: unknown, config: object): Promise<AsyncIterable<readonly [string, unknown]>>
}

/** LangGraph's own graphs in this process. One on a server has no channels here and streams in another shape. */
function isLocal(graph: GraphInvocable): graph is Streaming {
  return Reflect.get(graph, 'lg_is_pregel') === true && 'outputChannels' in graph
}

/**
 * Runs the graph once.
 *
 * @param input the input, or a resume command.
 * @returns the state, with `__interrupt__` where it stopped to ask.
 * @throws the graph's own error.
 */
export function runGraph(graph: GraphInvocable, input: unknown, options: RunOptions): Promise<unknown> {
  const { signal, tell } = options
  const drain = options.drain && isLocal(graph) ? new DrainControl(signal) : undefined
  const config = { ...options.config, ...(drain === undefined ? { signal } : { control: drain }) }
  const run = (): Promise<unknown> =>
    tell !== undefined && isLocal(graph)
      ? watched(graph, input, config, { tell, signal })
      : graph.invoke(input, config)
  const running = options.inherit ? run() : runIsolated(run)
  return drain === undefined ? running : running.finally(() => drain.release())
}

async function watched(
  graph: Streaming,
  input: unknown,
  config: object,
  { tell, signal }: { readonly tell: TellProgress; readonly signal: AbortSignal },
): Promise<unknown> {
  const modes = { streamMode: ['values', 'tasks', 'custom'], outputKeys: graph.outputChannels }
  const open = new OpenTasks()
  let interrupts: readonly unknown[] | undefined
  let latest: unknown
  try {
    for await (const [mode, chunk] of await graph.stream(input, { ...config, ...modes })) {
      if (mode === 'custom') tell({ phase: 'custom', custom: chunk })
      else if (mode === 'tasks') for (const step of taskSteps(chunk, open)) tell(step)
      else if (isInterruptChunk(chunk)) interrupts = [...(interrupts ?? []), ...chunk[INTERRUPTS]]
      else latest = chunk
    }
    for (const step of open.settled()) tell(step)
  } catch (error) {
    // An abort ends every open node alike, and is the fault of none.
    if (!signal.aborted) for (const step of open.failed(error)) tell(step)
    throw error
  }
  if (interrupts === undefined) return latest
  return typeof latest === 'object' || latest === undefined ? { ...latest, [INTERRUPTS]: interrupts } : latest
}

interface InterruptChunk {
  readonly [INTERRUPTS]: readonly unknown[]
}

function isInterruptChunk(chunk: unknown): chunk is InterruptChunk {
  if (typeof chunk !== 'object' || chunk === null) return false
  return Array.isArray(Reflect.get(chunk, INTERRUPTS))
}

interface TaskChunk {
  readonly id: unknown
  readonly name: string
  readonly triggers?: unknown
  readonly result?: unknown
  readonly interrupts?: readonly unknown[]
  readonly error?: unknown
}

/**
 * A task is reported when it begins, with what triggered it, and when it has ended. How, LangGraph 1.0
 * does not tell; what wrote something has not failed.
 */
function taskSteps(chunk: unknown, open: OpenTasks): ProgressStep[] {
  const { id, triggers, result, interrupts = [] } = chunk as TaskChunk
  if (triggers !== undefined) {
    const settled = open.settled()
    open.began(id, (chunk as TaskChunk).name)
    return [...settled, taskStep(chunk)]
  }
  const wrote = typeof result === 'object' && result !== null && Object.keys(result).length > 0
  if (!Object.hasOwn(chunk as object, 'error') && !wrote && interrupts.length === 0) {
    open.doubt(id)
    return []
  }
  open.ended(id)
  return [taskStep(chunk)]
}

function taskStep(chunk: unknown): ProgressStep {
  const { name: node, triggers, interrupts, error } = chunk as TaskChunk
  if (triggers !== undefined) return { phase: 'start', node }
  if (error !== undefined && error !== null) return { phase: 'error', node, error: errorText(error) }
  return interrupts !== undefined && interrupts.length > 0
    ? { phase: 'interrupt', node }
    : { phase: 'end', node }
}

/** LangGraph reports failures as plain `{ name, message }`. */
function errorText(error: unknown): string {
  const message: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : error
  return messageOf(message)
}
