/**
 * dsh-graph-control: the durable store of agent graphs, and the service `ctx.graphControl`.
 */
import type { GraphControl } from './port.ts'

export { changedWorks, endedWorks, inputRecordIds, pendingWorks } from './changes.ts'
export { GraphControlError, type GraphControlErrorCode } from './errors.ts'
export {
  epochGraphId,
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphRecordId,
  graphUpdateId,
  graphWakeAttemptId,
  graphWakeId,
  graphWorkId,
  runIdOf,
  stableHash,
  type UpdateIdentity,
} from './ids.ts'
export { GRAPH_PREFIX, ROOT_PREFIX } from './entries.ts'
export { apply, Config, inject, name } from './plugin.ts'
export type {
  GraphControl,
  GraphLease,
  GraphRegistry,
  GraphSnapshot,
  LeasedGraphControl,
  RetentionControl,
  ScheduleControl,
} from './port.ts'
export type { ActivationControl } from './port-activations.ts'
export type { WakeControl } from './port-wakes.ts'
export { COUNTED_PLACES, permitPlace, readyPlace, reconcile, type ReconcileOptions } from './reconcile.ts'
export { GraphControlStore, type GraphControlStoreOptions } from './store.ts'
export * from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    graphControl: GraphControl
  }
}
