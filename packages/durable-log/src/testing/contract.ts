/**
 * The contract of the durable log as runnable tests.
 */
import { appendContract } from './append-contract.ts'
import { argumentContract } from './argument-contract.ts'
import { logTests, type OpenLog, type TestApi } from './harness.ts'
import { lifeContract } from './life-contract.ts'
import { readContract } from './read-contract.ts'
import { removeContract } from './remove-contract.ts'

/**
 * Defines the contract suite for one adapter.
 *
 * @param api `describe` and `it` of the test runner, for instance `{ describe, it }` of vitest.
 * @param name names the adapter in the titles.
 * @param open a fresh, empty log for each test.
 */
export function durableLogContract(api: TestApi, name: string, open: OpenLog): void {
  const test = logTests(api, open)
  api.describe(`durable log contract: ${name}`, () => {
    api.describe('append', () => appendContract(test))
    api.describe('read, list and snapshots', () => readContract(test))
    api.describe('remove', () => removeContract(test))
    api.describe('arguments', () => argumentContract(test))
    api.describe('subscribe, close and reopen', () => lifeContract(test))
  })
}
