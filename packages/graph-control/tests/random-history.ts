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
  const [first] = inputs
  const operator = next(4) === 0 ? pick([...state.operators.keys()], next) : undefined
  const when = ([undefined, 'all', 'any', 'always'] as const)[next(4)]
  return work(anyWork(next), {
    inputIds: [...inputs],
    ...(when === undefined ? {} : { when }),
    ...(next(4) === 0 && first !== undefined ? { forEach: first } : {}),
    ...(next(6) === 0 ? { replaces: pick([...state.works.keys()], next) } : {}),
    ...(operator === undefined ? {} : { target: { kind: 'operator', id: operator } }),
  })
}

const call = (next: Dice) => `call${next(400)}`

const add: Step = (store, state, next) => {
  const draft = state.revision === 0 && next(2) === 0 ? ({ draft: 'open' } as const) : {}
  const addWork = Array.from({ length: 1 + next(2) }, () => randomWork(state, next))
  return commit(store, call(next), { ...draft, addWork })
}

const commitDraft: Step = async (store, state, next) => {
  if (state.phase === 'draft' || next(20) === 0) await commit(store, call(next), { draft: 'commit' })
}

const stop: Step = (store, state, next) => {
  const targetId =
    next(30) === 0 ? GRAPH : pick([...state.live.pending.keys(), ...state.operators.keys()], next)
  const cascade = next(4) === 0 ? { cascadeDownstream: true } : {}
  return commit(store, call(next), { stop: [{ targetId, reason: 'random', ...cascade }] })
}

const retryWork: Step = (store, state, next) => {
  const lost = [...state.works.values()].filter(({ status }) => status !== 'completed')
  const over = lost.filter(({ workId }) => !state.live.pending.has(workId))
  const from = (next(6) === 0 ? lost : over).map(({ workId }) => workId)
  const retry = [...new Set([pick(from, next), ...(next(4) === 0 ? [pick(from, next)] : [])])]
  const addWork = next(5) === 0 ? [randomWork(state, next)] : []
  return commit(store, call(next), {
    addWork,
    retry: retry.map((workId) => ({ workId, reason: 'again' })),
  })
}

const finish: Step = async (store, state, next) => {
  if (state.seq < 200) return
  const resultIds = [...state.records.keys()].slice(0, next(3))
  const all = next(2) === 0 ? { stop: [{ targetId: GRAPH, reason: 'random' }] } : {}
  await commit(store, call(next), { ...all, finish: { resultIds, reason: 'random' } })
}

const provision: Step = (store, state, next) =>
  store.provisionOperator(
    provisionRequest(
      pick([...state.live.ready.keys()], next),
      Math.max(0, state.revision - Number(next(9) === 0)),
    ),
  )

const bind: Step = (store, state, next) => {
  const provisions = [...state.operators.values()].map(({ provisionId }) => provisionId)
  const leaseKey = `lease${next(3)}`
  const provisionId = pick(provisions, next)
  return store.bindOperatorWorktree({ graphId: GRAPH, provisionId, leaseKey, path: '/tree', branch: 'b' })
}

const claim: Step = (store, state, next) => {
  const provisioned = [...state.live.ready.keys()].filter(
    (id) => state.works.get(id)?.operatorId !== undefined,
  )
  const workId = pick(provisioned, next)
  const { operatorId = 'none', retries = 0 } = state.works.get(workId) ?? {}
  const targetSessionId = state.operators.get(operatorId)?.targetSessionId ?? 'none'
  const own = claimRequest(workId, workId, Math.max(0, retries - Number(next(9) === 0)))
  const request = { ...own, targetOperatorId: operatorId, targetSessionId }
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
  const artifacts = Array.from({ length: next(4) }, (_, n) => ({ name: `part ${n}`, text: `part ${n}` }))
  return store.settleActivation(
    settlement('', {
      claimId: claim?.claimId ?? 'none',
      attempt: Math.max(0, (claim?.attempt ?? 1) - Number(next(6) === 0)),
      outcome: (['completed', 'completed', 'failed', 'aborted', 'cancelled'] as const)[next(5)] ?? 'failed',
      conclusion: next(3) === 0 ? '' : `text ${next(9)}`,
      ...(artifacts.length === 0 ? {} : { artifacts }),
      ...(next(2) === 0 ? {} : { usage: { inputTokens: next(100), outputTokens: next(100) } }),
    }),
  )
}

const retry: Step = (store, state, next) => {
  const { claimId = 'none', attempt = 1 } = pickClaim(state, next) ?? {}
  const later = next(3) === 0 ? { notBefore: next(10_000) } : {}
  return store.retryActivation(GRAPH, claimId, Math.max(1, attempt), 'random', later)
}

const hold: Step = (store, state, next) => {
  const { claimId = 'none', attempt = 1 } = pickClaim(state, next) ?? {}
  const kind = next(2) === 0 ? 'person' : 'model'
  return store.holdActivation({
    graphId: GRAPH,
    claimId,
    attempt: Math.max(1, attempt),
    kind,
    reason: 'random',
  })
}

const rearm: Step = (store, state, next) =>
  store.rearmAgentGraphIntentForReplay(GRAPH, pickClaim(state, next)?.intentId ?? 'none')

const cancel: Step = (store, state, next) =>
  store.cancelAgentGraphIntentExecution(GRAPH, pickClaim(state, next)?.intentId ?? 'none', 'random')

const takeGraph: Step = async (store, state, next) => {
  const epoch = Math.max(1, (state.fence?.epoch ?? 0) + next(3) - 1)
  const lease = { rootSessionId: ROOT, epoch, holderId: `holder${epoch}`, assertHeld: () => undefined }
  await store.leased(lease).takeGraph(GRAPH)
}

const wait: Step = (store, _, next) =>
  store.registerWait({ graphId: GRAPH, waitId: `wait${next(5)}`, until: next(2) === 0 ? 'any' : 'all' })

const see: Step = (store, state, next) => store.acknowledgeChanges(GRAPH, next(state.changeSeq + 2))

const wake: Step = (store, state, next) => {
  const snapshotVersion = Math.max(0, state.changeSeq - next(3))
  const wakeId = graphWakeId(GRAPH, snapshotVersion)
  return store.claimSupervisorWake({ graphId: GRAPH, wakeId, snapshotVersion, rootSessionId: ROOT })
}

const scheduleWake: Step = (store, state, next) =>
  store.scheduleSupervisorWake({
    graphId: GRAPH,
    wakeId: `timer${next(6)}`,
    snapshotVersion: Math.max(0, state.changeSeq - next(3)),
    rootSessionId: ROOT,
    dueAt: 900 + next(800),
    ...(next(2) === 0 ? {} : { recurMs: 1 + next(300) }),
  })

/** The open wake, else a scheduled one, now and then any. */
function pickWake(state: GraphState, next: Dice): string {
  const wakes = [...state.wakes.keys()]
  const any = wakes[next(Math.max(1, wakes.length))]
  const scheduled = [...state.live.scheduledWakes.keys()]
  const likely = state.live.openWakeId ?? scheduled[next(Math.max(1, scheduled.length))]
  return (next(6) === 0 ? any : (likely ?? any)) ?? 'none'
}

const attempt: Step = (store, state, next) => {
  const wakeId = pickWake(state, next)
  const attemptId = graphWakeAttemptId(wakeId, next(4))
  const turn = next(2) === 0 ? {} : { turnId: `turn${next(9)}` }
  return store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, maxAttempts: 2, ...turn })
}

const deliver: Step = (store, state, next) => {
  const wakeId = pickWake(state, next)
  const attemptId = state.wakes.get(wakeId)?.currentAttemptId ?? graphWakeAttemptId(wakeId, next(3))
  const all = ['delivered', 'retryable_failed', 'superseded', 'exhausted', 'waiting_permission'] as const
  const status = all[next(all.length)] ?? 'delivered'
  const later = next(2) === 0 ? {} : { retryAt: next(10_000) }
  return store.completeSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, status, ...later })
}

const exhaust: Step = (store, state, next) =>
  store.exhaustSupervisorWake(GRAPH, pickWake(state, next), 'random')

const supersede: Step = async (store, _, next) => {
  if (next(4) === 0) await store.supersedeSupervisorWakes(GRAPH, 'random')
}

const recover: Step = (store) => store.recoverSupervisorWakes(GRAPH)

/** What happens more often stands more often. */
const STEPS: readonly Step[] = [
  ...Array.from({ length: 5 }, () => add),
  commitDraft,
  commitDraft,
  stop,
  retryWork,
  retryWork,
  finish,
  ...Array.from({ length: 4 }, () => provision),
  bind,
  ...Array.from({ length: 5 }, () => claim),
  ...Array.from({ length: 5 }, () => begin),
  ...Array.from({ length: 6 }, () => settle),
  retry,
  hold,
  rearm,
  cancel,
  takeGraph,
  wait,
  see,
  wake,
  wake,
  scheduleWake,
  attempt,
  attempt,
  deliver,
  deliver,
  exhaust,
  supersede,
  recover,
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
