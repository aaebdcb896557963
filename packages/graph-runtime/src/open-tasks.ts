/**
 * The nodes of a run that have begun and not been heard of since. When a run fails, LangGraph's stream
 * drops what it has not handed out yet, and on Node 22 that is often how the failed node ended. The
 * failure itself still says which task it came from.
 */
import { messageOf } from './errors.ts'
import { isUnmarkable } from './graph-failure.ts'
import type { ProgressStep } from './progress.ts'

/** LangGraph leaves the id of the task on what the task threw. */
const TASK_ID = 'pregelTaskId'

export class OpenTasks {
  private readonly nodes = new Map<unknown, string>()

  began(id: unknown, node: string): void {
    this.nodes.set(id, node)
  }

  ended(id: unknown): void {
    this.nodes.delete(id)
  }

  /** News of the nodes that failed the run and that its stream said nothing about. Nodes left behind are none. */
  failed(failure: unknown): ProgressStep[] {
    return this.culprits(failure).map(([node, error]) => ({ phase: 'error', node, error: messageOf(error) }))
  }

  private culprits(failure: unknown): (readonly [node: string, error: unknown])[] {
    const only = this.nodes.size === 1 && isUnmarkable(failure) ? [...this.nodes.values()][0] : undefined
    const node = this.nodes.get(taskOf(failure)) ?? only
    if (node !== undefined) return [[node, failure]]
    // Several nodes of one step.
    return failure instanceof AggregateError ? failure.errors.flatMap((error) => this.culprits(error)) : []
  }
}

function taskOf(failure: unknown): unknown {
  return typeof failure === 'object' && failure !== null ? Reflect.get(failure, TASK_ID) : undefined
}
