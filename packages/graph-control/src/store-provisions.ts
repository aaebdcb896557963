/** Giving a work its operator, and an operator its worktree. */
import {
  commit,
  committed,
  type Decision,
  requireGraph,
  requireNoDraft,
  requireOpen,
  requireRevision,
  unchanged,
} from './decision.ts'
import { graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { BindingRequest, Operator, OperatorBinding, ProvisionRequest } from './types.ts'
import { isTerminal } from './work-states.ts'

interface Provisioned {
  readonly provision: Operator
  readonly created: boolean
}

function conflict(message: string): GraphControlError {
  return new GraphControlError('provision-conflict', message)
}

export function decideProvision(
  state: FoldedGraph,
  request: ProvisionRequest,
  at: number,
): Decision<Provisioned> {
  requireGraph(state)
  const existing = existingProvision(state, request)
  if (existing !== undefined) return unchanged({ provision: existing, created: false })
  requireOpen(state)
  requireNoDraft(state)
  requireRevision(state, request.expectedScheduleRevision)
  requireWorkWithoutOperator(state, request.workId)
  requireFreshIds(state, request)
  const { expectedScheduleRevision: _, ...provision } = request
  return commit(graphEntry('provision', { at, provision }), (after) => ({
    provision: committed(after.operators, request.operatorId),
    created: true,
  }))
}

/** A retry is recognized before revision and closure are looked at: what is there stays adopted. */
function existingProvision(state: FoldedGraph, request: ProvisionRequest): Operator | undefined {
  const operatorId = state.index.provisions.get(request.provisionId)
  const existing = operatorId === undefined ? undefined : state.operators.get(operatorId)
  if (existing === undefined) return undefined
  if (existing.provisionFingerprint === request.provisionFingerprint && existing.workId === request.workId) {
    return existing
  }
  throw conflict(`provision ${request.provisionId} is already there with another payload`)
}

function requireWorkWithoutOperator(state: FoldedGraph, workId: string): void {
  const work = state.works.get(workId)
  if (work === undefined) throw new GraphControlError('work-conflict', `no work ${workId} in this graph`)
  if (isTerminal(work.status)) {
    throw new GraphControlError('work-conflict', `work ${workId} is ${work.status}; it needs no operator`)
  }
  if (work.operatorId !== undefined) {
    throw conflict(`work ${workId} already has operator ${work.operatorId}`)
  }
}

function requireFreshIds(state: FoldedGraph, request: ProvisionRequest): void {
  const { operatorId, targetSessionId, initialTurnId, initialRunId } = request
  if (state.operators.has(operatorId)) throw conflict(`operator ${operatorId} is already provisioned`)
  if (state.works.has(operatorId) || operatorId === state.graphId) {
    throw conflict(`operator id ${operatorId} already names something else`)
  }
  if (targetSessionId === state.rootSessionId) {
    throw conflict(`session ${targetSessionId} is the root of this graph and cannot be its operator`)
  }
  const owner = state.index.sessions.get(targetSessionId)
  if (owner !== undefined) throw conflict(`session ${targetSessionId} belongs to operator ${owner}`)
  if (state.index.turns.has(initialTurnId)) throw conflict(`turn ${initialTurnId} is already given out`)
  if (state.index.runs.has(initialRunId)) throw conflict(`run ${initialRunId} is already given out`)
}

/** The same lease is adopted, with the time it was first bound; another one is refused. */
export function decideBinding(
  state: FoldedGraph,
  request: BindingRequest,
  at: number,
): Decision<{ binding: OperatorBinding; created: boolean }> {
  requireGraph(state)
  const { provisionId, leaseKey, path, branch } = request
  const existing = state.bindings.get(provisionId)
  if (existing !== undefined) {
    const isSame = existing.leaseKey === leaseKey && existing.path === path && existing.branch === branch
    if (isSame) return unchanged({ binding: existing, created: false })
    throw new GraphControlError(
      'binding-conflict',
      `provision ${provisionId} is bound to worktree ${existing.path} (lease ${existing.leaseKey}), not ${path} (lease ${leaseKey})`,
    )
  }
  if (!state.index.provisions.has(provisionId)) {
    throw new GraphControlError('provision-not-found', `no provision ${provisionId} in this graph`)
  }
  return commit(graphEntry('bind', { at, binding: request }), (after) => ({
    binding: committed(after.bindings, provisionId),
    created: true,
  }))
}
