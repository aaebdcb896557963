/**
 * Which executor runs an activation: sessions do the works of agents, this process those of code
 * graphs. A follow-up goes where its operator's first work went.
 */
import type { GraphControl } from 'dsh-graph-control'
import type { Activation, ActivationEnd, GraphExecutor } from 'dsh-tool-graph'

export interface OperatorExecutors {
  readonly store: GraphControl
  readonly sessions: GraphExecutor
  readonly graphs: GraphExecutor
}

export function createOperatorExecutor({ store, sessions, graphs }: OperatorExecutors): GraphExecutor {
  const executorOf = async ({ graphId, operator, work }: Activation): Promise<GraphExecutor> => {
    if (work.target.kind !== 'operator') return work.target.kind === 'graph' ? graphs : sessions
    const origin = (await store.readGraph(graphId))?.works.get(operator.workId)
    return origin?.target.kind === 'graph' ? graphs : sessions
  }
  return {
    start: async (activation: Activation, prompt: string): Promise<void> =>
      (await executorOf(activation)).start(activation, prompt),
    observe: async (activation: Activation, signal: AbortSignal): Promise<ActivationEnd> =>
      (await executorOf(activation)).observe(activation, signal),
    cancel: async (activation: Activation, reason: string): Promise<void> =>
      (await executorOf(activation)).cancel(activation, reason),
  }
}
