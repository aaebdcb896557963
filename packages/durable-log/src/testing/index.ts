/**
 * dsh-durable-log/testing: the contract every adapter of the port is held to.
 */
export { durableLogContract } from './contract.ts'
export type { OpenedLog, OpenLog, TestApi } from './harness.ts'
