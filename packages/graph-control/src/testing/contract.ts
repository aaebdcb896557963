/** The conformance suite of the graph store as runnable tests. */
import assert from 'node:assert/strict'
import { type Clause, refused } from './clause.ts'
import { graphControlStoreConformanceChecks, graphControlStoreScenarios } from './conformance.ts'
import { type OpenGraphStore, type TestApi, withStore } from './harness.ts'
import { checkReopened, checkWithFaults } from './playback.ts'
import { begun, GRAPH, stateOf, update, work } from './requests.ts'

export interface ContractOptions {
  /**
   * Writes of one clause that are made to fail; default all of them. For media whose opening takes
   * long: each failing write costs four openings.
   */
  readonly failingWrites?: number
}

/**
 * Defines the suite for one store: the 16 clauses and the scenarios, each as it is, restarted before
 * every step, and with every single write failing before and after it is done.
 *
 * @param api `describe` and `it` of the test runner, for instance `{ describe, it }` of vitest.
 * @param name names the store in the titles.
 * @param open a fresh, empty store for each test; `graphStoreOnLog` makes one of an adapter of the log.
 */
export function graphControlStoreContract(
  api: TestApi,
  name: string,
  open: OpenGraphStore,
  options: ContractOptions = {},
): void {
  api.describe(`graph store contract: ${name}`, () => {
    api.describe('clauses', () => define(api, open, graphControlStoreConformanceChecks, options))
    api.describe('scenarios', () => define(api, open, graphControlStoreScenarios, options))
    api.describe('a damaged graph', () => damage(api, open))
  })
}

function define(
  { it }: TestApi,
  open: OpenGraphStore,
  clauses: readonly Clause[],
  { failingWrites }: ContractOptions,
): void {
  for (const clause of clauses) {
    const title = clause.name.replaceAll('_', ' ')
    it(title, () => withStore(open, ({ store }) => clause.check(store)))
    it(`${title}, restarted before every step`, () => checkReopened(open, clause))
    it(`${title}, whichever write fails`, () => checkWithFaults(open, clause, failingWrites))
  }
}

function damage({ it }: TestApi, open: OpenGraphStore): void {
  it('is set aside by name, also after a restart, and other graphs are not', () =>
    withStore(open, async (opened) => {
      const { medium } = opened
      if (medium === undefined) return
      await begun(opened.store, 'a')
      await opened.store.commitScheduleUpdate(update('c1', { graphId: 'other', addWork: [work('a')] }))
      await medium.damage(GRAPH)
      for (const store of [opened.store, await opened.reopen()]) {
        await refused('reading it', store.readGraph(GRAPH), 'quarantined')
        const request = update('c2', { addWork: [work('b')] })
        await refused('writing to it', store.commitScheduleUpdate(request), 'quarantined')
        assert.equal((await stateOf(store, 'other')).works.size, 1)
        const { unreadable } = await store.listGraphs()
        assert.deepEqual(
          unreadable.map(({ graphId }) => graphId),
          [GRAPH],
        )
      }
    }))
}
