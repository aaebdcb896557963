/**
 * dsh-graph-control/testing: the conformance suite that every store behind the port is held to, with
 * a test runner and without one.
 */
export type { Clause } from './clause.ts'
export {
  assertGraphControlStoreConformance,
  findViolations,
  graphControlStoreConformanceChecks,
  graphControlStoreScenarios,
  scheduleSupervisorWakeConformanceChecks,
  type Violation,
} from './conformance.ts'
export { type ContractOptions, graphControlStoreContract } from './contract.ts'
export {
  type FaultPlace,
  graphStoreOnLog,
  type OpenedGraphLog,
  type OpenedGraphStore,
  type OpenGraphStore,
  type StoreMedium,
  type TestApi,
} from './harness.ts'
