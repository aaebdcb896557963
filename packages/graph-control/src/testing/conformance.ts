/**
 * The conformance suite without a test runner: checks on fresh stores, and a report of what is broken.
 */
import { AssertionError } from 'node:assert'
import type { Clause } from './clause.ts'
import { claimClauses } from './clauses-claims.ts'
import { provisionClauses } from './clauses-provisions.ts'
import { scheduleClauses } from './clauses-schedule.ts'
import { scheduledWakeNames, wakeClauses } from './clauses-wakes.ts'
import { type OpenGraphStore, withStore } from './harness.ts'
import { activationScenarios } from './scenarios-activations.ts'
import { graphScenarios } from './scenarios-graphs.ts'
import { wakeScenarios } from './scenarios-wakes.ts'
import { workScenarios } from './scenarios-works.ts'

/** The 16 clauses that other suites of this port know by these names. */
export const graphControlStoreConformanceChecks: readonly Clause[] = [
  ...scheduleClauses,
  ...claimClauses,
  ...provisionClauses,
  ...wakeClauses,
]

/** Those of them about wakes for a time to come. */
export const scheduleSupervisorWakeConformanceChecks: readonly Clause[] = wakeClauses.filter(({ name }) =>
  scheduledWakeNames.has(name),
)

/** What the 16 do not ask: closure, ids, conditions, retries, fencing, supersession, retention. */
export const graphControlStoreScenarios: readonly Clause[] = [
  ...graphScenarios,
  ...workScenarios,
  ...activationScenarios,
  ...wakeScenarios,
]

export interface Violation {
  readonly clause: string
  readonly error: unknown
}

/** Runs clauses, each on a fresh store. @returns those that the store breaks; none if it conforms. */
export async function findViolations(
  open: OpenGraphStore,
  clauses: readonly Clause[] = graphControlStoreConformanceChecks,
): Promise<readonly Violation[]> {
  const violations: Violation[] = []
  for (const { name, check } of clauses) {
    try {
      await withStore(open, ({ store }) => check(store))
    } catch (error) {
      violations.push({ clause: name, error })
    }
  }
  return violations
}

/**
 * Rejects with an AssertionError that names every violated clause.
 *
 * @param clauses default: the 16; {@link graphControlStoreScenarios} can be added.
 */
export async function assertGraphControlStoreConformance(
  open: OpenGraphStore,
  clauses: readonly Clause[] = graphControlStoreConformanceChecks,
): Promise<void> {
  const violations = await findViolations(open, clauses)
  if (violations.length === 0) return
  const lines = violations.map(({ clause, error }) => `- ${clause}: ${firstLine(error)}`)
  throw new AssertionError({
    message: `the store violates ${violations.length} of ${clauses.length} clauses:\n${lines.join('\n')}`,
  })
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''
}
