/**
 * What a graph's past says in numbers. Pure: everything comes from the folded states, so a file that
 * nobody runs on says the same as a running host.
 */
import type { GraphState, TokenUsage, WakeAttempt, Work } from 'dsh-graph-control'
import { countStatuses, type StatusCounts } from './board/board.ts'

/** How some durations lie, milliseconds. */
export interface Spread {
  readonly count: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly maxMs: number
}

export interface GraphMetrics {
  readonly graphs: number
  readonly worksByStatus: StatusCounts
  /** From the moment a work could begin (added, its inputs ended) to its first attempt. */
  readonly queueWait: Spread | undefined
  /** From the first attempt to the end of the work, works that completed or failed. */
  readonly runTime: Spread | undefined
  /** From the change that a wake reports to the beginning of its delivery. */
  readonly wakeLatency: Spread | undefined
  /** Attempts beyond the first, and works that were done once more. */
  readonly retries: { readonly attempts: number; readonly works: number }
  readonly tokens: TokenUsage
}

/** @param attempts of the wakes of these graphs, as the store lists them. */
export function metricsOf(states: readonly GraphState[], attempts: readonly WakeAttempt[]): GraphMetrics {
  const works = states.flatMap((state) => [...state.works.values()].map((work) => ({ state, work })))
  return {
    graphs: states.length,
    worksByStatus: sumCounts(states.map(countStatuses)),
    queueWait: spreadOf(works.flatMap(({ state, work }) => queueWaitOf(state, work))),
    runTime: spreadOf(works.flatMap(({ work }) => runTimeOf(work))),
    wakeLatency: spreadOf(states.flatMap((state) => wakeLatenciesOf(state, attempts))),
    retries: {
      attempts: sum(
        states.flatMap(({ claims }) => [...claims.values()].map(({ attempt }) => Math.max(0, attempt - 1))),
      ),
      works: sum(works.map(({ work }) => work.retries)),
    },
    tokens: {
      inputTokens: sum(states.map(({ usage }) => usage.inputTokens)),
      outputTokens: sum(states.map(({ usage }) => usage.outputTokens)),
    },
  }
}

/** A retried work began anew, and when it could is not kept. */
function queueWaitOf(state: GraphState, work: Work): readonly number[] {
  if (work.startedAt === undefined || work.retries > 0) return []
  let readyAt = work.addedAt
  for (const inputId of work.inputIds) {
    const input = state.works.get(inputId)
    const committedAt = state.records.get(inputId)?.committedAt
    readyAt = Math.max(readyAt, input?.endedAt ?? committedAt ?? 0)
  }
  return [Math.max(0, work.startedAt - readyAt)]
}

function runTimeOf({ endedAt, startedAt, status }: Work): readonly number[] {
  if (startedAt === undefined || endedAt === undefined) return []
  return status === 'completed' || status === 'failed' ? [Math.max(0, endedAt - startedAt)] : []
}

function wakeLatenciesOf(state: GraphState, attempts: readonly WakeAttempt[]): readonly number[] {
  const changedAt = new Map<number, number>()
  for (const { endedAt, endedChangeSeq } of state.works.values())
    if (endedAt !== undefined && endedChangeSeq !== undefined) changedAt.set(endedChangeSeq, endedAt)
  const seen = new Set<string>()
  return attempts.flatMap(({ startedAt, wakeId }) => {
    const wake = state.wakes.get(wakeId)
    if (wake === undefined || seen.has(wakeId)) return []
    seen.add(wakeId)
    const since = wake.dueAt ?? changedAt.get(wake.snapshotVersion) ?? wake.createdAt
    return [Math.max(0, startedAt - since)]
  })
}

function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const last = sorted.at(-1)
  if (last === undefined) return undefined
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? last
  return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: last }
}

function sumCounts(counts: readonly StatusCounts[]): StatusCounts {
  const total: Record<string, number> = {}
  for (const some of counts)
    for (const [status, count] of Object.entries(some)) total[status] = (total[status] ?? 0) + count
  return total as StatusCounts
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
