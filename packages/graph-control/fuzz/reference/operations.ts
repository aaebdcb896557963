/** Every operation of the store, each with what the reference says to it. */
import { epochGraphId, type GraphControl, type ScheduleUpdateRequest } from '../../src/index.ts'
import * as activations from './activations.ts'
import { changeSeqOf, openWakeOf, type RefGraph, statusOf } from './graph.ts'
import {
  anyClaim,
  anyWakeId,
  claimRequest,
  type Dice,
  graphIds,
  OTHER,
  pickId,
  provisionRequest,
  reasonOf,
  ROOT,
  settleRequest,
  updateRequest,
  workRequest,
} from './requests.ts'
import * as schedule from './schedule.ts'
import { kept, refused, type Verdict } from './verdict.ts'
import * as wakes from './wakes.ts'
import { advance, compact, create, idsOf, purge, type RefWorld } from './world.ts'
import { canRetry } from './works.ts'

export interface Asked {
  /** What the store is asked for. */
  readonly run: (store: GraphControl) => Promise<unknown>
  /** What the reference says; it moves where it agrees. */
  readonly judge: (graph: RefGraph, world: RefWorld) => Verdict
  /** The answer of the store in the words of the reference. */
  readonly told?: (answer: never) => Readonly<Record<string, unknown>>
  /** No commit to one graph: no lease, and a graph without entries is no obstacle. */
  readonly isOfRoot?: boolean
  /** A graph without entries is no obstacle. */
  readonly mayBeEmpty?: boolean
}

export interface Situation {
  readonly graph: RefGraph
  readonly dice: Dice
  readonly at: number
  /** Differs for each operation. */
  readonly call: string
}

type Operation = (situation: Situation) => Asked

interface Created {
  readonly created: boolean
}

const created = ({ created: isNew }: Created) => ({ created: isNew })

function update(parts: (situation: Situation) => Parameters<typeof updateRequest>[2]): Operation {
  return (situation) => commit(updateRequest(situation.graph, situation.call, parts(situation)), situation.at)
}

function commit(request: ScheduleUpdateRequest, at: number): Asked {
  return {
    run: (store) => store.commitScheduleUpdate(request),
    judge: (graph, world) => {
      const isEpoch = (world.epochs[ROOT] ?? []).includes(request.graphId)
      return schedule.update(graph, request, at, graph.seq === 0 && isEpoch ? ROOT : undefined)
    },
    told: (answer: Created & { update: { revision: number } }) => ({
      created: answer.created,
      revision: answer.update.revision,
    }),
    mayBeEmpty: true,
  }
}

function works({ graph, dice }: Situation, count: number) {
  const added: ReturnType<typeof workRequest>[] = []
  for (let left = count; left > 0; left -= 1) added.push(workRequest(graph, dice, added))
  // Works of one update may name each other in any order, and each once.
  const unique = added.filter(
    (work, index) => added.findIndex((other) => other.workId === work.workId) === index,
  )
  return dice.rarely(2) ? unique.toReversed() : unique
}

function stops({ graph, dice }: Situation) {
  const pending = graph.works.filter((work) => work.over === undefined).map((work) => work.id)
  const others = [...graph.works.map((work) => work.id), ...graph.operators.map((o) => o.operatorId), 'w99']
  const targets = [...new Set(Array.from({ length: 1 + dice.below(2) }, () => pickId(dice, pending, others)))]
  return targets.map((targetId) => ({
    targetId: dice.rarely(16) ? graph.graphId : targetId,
    reason: reasonOf(dice),
    ...(dice.rarely(3) ? { cascadeDownstream: true } : {}),
  }))
}

function retries({ graph, dice }: Situation) {
  const lost = graph.works.filter((work) => canRetry(work) || work.items !== undefined).map((work) => work.id)
  const others = [...graph.works.map((work) => work.id), 'w99']
  const ids = new Set(Array.from({ length: 1 + dice.below(2) }, () => pickId(dice, lost, others)))
  return [...ids].map((workId) => ({ workId, reason: reasonOf(dice) }))
}

function oneOfEach<T extends { readonly targetId: string }>(values: readonly T[]): T[] {
  return values.filter(
    (value, index) => values.findIndex((other) => other.targetId === value.targetId) === index,
  )
}

function finishing(situation: Situation) {
  const { graph, dice } = situation
  const all = dice.rarely(2) ? [{ targetId: graph.graphId, reason: 'the end' }] : []
  const known = graph.records.map((record) => record.recordId)
  const resultIds = known.slice(0, dice.below(3))
  return {
    ...(graph.seq > 0 && graph.works.length > 0 ? { stop: all } : {}),
    finish: { resultIds: dice.rarely(16) ? ['no record'] : resultIds, reason: reasonOf(dice) },
    ...(dice.rarely(20) ? { addWork: works(situation, 1) } : {}),
  }
}

/** The same update once more, as it was or not quite. */
function repeated({ graph, dice, at, call }: Situation): Asked {
  const known = dice.pick(graph.updates)
  if (known === undefined) return commit(updateRequest(graph, call, { addWork: [] }), at)
  const { revision: _r, committedAt: _c, ...request } = known
  const kind = dice.below(4)
  if (kind === 1) return commit({ ...request, updateFingerprint: 'another' }, at)
  if (kind === 2) return commit({ ...request, updateId: `${request.updateId} again` }, at)
  if (kind === 3) return commit({ ...request, stop: [{ targetId: graph.graphId, reason: 'other' }] }, at)
  return commit(request, at)
}

const transition = ({ state, previousState, changed }: Record<string, unknown>) => ({
  state,
  previousState,
  changed,
})

export const OPERATIONS = {
  add: update((situation) => ({ addWork: works(situation, 1 + situation.dice.below(3)) })),
  stop: update((situation) => ({ stop: oneOfEach(stops(situation)) })),
  retry: update((situation) => ({ retry: retries(situation) })),
  everything: update((situation) => ({
    stop: situation.dice.rarely(2) ? oneOfEach(stops(situation)) : [],
    addWork: works(situation, 1 + situation.dice.below(2)),
    retry: retries(situation),
  })),
  finish: update((situation) => finishing(situation)),
  draft: update((situation) => ({
    draft: situation.dice.rarely(3) || situation.graph.isDraft ? 'commit' : 'open',
    addWork: works(situation, situation.dice.below(2)),
  })),
  repeat: repeated,

  provision: ({ graph, dice, at }) => {
    const request = provisionRequest(graph, dice)
    return {
      run: (store) => store.provisionOperator(request),
      judge: (held) => activations.provision(held, request, at),
      told: created,
    }
  },
  bind: ({ graph, dice, at }) => {
    const provisionId = pickId(
      dice,
      graph.operators.map((o) => o.provisionId),
      ['no provision'],
    )
    const leaseKey = dice.rarely(4) ? 'other' : 'lease'
    const request = { graphId: graph.graphId, provisionId, leaseKey, path: '/tree', branch: 'b' }
    return {
      run: (store) => store.bindOperatorWorktree(request),
      judge: (held) => activations.bind(held, request, at),
      told: created,
    }
  },
  claim: ({ graph, dice, at }) => {
    const request = claimRequest(graph, dice)
    const revision = dice.rarely(3) ? undefined : Math.max(0, graph.updates.length - Number(dice.rarely(12)))
    return {
      run: (store) =>
        revision === undefined
          ? store.claimIntent(request)
          : store.claimIntentAtScheduleRevision(request, revision),
      judge: (held) => activations.claim(held, request, at, revision),
      told: (answer: Created & { claim: { targetRunId: string } }) => ({
        created: answer.created,
        runId: answer.claim.targetRunId,
      }),
    }
  },
  begin: ({ graph, dice, at }) => {
    const intentId = anyClaim(graph, dice, 'claimed')?.request.intentId ?? 'no intent'
    const revision = Math.max(0, graph.updates.length - Number(dice.rarely(12)))
    return {
      run: (store) =>
        store.beginAgentGraphIntentExecutionAtScheduleRevision(graph.graphId, intentId, revision),
      judge: (held) => activations.begin(held, intentId, revision, at),
      told: transition,
    }
  },
  rearm: ({ graph, dice }) => {
    const intentId = anyClaim(graph, dice, 'executing')?.request.intentId ?? 'no intent'
    return {
      run: (store) => store.rearmAgentGraphIntentForReplay(graph.graphId, intentId),
      judge: (held) => activations.rearm(held, intentId),
      told: transition,
    }
  },
  cancel: ({ graph, dice, at }) => {
    const intentId = anyClaim(graph, dice)?.request.intentId ?? 'no intent'
    const reason = reasonOf(dice)
    return {
      run: (store) => store.cancelAgentGraphIntentExecution(graph.graphId, intentId, reason),
      judge: (held) => activations.cancel(held, intentId, reason, at),
      told: transition,
    }
  },
  again: ({ graph, dice, at }) => {
    const claim = anyClaim(graph, dice, 'executing')
    const claimId = claim?.request.claimId ?? 'no claim'
    const lostAttempt = Math.max(1, (claim?.attempt ?? 1) - Number(dice.rarely(4)))
    const notBefore = dice.rarely(2) ? at + dice.below(50) : undefined
    const [reason, later] = [reasonOf(dice), notBefore === undefined ? {} : { notBefore }]
    return {
      run: (store) => store.retryActivation(graph.graphId, claimId, lostAttempt, reason, later),
      judge: (held) => activations.again(held, { claimId, lostAttempt, reason, ...later }),
      told: ({ attempt }: { attempt: number }) => ({ attempt }),
    }
  },
  hold: ({ graph, dice, at }) => {
    const claim = anyClaim(graph, dice, 'executing')
    const claimId = claim?.request.claimId ?? 'no claim'
    const attempt = Math.max(1, (claim?.attempt ?? 1) - Number(dice.rarely(6)))
    const kind = dice.rarely(2) ? ('model' as const) : ('person' as const)
    const request = { graphId: graph.graphId, claimId, attempt, kind, reason: reasonOf(dice) }
    return {
      run: (store) => store.holdActivation(request),
      judge: (held) => activations.hold(held, request, at),
      told: ({ attempt: live }: { attempt: number }) => ({ attempt: live }),
    }
  },
  settle: ({ graph, dice, at }) => {
    const request = settleRequest(graph, dice)
    return {
      run: (store) => store.settleActivation(request),
      judge: (held) => activations.settle(held, request, at),
      told: (answer: Created & { record: { recordId: string } | undefined }) => ({
        created: answer.created,
        recordId: answer.record?.recordId,
      }),
    }
  },

  wait: ({ graph, dice, at }) => {
    const reason = dice.rarely(4) ? { reason: reasonOf(dice) } : {}
    const until = dice.rarely(2) ? ('all' as const) : ('any' as const)
    const request = { waitId: `wait${dice.below(3)}`, until, ...reason }
    return {
      run: (store) => store.registerWait({ graphId: graph.graphId, ...request }),
      judge: (held) => wakes.wait(held, request, at),
    }
  },
  see: ({ graph, dice, at }) => {
    const changeSeq = Math.max(0, changeSeqOf(graph) + 1 - dice.below(3))
    return {
      run: (store) => store.acknowledgeChanges(graph.graphId, changeSeq),
      judge: (held) => wakes.acknowledge(held, changeSeq, at),
    }
  },
  wake: ({ graph, dice, at }) => {
    const snapshotVersion = Math.max(0, changeSeqOf(graph) + Number(dice.rarely(9)) - dice.below(2))
    const rootSessionId = dice.rarely(16) ? OTHER : ROOT
    const request = { wakeId: `wake${snapshotVersion}`, snapshotVersion, rootSessionId }
    return {
      run: (store) => store.claimSupervisorWake({ graphId: graph.graphId, ...request }),
      judge: (held) => wakes.wake(held, request, at),
      told: created,
    }
  },
  schedule: ({ graph, dice, at }) => {
    const recurMs = dice.rarely(2) ? { recurMs: 1 + dice.below(40) } : {}
    const known = dice.rarely(3)
      ? dice.pick(graph.wakes.filter((wake) => wake.dueAt !== undefined))
      : undefined
    const dueAt = known?.dueAt ?? Math.max(0, at + dice.below(60) - 20)
    const wakeId = known?.wakeId.replace(/#.*/u, '') ?? `scheduled${dice.below(5)}`
    const snapshotVersion = Math.max(0, changeSeqOf(graph) - dice.below(2))
    const again = known?.recurMs === undefined ? {} : { recurMs: known.recurMs }
    const request = {
      wakeId,
      snapshotVersion,
      rootSessionId: ROOT,
      dueAt,
      ...(known === undefined ? recurMs : again),
    }
    return {
      run: (store) => store.scheduleSupervisorWake({ graphId: graph.graphId, ...request }),
      judge: (held) => wakes.wake(held, request, at),
      told: created,
    }
  },
  attempt: ({ graph, dice, at, call }) => {
    const wakeId = anyWakeId(graph, dice)
    const known = dice.rarely(9) ? dice.pick(graph.attempts)?.attemptId : undefined
    const maxAttempts = dice.rarely(3) ? { maxAttempts: 2 } : {}
    const request = { wakeId, attemptId: known ?? `attempt ${call}`, ...maxAttempts }
    return {
      run: (store) => store.beginSupervisorWakeAttempt({ graphId: graph.graphId, ...request }),
      judge: (held) => wakes.attempt(held, request, at),
      told: (answer: { acquired: boolean; wake: { status: string } }) => ({
        acquired: answer.acquired,
        status: answer.wake.status,
      }),
    }
  },
  complete: ({ graph, dice, at }) => {
    const wakeId = anyWakeId(graph, dice)
    const current = graph.wakes.find((wake) => wake.wakeId === wakeId)?.currentAttemptId
    const attemptId = dice.rarely(9) ? dice.pick(graph.attempts)?.attemptId : current
    const statuses = [
      'delivered',
      'retryable_failed',
      'waiting_permission',
      'superseded',
      'exhausted',
    ] as const
    const status = dice.pick(statuses) ?? 'delivered'
    const failureReason = dice.rarely(2) ? { failureReason: reasonOf(dice) } : {}
    const retryAt = status === 'retryable_failed' && dice.rarely(2) ? { retryAt: at + 5 } : {}
    const request = { wakeId, attemptId: attemptId ?? 'no attempt', status, ...failureReason, ...retryAt }
    return {
      run: (store) => store.completeSupervisorWakeAttempt({ graphId: graph.graphId, ...request }),
      judge: (held) => wakes.complete(held, request, at),
      told: ({ status: state }: { status: string }) => ({ status: state }),
    }
  },
  exhaust: ({ graph, dice, at }) => {
    const [wakeId, reason] = [anyWakeId(graph, dice), reasonOf(dice)]
    return {
      run: (store) => store.exhaustSupervisorWake(graph.graphId, wakeId, reason),
      judge: (held) => wakes.exhaust(held, wakeId, reason, at),
      told: ({ status }: { status: string }) => ({ status }),
    }
  },
  supersede: ({ graph, dice, at }) => {
    const reason = reasonOf(dice)
    return {
      run: (store) => store.supersedeSupervisorWakes(graph.graphId, reason),
      judge: (held) => wakes.supersede(held, reason, at),
      told: (count: number) => ({ count }),
    }
  },
  recover: ({ graph, at }) => ({
    run: (store) => store.recoverSupervisorWakes(graph.graphId),
    judge: (held) => wakes.recover(held, at),
    told: (count: number) => ({ count }),
    mayBeEmpty: true,
  }),

  advance: ({ dice, at }) => ({
    ...asEpoch(dice.below(3), at),
    isOfRoot: true,
  }),
  create: ({ dice, at }) => {
    const graphId = dice.pick(graphIds()) ?? 'none'
    const rootSessionId = dice.rarely(4) && graphId === 'registered-graph' ? OTHER : ROOT
    return {
      run: (store) => store.createGraph({ graphId, rootSessionId }),
      judge: (_, world) => create(world, graphId, rootSessionId, at),
      told: created,
      isOfRoot: true,
    }
  },
  list: () => ({
    run: async (store) => ({
      own: (await store.listGraphs({ rootSessionId: ROOT })).graphs.map((graph) => graph.graphId),
      all: (await store.listGraphs()).graphs.map((graph) => graph.graphId),
      open: (await store.listOpenGraphs()).map((graph) => graph.graphId),
      epochs: (await store.listEpochs(ROOT)).map((epoch) => epoch.graphId),
    }),
    judge: (_, world) =>
      kept({
        own: idsOf(world, (graph) => graph.root === ROOT),
        all: idsOf(world, () => true),
        open: idsOf(world, (graph) => graph.finish === undefined),
        epochs: world.epochs[ROOT] ?? [],
      }),
    told: (lists: Record<string, unknown>) => lists,
    isOfRoot: true,
  }),
  read: ({ graph, dice }) => {
    const recordId = pickId(
      dice,
      graph.records.map((record) => record.recordId),
      ['no record'],
    )
    return {
      run: (store) => store.readResult(graph.graphId, recordId),
      judge: ({ texts }) => {
        const text = texts[recordId]
        return text === undefined ? refused('record-not-found') : kept({ text })
      },
      told: ({ text }: { text: string }) => ({ text }),
      isOfRoot: true,
    }
  },
  timeline: ({ graph, dice }) => {
    const request = { graphId: graph.graphId, limit: 1 + dice.below(9), ...place(dice, graph.seq) }
    return {
      run: (store) => store.readTimeline(request),
      judge: ({ seq }) => (seq === 0 ? refused('graph-not-found') : kept({ total: seq, isOrdered: true })),
      isOfRoot: true,
      told: (page: { events: readonly { seq: number }[]; omittedBefore: number; omittedAfter: number }) => {
        const seqs = page.events.map((event) => event.seq)
        const isOrdered = seqs.every((seq, index) => Math.abs(seq - (seqs[0] ?? seq)) === index)
        return { total: page.omittedBefore + seqs.length + page.omittedAfter, isOrdered }
      },
    }
  },
  compact: () => ({
    run: (store) => store.compact(ROOT),
    judge: (_, world) => compact(world, ROOT),
    isOfRoot: true,
  }),
  purge: ({ dice }) => {
    const root = dice.rarely(3) ? OTHER : ROOT
    return { run: (store) => store.purge(root), judge: (_, world) => purge(world, root), isOfRoot: true }
  },
} satisfies Record<string, Operation>

function place(dice: Dice, seq: number): { afterSeq?: number; beforeSeq?: number } {
  const kind = dice.below(3)
  if (kind === 0) return {}
  return kind === 1 ? { afterSeq: dice.below(seq + 1) } : { beforeSeq: dice.below(seq + 3) }
}

function asEpoch(expected: number, at: number): Omit<Asked, 'isOfRoot'> {
  const graphId = epochGraphId(ROOT, expected + 1)
  return {
    run: (store) => store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: expected }),
    judge: (_, world) => advance(world, ROOT, { expected, graphId, at }),
    told: created,
  }
}

export type OperationName = keyof typeof OPERATIONS | 'drive' | 'deliver'

/** The next step of some work, as a driver would take it. */
function driveStep({ graph, dice }: Situation): OperationName {
  const steps: OperationName[] = []
  const count = (status: string) => graph.claims.filter((claim) => claim.status === status).length
  const ready = graph.works.filter((work) => statusOf(graph, work) === 'ready')
  if (ready.some((work) => work.operatorId === undefined)) steps.push('provision')
  if (ready.some((work) => work.operatorId !== undefined)) steps.push('claim')
  if (count('claimed') > 0) steps.push('begin', 'begin')
  if (count('executing') > 0) steps.push('settle', 'settle')
  return dice.pick(steps) ?? 'add'
}

/** The next step towards a turn of the root. */
function deliveryStep({ graph, dice }: Situation): OperationName {
  const open = openWakeOf(graph)
  if (open === undefined) return graph.toCome.length > 0 && dice.rarely(2) ? 'attempt' : 'wake'
  return open.status === 'pending' || open.status === 'retryable_failed' ? 'attempt' : 'complete'
}

/** What happens more often stands more often. */
const SHARES: readonly (readonly [share: number, ...names: OperationName[]])[] = [
  [50, 'drive'],
  [14, 'add'],
  [8, 'retry', 'deliver'],
  [4, 'stop', 'everything', 'settle', 'claim'],
  [
    2,
    'hold',
    'again',
    'rearm',
    'cancel',
    'repeat',
    'schedule',
    'see',
    'wait',
    'begin',
    'provision',
    'complete',
  ],
  [1, 'bind', 'attempt', 'wake', 'exhaust', 'supersede', 'recover', 'finish', 'draft', 'advance', 'create'],
  [1, 'list', 'read', 'timeline', 'compact', 'purge'],
]

export const MIX: readonly OperationName[] = SHARES.flatMap(([share, ...names]) =>
  names.flatMap((name) => Array<OperationName>(share).fill(name)),
)

/** An operation, where `drive` and `deliver` stand for whichever comes next. */
export function ask(name: OperationName, situation: Situation): Asked & { readonly name: string } {
  if (name === 'drive') return ask(driveStep(situation), situation)
  if (name === 'deliver') return ask(deliveryStep(situation), situation)
  return { ...(OPERATIONS[name] as Operation)(situation), name }
}
