/** What a seed stands for: its faults, its deaths, its limits, what a person does and when. Pure. */
import { type Random, randomFrom } from 'dsh-durable-log/testing'
import type { Death } from './life.ts'

/** How a process ends that does not see the end of the story. */
export type Ending =
  | { readonly kind: 'kill'; readonly death: Death; readonly isFound: boolean }
  | { readonly kind: 'shutdown'; readonly atMs: number }

/** What happens from outside. */
export interface Incident {
  /** Milliseconds after the process before it began, or since the beginning. */
  readonly atMs: number
  readonly kind: 'person-speaks' | 'person-cancels' | 'row-reloads'
  readonly root: number
}

export interface Scenario {
  readonly seed: number
  readonly roots: number
  readonly epochs: number
  readonly maxNewActivations: number
  readonly wakeDelayMs: number
  readonly operatorTimeoutMs: number
  /** Decisions of each root. */
  readonly budget: number
  /** Turns of each root that fail. */
  readonly rootFaults: number
  readonly endings: readonly Ending[]
  readonly incidents: readonly Incident[]
  /** Draws everything that is decided on the way. */
  readonly random: Random
}

export function scenarioOf(seed: number): Scenario {
  const random = randomFrom(seed)
  const roots = random.below(5) === 0 ? 2 : 1
  const endings = Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, () => endingOf(random))
  const incidents = Array.from({ length: random.below(4) }, () => incidentOf(random, roots))
  return {
    seed,
    roots,
    epochs: random.pick([1, 1, 2]),
    maxNewActivations: random.pick([1, 2, 3, 8]),
    wakeDelayMs: random.pick([0, 10, 250]),
    operatorTimeoutMs: random.pick([30_000, 600_000]),
    budget: 2 + random.below(7),
    rootFaults: random.below(3),
    endings,
    incidents: incidents.toSorted((left, right) => left.atMs - right.atMs),
    random,
  }
}

function endingOf(random: Random): Ending {
  if (random.below(4) === 0) return { kind: 'shutdown', atMs: random.below(60_000) }
  const atWrite = 3 + random.below(random.pick([30, 120]))
  const death = { atWrite, isStored: random.below(2) === 0 }
  return { kind: 'kill', death, isFound: random.below(4) > 0 }
}

function incidentOf(random: Random, roots: number): Incident {
  return {
    atMs: random.below(60_000),
    kind: random.pick(['person-speaks', 'person-speaks', 'person-cancels', 'row-reloads']),
    root: random.below(roots),
  }
}
