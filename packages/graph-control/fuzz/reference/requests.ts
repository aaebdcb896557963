/** Requests out of numbers: mostly sensible ones for the graph as it is, now and then any. */
import {
  type ClaimRequest,
  epochGraphId,
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphUpdateId,
  type ProvisionRequest,
  type ScheduleUpdateRequest,
  type SettleRequest,
  stableHash,
  type WorkRequest,
} from '../../src/index.ts'
import { claimOf, isLive, openWakeOf, type RefClaim, type RefGraph, statusOf, workOf } from './graph.ts'

export const ROOT = 'root-session'
export const OTHER = 'other-root'

/** Numbers that decide; those that are not there are 0, so that shorter lists are simpler ones. */
export class Dice {
  private readonly numbers: readonly number[]
  private at = 0

  constructor(numbers: readonly number[]) {
    this.numbers = numbers
  }

  below(bound: number): number {
    const number = this.numbers[this.at % Math.max(1, this.numbers.length)] ?? 0
    // Once around, the numbers are others.
    const turned = number + 7 * Math.floor(this.at / Math.max(1, this.numbers.length))
    this.at += 1
    return turned % bound
  }

  /** True once in `often`, and for the number 1. */
  rarely(often: number): boolean {
    return this.below(often) === 1
  }

  pick<T>(values: readonly T[]): T | undefined {
    return values[this.below(Math.max(1, values.length))]
  }
}

/** One of these; sometimes, or where there are none, any of the others. */
export function pickId(dice: Dice, sensible: readonly string[], others: readonly string[]): string {
  const from = sensible.length > 0 && !dice.rarely(25) ? sensible : others
  return dice.pick(from) ?? 'nothing'
}

const WORK_IDS = Array.from({ length: 14 }, (_, index) => `w${index}`)
const REASONS = ['random', 'enough', 'another way']

export function reasonOf(dice: Dice): string {
  return dice.pick(REASONS) ?? 'random'
}

export function workRequest(graph: RefGraph, dice: Dice, added: readonly WorkRequest[]): WorkRequest {
  const free = WORK_IDS.filter(
    (id) => workOf(graph, id) === undefined && !added.some((work) => work.workId === id),
  )
  const workId = pickId(dice, free.slice(0, 3), [...WORK_IDS, graph.graphId])
  const known = [...graph.works.map((work) => work.id), ...graph.records.map((record) => record.recordId)]
  const candidates = [...added.map((work) => work.workId), ...known].toReversed()
  const inputCount = candidates.length === 0 && !dice.rarely(16) ? 0 : dice.below(4)
  const others = [...WORK_IDS, ...candidates]
  const inputIds = [...new Set(Array.from({ length: inputCount }, () => pickId(dice, candidates, others)))]
  const input = dice.pick(inputIds)
  const lost = graph.works.filter((work) => work.over !== undefined && work.over.status !== 'completed')
  const replaceable = [...lost, ...graph.works]
    .filter((work) => work.replacedBy === undefined)
    .map((work) => work.id)
  const isReplacing = replaceable.length > 0 ? dice.rarely(4) : dice.rarely(30)
  const when = dice.pick([undefined, undefined, 'any', 'always', 'all'] as const)
  const operator = dice.rarely(5) ? dice.pick(graph.operators) : undefined
  return {
    workId,
    target:
      operator === undefined ? { kind: 'agent', id: 'a' } : { kind: 'operator', id: operator.operatorId },
    instruction: `do ${workId}`,
    inputIds,
    ...(when === undefined ? {} : { when }),
    ...(input !== undefined && dice.rarely(4) ? { forEach: input } : {}),
    ...(isReplacing ? { replaces: pickId(dice, replaceable, WORK_IDS) } : {}),
    ...(dice.rarely(6) ? { title: `title of ${workId}` } : {}),
    ...(dice.rarely(90) ? { replacementMode: dice.pick(['none', 'replace'] as const) ?? 'none' } : {}),
  }
}

type Parts = Partial<Pick<ScheduleUpdateRequest, 'addWork' | 'stop' | 'retry' | 'finish' | 'draft'>>

export function updateRequest(graph: RefGraph, call: string, parts: Parts): ScheduleUpdateRequest {
  const { graphId } = graph
  const source = { sessionId: ROOT, runId: 'graph_run_1', turnId: 'graph_turn_1', toolCallId: call }
  const payload = { addWork: [], stop: [], ...parts }
  const updateId = graphUpdateId({ graphId, ...source })
  return { schemaVersion: 1, updateId, updateFingerprint: stableHash(payload), graphId, source, ...payload }
}

export function provisionRequest(graph: RefGraph, dice: Dice): ProvisionRequest {
  const { graphId } = graph
  const bare = graph.works.filter((work) => work.over === undefined && work.operatorId === undefined)
  const workId = pickId(
    dice,
    bare.map((work) => work.id),
    [...graph.works.map((work) => work.id), 'w99'],
  )
  const operatorId = dice.rarely(40) ? 'w1' : graphOperatorId(graphId, workId)
  return {
    provisionId: graphProvisionId(graphId, workId),
    provisionFingerprint: stableHash({ workId, other: dice.rarely(30) }),
    graphId,
    workId,
    operatorId,
    targetSessionId: dice.rarely(40) ? ROOT : graphOperatorSessionId(graphId, operatorId),
    initialTurnId: `turn of ${workId}.`,
    initialRunId: `run of ${workId}.`,
    expectedScheduleRevision: Math.max(0, graph.updates.length - Number(dice.rarely(12))),
  }
}

export function claimRequest(graph: RefGraph, dice: Dice): ClaimRequest {
  const ready = graph.works.filter(
    (work) => statusOf(graph, work) === 'ready' && work.operatorId !== undefined,
  )
  const workId = pickId(
    dice,
    ready.map((work) => work.id),
    [...graph.works.map((work) => work.id), 'w99'],
  )
  const work = workOf(graph, workId)
  const operator = graph.operators.find((known) => known.operatorId === work?.operatorId)
  const intentId = graphIntentId(graph.graphId, workId, work?.retries ?? 0)
  const isFirst = work?.retries === 0 && operator?.workId === workId
  const round = isFirst && !dice.rarely(9) ? '' : ` ${intentId.slice(-6)}`
  const other = dice.rarely(12) ? ' of w1.' : ` of ${workId}.${round}`
  return {
    schemaVersion: 1,
    claimId: graphClaimId(graph.graphId, intentId),
    graphId: graph.graphId,
    intentId,
    workId,
    intentFingerprint: stableHash({ intentId, other: dice.rarely(30) }),
    targetOperatorId: operator?.operatorId ?? 'no operator',
    targetSessionId: operator?.targetSessionId ?? 'no session',
    targetTurnId: `turn${other}`,
    targetRunId: `run${other}`,
  }
}

/** A claim, live ones before others. */
export function anyClaim(graph: RefGraph, dice: Dice, status?: RefClaim['status']): RefClaim | undefined {
  const live = graph.claims.filter((claim) =>
    status === undefined ? isLive(claim) : claim.status === status,
  )
  const id = pickId(
    dice,
    live.map((claim) => claim.request.claimId),
    graph.claims.map((claim) => claim.request.claimId),
  )
  return claimOf(graph, id)
}

const OUTCOMES = ['completed', 'completed', 'completed', 'failed', 'failed', 'aborted', 'cancelled'] as const

/** The texts follow from claim and attempt: of two settlements of one attempt the first text counts. */
export function settleRequest(graph: RefGraph, dice: Dice): SettleRequest {
  const claim = anyClaim(graph, dice, 'executing')
  const { claimId } = claim?.request ?? { claimId: 'no claim' }
  const attempt = Math.max(0, (claim?.attempt ?? 1) - Number(dice.rarely(12)))
  const outcome = dice.pick(OUTCOMES) ?? 'completed'
  const names = ['one', 'two', 'three'].slice(0, dice.below(4))
  const hasText = outcome === 'completed' || dice.rarely(2)
  return {
    graphId: graph.graphId,
    claimId,
    attempt,
    outcome,
    ...(hasText ? { conclusion: `what ${claimId} found in attempt ${attempt}` } : {}),
    ...(names.length > 0
      ? { artifacts: names.map((name) => ({ name, text: `${name} ${claimId} ${attempt}` })) }
      : {}),
    ...(dice.rarely(3) ? { usage: { inputTokens: 1 + dice.below(9), outputTokens: dice.below(5) } } : {}),
    ...(dice.rarely(2) ? { reason: reasonOf(dice) } : {}),
  }
}

/** A wake, the open one before others. */
export function anyWakeId(graph: RefGraph, dice: Dice): string {
  const open = openWakeOf(graph)?.wakeId
  const sensible = [...(open === undefined ? [] : [open]), ...graph.toCome]
  return pickId(dice, sensible, [...graph.wakes.map((wake) => wake.wakeId), 'no wake'])
}

export function graphIds(): readonly string[] {
  return [epochGraphId(ROOT, 1), epochGraphId(ROOT, 2), 'registered-graph']
}
