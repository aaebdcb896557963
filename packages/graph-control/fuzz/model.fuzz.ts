/**
 * Random histories of every operation by several writers, on the store and on a simple reference that
 * tells everything anew from plain facts. Whatever the store answers, refuses and shows must be what the
 * reference says, and no graph may become unreadable.
 */
import { asyncProperty, check } from 'fast-check'
import { histories } from './reference/arbitrary.ts'
import { play, type Step } from './reference/history.ts'

export interface FuzzResult {
  readonly target: 'model'
  readonly runs: number
  readonly failed: number
  readonly failures: readonly { readonly seed: number; readonly text: string }[]
}

/** Runs of one property check; a failure ends its check, and the next one begins at another seed. */
const RUNS_PER_CHECK = 500

export async function run(options: { runs: number; seed: number }): Promise<FuzzResult> {
  const failures: { seed: number; text: string }[] = []
  let failed = 0
  for (let done = 0; done < options.runs; done += RUNS_PER_CHECK) {
    const seed = options.seed + done
    const numRuns = Math.min(RUNS_PER_CHECK, options.runs - done)
    const details = await check(
      asyncProperty(histories, (history) => play(history)),
      { numRuns, seed },
    )
    if (!details.failed) continue
    failed += 1
    failures.push({ seed, text: tellOf(details.counterexample?.[0] ?? [], details.errorInstance) })
  }
  return { target: 'model', runs: options.runs, failed, failures }
}

/** The shortest history that was found, on a line that can be kept as a test. */
function tellOf(history: readonly Step[], error: unknown): string {
  return `${error instanceof Error ? error.message : String(error)}\n${JSON.stringify(history)}`
}
