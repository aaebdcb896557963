/**
 * The whole stack, simulated: the real agent loop of DSH and every package of this bundle, with only the
 * clock, the model adapter and the media replaced. Random graphs, failures, stops, crashes and restarts;
 * whatever happens, the promises that `stack/audit.ts` checks hold.
 */
import { simulate } from './stack/simulation.ts'

export interface FuzzResult {
  readonly target: 'stack'
  readonly runs: number
  readonly failed: number
  readonly failures: readonly { readonly seed: number; readonly text: string }[]
}

export async function run(options: { runs: number; seed: number }): Promise<FuzzResult> {
  const failures: { seed: number; text: string }[] = []
  for (let seed = options.seed; seed < options.seed + options.runs; seed += 1) {
    const { findings, history } = await simulate(seed)
    if (findings.length > 0) failures.push({ seed, text: [...findings, ...history].join('\n') })
  }
  return { target: 'stack', runs: options.runs, failed: failures.length, failures }
}
