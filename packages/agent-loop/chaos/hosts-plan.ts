/**
 * What happens in a round of the fleet, drawn from a seed before it begins: what is asked for where and
 * when, and which faults strike. Times are milliseconds since the round began. Pure.
 */
import { type Random, randomOf } from '../tests/support/random.ts'

export const HOSTS = 3
/** The least that the configuration takes. */
export const HEARTBEAT_MS = 10_000
/** Longer than a lease, and than the heartbeat. */
const LONG_MS = [12_000, 14_000] as const

export interface Ask {
  readonly at: number
  readonly index: number
  readonly session: number
  readonly takesMs: number
  readonly lane: 'main' | 'cron'
  readonly mode: 'followup' | 'steer'
  /** In which order hosts are asked; the next one when one does not answer. */
  readonly hosts: readonly number[]
  /** Whether the first two hosts are asked at once. */
  readonly twice: boolean
}

export interface Abort {
  readonly at: number
  readonly index: number
  readonly host: number
}

/**
 * - `kill`: SIGKILL; a new process comes after `forMs`.
 * - `stop`: SIGSTOP for `forMs`.
 * - `cut`: every connection to the database breaks and none is made for `forMs`.
 * - `freeze`: the network lets nothing through for `forMs`, and says nothing.
 * - `postgres`: the server crashes and comes back.
 */
export type FaultKind = 'kill' | 'stop' | 'cut' | 'freeze' | 'postgres'

export interface Fault {
  readonly at: number
  readonly kind: FaultKind
  readonly host: number
  readonly forMs: number
}

export interface Plan {
  readonly skewsMs: readonly number[]
  readonly afterCrash: 'interrupt' | 'resume'
  readonly sessions: number
  readonly asks: readonly Ask[]
  readonly aborts: readonly Abort[]
  readonly faults: readonly Fault[]
  /** Whether nothing but kills happens, by clocks that agree: then the time of a takeover is measured. */
  readonly isMeasured: boolean
}

const ASKS = 48
const SESSIONS = 10
/** Most is asked for before the faults, some while hosts come back. */
const EARLY_MS = 6_000
const LATE_MS = 16_000
const MOST_SKEW_MS = 3_000

export function planOf(seed: number): Plan {
  const random = randomOf(seed)
  const isMeasured = random.fraction() < 0.35
  return {
    skewsMs: Array.from({ length: HOSTS }, () =>
      isMeasured ? 0 : between(random, -MOST_SKEW_MS, MOST_SKEW_MS),
    ),
    afterCrash: random.pick(['interrupt', 'resume'] as const),
    sessions: SESSIONS,
    asks: asksOf(random),
    aborts: Array.from({ length: 5 }, () => ({
      at: between(random, 500, LATE_MS),
      index: random.int(ASKS),
      host: random.int(HOSTS),
    })).sort(byTime),
    faults: isMeasured ? [faultOf(random, 'kill', 0)] : faultsOf(random),
    isMeasured,
  }
}

function asksOf(random: Random): readonly Ask[] {
  return Array.from({ length: ASKS }, (_value, index): Ask => {
    const isEarly = random.fraction() < 0.7
    return {
      at: between(random, isEarly ? 0 : EARLY_MS, isEarly ? EARLY_MS : LATE_MS),
      index,
      session: random.int(SESSIONS),
      takesMs: between(random, 100, 1_000),
      lane: random.fraction() < 0.1 ? 'cron' : 'main',
      mode: random.fraction() < 0.15 ? 'steer' : 'followup',
      hosts: shuffled(random),
      twice: random.fraction() < 0.2,
    }
  }).sort(byTime)
}

const DRAWN: readonly FaultKind[] = ['kill', 'kill', 'stop', 'stop', 'cut', 'freeze', 'postgres']

function faultsOf(random: Random): readonly Fault[] {
  return Array.from({ length: 3 }, (_value, number) => faultOf(random, random.pick(DRAWN), number)).sort(
    byTime,
  )
}

function faultOf(random: Random, kind: FaultKind, number: number): Fault {
  const at = between(random, 1_500 + 1_500 * number, 4_000 + 1_500 * number)
  return { at, kind, host: random.int(HOSTS), forMs: durationOf(random, kind) }
}

function durationOf(random: Random, kind: FaultKind): number {
  const isLong = random.fraction() < 0.5
  switch (kind) {
    case 'kill':
      return between(random, 200, 4_000)
    case 'stop':
      return between(random, ...LONG_MS)
    case 'cut':
    case 'freeze':
      return isLong ? between(random, ...LONG_MS) : between(random, 200, 3_000)
    case 'postgres':
      return 0
  }
}

function shuffled(random: Random): readonly number[] {
  const left = Array.from({ length: HOSTS }, (_value, host) => host)
  return Array.from({ length: HOSTS }, () => left.splice(random.int(left.length), 1)[0] ?? 0)
}

function between(random: Random, least: number, most: number): number {
  return least + random.int(most - least + 1)
}

function byTime(left: { readonly at: number }, right: { readonly at: number }): number {
  return left.at - right.at
}
