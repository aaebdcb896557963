/**
 * dsh-durable-log/testing: the contract every adapter of the port is held to, a log with planned
 * faults, and a storage unit of the host in memory.
 */
export { durableLogContract } from './contract.ts'
export {
  type Fault,
  type FaultCall,
  type FaultCondition,
  faultyLog,
  type FaultyLog,
  type FaultOperation,
  type FaultPlan,
  type FaultPoint,
} from './faulty-log.ts'
export type { OpenedLog, OpenLog, TestApi } from './harness.ts'
export { GLOBAL_SLOT, type KvMedium, memoryKvUnit, type MemoryKvUnit } from './memory-kv-unit.ts'
export { type Random, randomFrom } from './random.ts'
