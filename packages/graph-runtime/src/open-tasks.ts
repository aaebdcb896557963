/**
 * The nodes of a run that have begun and not been heard of since. When a run fails, LangGraph's stream
 * drops what it has not handed out yet, and on Node 22 that is often how the failed node ended; LangGraph
 * 1.0 does not say at all whether a node failed. The failure itself still says which task it came from.
 */
import { messageOf } from './errors.ts'
import { isUnmarkable } from './graph-failure.ts'
import type { ProgressStep } from './progress.ts'

/** LangGraph leaves the id of the task on what the task threw. */
const TASK_ID = 'pregelTaskId'

export class OpenTasks {
  private readonly nodes = new Map<unknown, string>()
  /** Those that ended, well or not. */
  private readonly doubtful = new Set<unknown>()

  began(id: unknown, node: string): void {
    this.nodes.set(id, node)
  }

  ended(id: unknown): void {
    this.nodes.delete(id)
  }

  /** A task that ended, nobody said how. */
  doubt(id: unknown): void {
    if (this.nodes.has(id)) this.doubtful.add(id)
  }

  /** News of the doubtful nodes once the run has gone on: they ended well. */
  settled(): ProgressStep[] {
    const steps = Array.from(this.doubtful, (id): ProgressStep => ({ phase: 'end', node: this.take(id) }))
    this.doubtful.clear()
    return steps
  }

  /** News of the nodes that failed the run and that its stream said nothing about. Nodes left behind are none. */
  failed(failure: unknown): ProgressStep[] {
    const errors = this.culprits(failure).map(([id, error]): ProgressStep => {
      this.doubtful.delete(id)
      return { phase: 'error', node: this.take(id), error: messageOf(error) }
    })
    return [...this.settled(), ...errors]
  }

  private take(id: unknown): string {
    const node = this.nodes.get(id) ?? ''
    this.nodes.delete(id)
    return node
  }

  private culprits(failure: unknown): (readonly [id: unknown, error: unknown])[] {
    const id = this.nodes.size === 1 && isUnmarkable(failure) ? [...this.nodes.keys()][0] : taskOf(failure)
    if (this.nodes.has(id)) return [[id, failure]]
    // Several nodes of one step.
    return failure instanceof AggregateError ? failure.errors.flatMap((error) => this.culprits(error)) : []
  }
}

function taskOf(failure: unknown): unknown {
  return typeof failure === 'object' && failure !== null ? Reflect.get(failure, TASK_ID) : undefined
}
