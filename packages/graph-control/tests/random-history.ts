/** A driver and a root that do anything at any time, sensible or not, as a seed dictates. */
import {
  GraphControlError,
  type GraphControlStore,
  type GraphState,
  graphWakeAttemptId,
  graphWakeId,
  type WorkRequest,
} from '../src/index.ts'
import { claimRequest, commit, GRAPH, provisionRequest, random, ROOT, settlement, work } from './fixture.ts'

type Step = (store: GraphControlStore, state: GraphState, next: Dice) => Promise<unknown>

type Dice = (below: number) => number

const anyWork = (next: Dice) => `w${next(40)}`

/** One of these, or now and then something else. */
function pick(candidates: readonly string[], next: Dice): string {
  return (next(8) === 0 ? undefined : candidates[next(Math.max(1, candidates.length))]) ?? anyWork(next)
}

function pickClaim(state: GraphState, next: Dice) {
  const live = [...state.live.claims.keys()]
  const from = live.length > 0 && next(8) > 0 ? live : [...state.claims.keys()]
  return state.claims.get(from[next(Math.max(1, from.length))] ?? 'none')
}

function randomWork(state: GraphState, next: Dice): WorkRequest {
  const existing = [...state.works.keys(), ...state.records.keys()]
  const inputs = new Set(Array.from({ length: next(4) }, () => pick(existing, next)))
  const operator = next(4) === 0 ? pick([...state.operators.keys()], next) : undefined
  return work(anyWork(next), {
    inputIds: [...inputs],
    ...(next(8) === 0 ? { replaces: pick([...state.live.pending.keys()], next) } : {}),
    ...(operator === undefined ? {} : { target: { kind: 'operator', id: operator } }),
  })
}

const add: Step = (store, state, next) =>
  commit(store, `call${next(200)}`, {
    addWork: Array.from({ length: 1 + next(2) }, () => randomWork(state, next)),
  })

const stop: Step = (store, state, next) => {
  const targetId =
    next(30) === 0 ? GRAPH : pick([...state.live.pending.keys(), ...state.operators.keys()], next)
  return commit(store, `call${next(200)}`, { stop: [{ targetId, reason: 'random' }] })
}

const finish: Step = async (store, state, next) => {
  if (state.seq < 120) return
  const resultIds = [...state.records.keys()].slice(0, next(3))
  const all = next(2) === 0 ? { stop: [{ targetId: GRAPH, reason: 'random' }] } : {}
  await commit(store, `call${next(200)}`, { ...all, finish: { resultIds, reason: 'random' } })
}

const provision: Step = (store, state, next) =>
  store.provisionOperator(
    provisionRequest(
      pick([...state.live.ready.keys()], next),
      Math.max(0, state.revision - Number(next(9) === 0)),
    ),
  )

const claim: Step = (store, state, next) => {
  const provisioned = [...state.live.ready.keys()].filter(
    (id) => state.works.get(id)?.operatorId !== undefined,
  )
  const workId = pick(provisioned, next)
  const targetOperatorId = state.works.get(workId)?.operatorId ?? 'none'
  const targetSessionId = state.operators.get(targetOperatorId)?.targetSessionId ?? 'none'
  const request = { ...claimRequest(workId), targetOperatorId, targetSessionId }
  return store.claimIntentAtScheduleRevision(request, state.revision)
}

const begin: Step = (store, state, next) =>
  store.beginAgentGraphIntentExecutionAtScheduleRevision(
    GRAPH,
    pickClaim(state, next)?.intentId ?? 'none',
    state.revision,
  )

const settle: Step = (store, state, next) => {
  const claim = pickClaim(state, next)
  return store.settleActivation(
    settlement('', {
      claimId: claim?.claimId ?? 'none',
      attempt: Math.max(0, (claim?.attempt ?? 1) - Number(next(6) === 0)),
      outcome: (['completed', 'completed', 'failed', 'aborted', 'cancelled'] as const)[next(5)] ?? 'failed',
      conclusion: next(3) === 0 ? '' : `text ${next(9)}`,
    }),
  )
}

const retry: Step = (store, state, next) => {
  const claim = pickClaim(state, next)
  return store.retryActivation(GRAPH, claim?.claimId ?? 'none', Math.max(1, claim?.attempt ?? 1), 'random')
}

const cancel: Step = (store, state, next) =>
  store.cancelAgentGraphIntentExecution(GRAPH, pickClaim(state, next)?.intentId ?? 'none', 'random')

const wait: Step = (store, _, next) =>
  store.registerWait({ graphId: GRAPH, waitId: `wait${next(5)}`, until: next(2) === 0 ? 'any' : 'all' })

const see: Step = (store, state, next) => store.acknowledgeChanges(GRAPH, next(state.changeSeq + 2))

const wake: Step = (store, state, next) => {
  const snapshotVersion = Math.max(0, state.changeSeq - next(3))
  const wakeId = graphWakeId(GRAPH, snapshotVersion)
  return store.claimSupervisorWake({ graphId: GRAPH, wakeId, snapshotVersion, rootSessionId: ROOT })
}

const attempt: Step = (store, state, next) => {
  const wakeId = state.live.openWakeId ?? 'none'
  const attemptId = graphWakeAttemptId(wakeId, next(4))
  return store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, maxAttempts: 2 })
}

const deliver: Step = (store, state, next) => {
  const wakes = [...state.wakes.keys()]
  const wakeId = state.live.openWakeId ?? wakes[next(Math.max(1, wakes.length))] ?? 'none'
  const attemptId = state.wakes.get(wakeId)?.currentAttemptId ?? graphWakeAttemptId(wakeId, next(3))
  const status =
    (['delivered', 'retryable_failed', 'superseded', 'exhausted'] as const)[next(4)] ?? 'delivered'
  return store.completeSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, status })
}

/** What happens more often stands more often. */
const STEPS: readonly Step[] = [
  add,
  add,
  add,
  add,
  stop,
  finish,
  provision,
  provision,
  provision,
  claim,
  claim,
  claim,
  begin,
  begin,
  begin,
  settle,
  settle,
  settle,
  retry,
  cancel,
  wait,
  see,
  wake,
  attempt,
  deliver,
]

/**
 * Plays `steps` random operations over the stores. A refusal is an answer; any other failure is not.
 *
 * @returns how many operations were taken and how many refused.
 */
export async function playHistory(
  stores: readonly GraphControlStore[],
  options: { readonly seed: number; readonly steps: number },
): Promise<{ taken: number; refused: number }> {
  const next = random(options.seed)
  const outcome = { taken: 0, refused: 0 }
  for (let step = 0; step < options.steps; step++) {
    const store = stores[next(stores.length)]
    const play = STEPS[next(STEPS.length)]
    if (store === undefined || play === undefined) continue
    const state = await store.readGraph(GRAPH)
    if (state === undefined) continue
    try {
      await play(store, state, next)
      outcome.taken += 1
    } catch (error) {
      if (!(error instanceof GraphControlError)) throw error
      outcome.refused += 1
    }
  }
  return outcome
}
