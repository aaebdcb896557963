/** What the model says about the measured machine, and about machines that nobody here has. */
import { quantile } from '../figures.ts'
import type { Load, Measured } from './measure.ts'
import type { Cell, Outcome, ServiceTimes } from './cell.ts'
import { simulate } from './model.ts'

/** What a measurement leaves for the model; committed as `figures.json`. */
export interface Figures {
  readonly machine: string
  readonly node: string
  readonly load: string
  readonly cores: number
  /** Measured right before the loads. */
  readonly times: ServiceTimes
  readonly appendsBefore: number
  readonly appendsAfter: number
  readonly latencies: {
    readonly appendMs: number
    readonly claimAndBeginMs: number
    readonly turnMs: number
    readonly noticeMs: number
  }
  /** Each load several times. */
  readonly measured: readonly Measured[]
}

/** Neighbours take a part of every core: what needs one takes that much longer. */
export function stretched(times: ServiceTimes, cores: number, coresOfOthers: number): ServiceTimes {
  const by = cores / Math.max(0.25, cores - coresOfOthers)
  const { sync, wire, ...inUse } = times
  const entries = Object.entries(inUse).map(([name, ms]) => [name, ms * by])
  return { ...(Object.fromEntries(entries) as Omit<ServiceTimes, 'sync' | 'wire'>), sync, wire }
}

/** The same load on the same machine, by the model. */
export function predicted(figures: Figures, load: Measured): Outcome {
  return simulate({
    times: stretched(figures.times, figures.cores, load.coresOfOthers),
    hosts: load.hosts,
    sessionsPerHost: load.sessionsPerHost,
    appendsBefore: figures.appendsBefore,
    appendsAfter: figures.appendsAfter,
    waitMs: load.waitMs,
    pauseMs: 0,
    cores: figures.cores,
    onOneMachine: true,
    spread: 'exponential',
    warmUpMs: 2_000,
    windowMs: 10_000,
    seed: 1,
  })
}

export interface Agreement extends Load {
  readonly turnsPerSecond: number
  readonly appendMs: number
  readonly predictedTurnsPerSecond: number
  /** The median over the rounds of predicted over measured; 1 is exact. */
  readonly ratio: number
  readonly coresOfOthers: number
}

/** Each load: what was measured, and what the model says with the neighbours of each round. */
export function agreement(figures: Figures): readonly Agreement[] {
  const loads = new Map<string, Measured[]>()
  for (const round of figures.measured) {
    const key = `${round.sessionsPerHost}/${round.hosts}`
    loads.set(key, [...(loads.get(key) ?? []), round])
  }
  return [...loads.values()].map((rounds) => {
    const outcomes = rounds.map((round) => predicted(figures, round).turnsPerSecond)
    const middle = (of: (round: Measured, at: number) => number) => quantile(rounds.map(of), 0.5)
    const { hosts = 0, sessionsPerHost = 0, waitMs = 0 } = rounds[0] ?? {}
    return {
      hosts,
      sessionsPerHost,
      waitMs,
      turnsPerSecond: middle(({ turnsPerSecond }) => turnsPerSecond),
      appendMs: middle(({ appendMs }) => appendMs),
      predictedTurnsPerSecond: quantile(outcomes, 0.5),
      ratio: middle(({ turnsPerSecond }, at) => (outcomes[at] ?? 0) / turnsPerSecond),
      coresOfOthers: middle(({ coresOfOthers }) => coresOfOthers),
    }
  })
}

/** The hosts and sessions that are to be sized for. */
export const HOSTS = 1_000
export const SESSIONS = 1_000_000
export const DATABASES = [1, 2, 5, 10, 20, 50, 100] as const
const DATABASE_CORES = 16
/** A turn a minute: the model works for a third of it, the session is idle for the rest. */
const WAIT_MS = 20_000
const PAUSE_MS = 40_000

export interface Split extends Outcome {
  readonly databases: number
  /** What would be done if nothing ever waited. */
  readonly wantedTurnsPerSecond: number
}

/**
 * All hosts and sessions, split by root session over so many databases of 16 cores: a host serves roots
 * of one of them. Cells do not touch each other, so each is simulated alone.
 */
export function split(
  figures: Figures,
  databases: number,
  options: { readonly seed?: number; readonly hosts?: number; readonly sessions?: number } = {},
): Split {
  const { hosts = HOSTS, seed = 1, sessions = SESSIONS } = options
  const cell: Cell = {
    times: figures.times,
    hosts: Math.round(hosts / databases),
    sessionsPerHost: Math.round(sessions / hosts),
    appendsBefore: figures.appendsBefore,
    appendsAfter: figures.appendsAfter,
    waitMs: WAIT_MS,
    pauseMs: PAUSE_MS,
    cores: DATABASE_CORES,
    onOneMachine: false,
    spread: 'exponential',
    warmUpMs: 2_000,
    windowMs: 4_000,
    seed,
  }
  const outcomes = Array.from({ length: databases }, (_, at) => simulate({ ...cell, seed: seed + at }))
  const sum = (of: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0)
  const worst = (of: (outcome: Outcome) => number) => Math.max(...outcomes.map(of))
  const appendsPerSecond = sum((outcome) => outcome.appendsPerSecond)
  return {
    databases,
    wantedTurnsPerSecond: (sessions * 1_000) / (WAIT_MS + PAUSE_MS),
    // Turns are longer than the window: what is sustained is told by their appends.
    turnsPerSecond: appendsPerSecond / (cell.appendsBefore + cell.appendsAfter),
    appendsPerSecond,
    coresUsed: sum(({ coresUsed }) => coresUsed) / databases,
    coresUsedByNews: sum(({ coresUsedByNews }) => coresUsedByNews) / databases,
    appendMs: { p50: worst(({ appendMs }) => appendMs.p50), p95: worst(({ appendMs }) => appendMs.p95) },
  }
}
