/**
 * The ceilings of a graph and of a root, and what they leave room for. Pure.
 *
 * Tokens are reserved before an activation begins: what is under way counts with a fixed estimate for
 * each of its attempts, what has ended with what its provider counted.
 */
import type { GraphState } from 'dsh-graph-control'

/** Absent: no such ceiling. */
export interface GraphLimits {
  /** Graphs that one root may ever open. */
  readonly maxGraphs?: number
  /** Operators of one graph, those of `forEach` items included. */
  readonly maxOperators?: number
  /** How long a graph may go on from its beginning, milliseconds. */
  readonly maxGraphMs?: number
  /** Input and output tokens of all activations of a graph. */
  readonly maxTokens?: number
  /** Reserved for each attempt under way; default 50,000. */
  readonly tokensPerActivation?: number
}

const DEFAULT_TOKENS_PER_ACTIVATION = 50_000

/** `left`: how many more activations may begin. `exhausted`: why nothing of the graph may go on. */
export interface Room {
  readonly left: number
  readonly exhausted?: string
  /** When the graph will be over its time, epoch milliseconds. */
  readonly endsAt?: number
}

export function roomOf(state: GraphState, limits: GraphLimits, now: number): Room {
  const { maxGraphMs, maxTokens } = limits
  const endsAt =
    maxGraphMs === undefined || state.createdAt === undefined ? undefined : state.createdAt + maxGraphMs
  if (endsAt !== undefined && now >= endsAt)
    return { left: 0, exhausted: `the graph passed its time of ${maxGraphMs} ms` }
  const time = endsAt === undefined ? {} : { endsAt }
  if (maxTokens === undefined) return { left: Number.POSITIVE_INFINITY, ...time }
  const { left, spent, isIdle } = tokensOf(state, limits, maxTokens)
  if (left > 0 || !isIdle) return { left, ...time }
  return { left: 0, exhausted: `the graph spent ${spent} of its ${maxTokens} tokens`, ...time }
}

/** Activations that are under way: those that are held are not. */
export function underWayOf(state: GraphState): number {
  let underWay = 0
  for (const claimId of state.live.claims.keys())
    if (state.claims.get(claimId)?.hold === undefined) underWay += 1
  return underWay
}

function tokensOf(state: GraphState, { tokensPerActivation }: GraphLimits, maxTokens: number) {
  const each = tokensPerActivation ?? DEFAULT_TOKENS_PER_ACTIVATION
  const { inputTokens, outputTokens } = state.usage
  const spent = inputTokens + outputTokens
  let attempts = 0
  for (const claimId of state.live.claims.keys()) {
    const claim = state.claims.get(claimId)
    if (claim?.hold !== undefined) continue
    // A lost attempt told nobody what it used; its reservation stays until the activation ends.
    attempts += Math.max(1, claim?.attempt ?? 1)
  }
  const left = Math.floor((maxTokens - spent - attempts * each) / each)
  return { spent, left: Math.max(0, left), isIdle: attempts === 0 }
}

/** How many operators the graph has or will need for the works that it has. */
export function operatorsNeeded(state: GraphState | undefined): number {
  if (state === undefined) return 0
  let coming = 0
  for (const workId of state.live.pending.keys()) {
    const work = state.works.get(workId)
    if (work?.operatorId === undefined && work?.target.kind !== 'operator') coming += 1
  }
  return state.operators.size + coming
}
