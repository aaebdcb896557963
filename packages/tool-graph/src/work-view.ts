/** One work as the model sees it: status, what it waits for, first words of what it left. Pure. */
import {
  COUNTED_PLACES,
  permitPlace,
  readyPlace,
  type GraphRecord,
  type GraphState,
  type Operator,
  type Work,
} from 'dsh-graph-control'
import { brief, costOf, firstOf } from './data-text.ts'
import { underWayOf } from './limits.ts'

const INSTRUCTION_CHARS = 120
const SUMMARY_CHARS = 160
const REASON_CHARS = 240
/** Entries of a list inside of one work, and bytes of them. */
const LISTED = 8
const LISTED_BYTES = 600
const RESULTS_BYTES = 1_500

export interface ResultView {
  readonly recordId: string
  readonly summary: string
  readonly bytes: number
  /** Of an artifact. */
  readonly name?: string
}

export interface WorkView {
  readonly workId: string
  readonly title?: string
  readonly status: string
  readonly target: string
  /** The first words; absent where there is a title. */
  readonly instruction?: string
  readonly inputIds?: readonly string[]
  /** In words: upstream works, a person, the model, a time. Of a work that is not over. */
  readonly waitsFor?: readonly string[]
  readonly operatorId?: string
  readonly claim?: { readonly admission: string; readonly attempt: number; readonly retryReason?: string }
  readonly reason?: string
  readonly replacedBy?: string
  readonly items?: { readonly total: number; readonly pending: number }
  readonly results?: readonly ResultView[]
  /** Records beyond those listed; their work id in `results` of a view gives them all. */
  readonly moreResults?: number
}

/** What the state alone does not say of the works that could begin. */
export interface Standing {
  /** Activations that may be under way at once. */
  readonly slots?: number
  /** Another process holds the root's lease, and does what is done. */
  readonly drivenElsewhere?: boolean
  /** A ceiling that keeps works from beginning for now. */
  readonly ceiling?: string
  /** What holds up the run of an operator that has its slot. */
  readonly runWait?: (operator: Operator) => string | undefined
}

export function workView(state: GraphState, work: Work, standing: Standing = {}): WorkView {
  const { workId, title, status, target, inputIds, operatorId, reason, replacedBy, itemWorkIds } = work
  const claim = claimView(state, work)
  const waitsFor = waitsForOf(state, work, standing)
  const records = work.recordIds.slice(0, LISTED).flatMap((id) => state.records.get(id) ?? [])
  const results = firstOf(records.map(resultView), RESULTS_BYTES, (result) =>
    costOf(result.summary + (result.name ?? '') + result.recordId),
  )
  return {
    workId,
    ...(title === undefined
      ? { instruction: brief(work.instruction, INSTRUCTION_CHARS) }
      : { title: brief(title, INSTRUCTION_CHARS) }),
    status,
    target: targetView(state, target),
    ...(inputIds.length === 0 ? {} : { inputIds: listed(inputIds) }),
    ...(waitsFor.length === 0 ? {} : { waitsFor }),
    ...(operatorId === undefined ? {} : { operatorId }),
    ...(claim === undefined ? {} : { claim }),
    ...(reason === undefined ? {} : { reason: brief(reason, REASON_CHARS) }),
    ...(replacedBy === undefined ? {} : { replacedBy }),
    ...(itemWorkIds === undefined
      ? {}
      : { items: { total: itemWorkIds.length, pending: work.waitingFor.length } }),
    ...(results.length === 0 ? {} : { results }),
    ...(work.recordIds.length <= results.length
      ? {}
      : { moreResults: work.recordIds.length - results.length }),
  }
}

/** An operator is named by the work that it was made for. */
function targetView(state: GraphState, { kind, id }: Work['target']): string {
  return `${kind}:${kind === 'operator' ? (state.operators.get(id)?.workId ?? id) : id}`
}

function resultView({ recordId, summary, bytes, name }: GraphRecord): ResultView {
  return {
    recordId,
    summary: brief(summary, SUMMARY_CHARS),
    bytes,
    ...(name === undefined ? {} : { name: brief(name, INSTRUCTION_CHARS) }),
  }
}

function claimView(state: GraphState, { claimId, status }: Work): WorkView['claim'] {
  const claim = claimId === undefined || status === 'completed' ? undefined : state.claims.get(claimId)
  if (claim === undefined) return undefined
  const { admissionStatus: admission, attempt, retryReason } = claim
  return {
    admission,
    attempt,
    ...(retryReason === undefined ? {} : { retryReason: brief(retryReason, REASON_CHARS) }),
  }
}

/** What has to happen before the work goes on; nothing for one that runs here or is over. */
export function waitsForOf(state: GraphState, work: Work, standing: Standing = {}): readonly string[] {
  if (work.endedAt !== undefined) return []
  if (state.phase === 'draft') return ['the draft to be committed']
  const claim = work.claimId === undefined ? undefined : state.claims.get(work.claimId)
  if (claim?.hold !== undefined) {
    const who = claim.hold.kind === 'person' ? 'a person' : 'you (retry it)'
    return [`${who}: ${brief(claim.hold.reason, REASON_CHARS)}`]
  }
  if (claim?.notBefore !== undefined) return [`a retry at ${new Date(claim.notBefore).toISOString()}`]
  if (work.status === 'waiting') return listed(work.waitingFor)
  if (standing.drivenElsewhere === true) return ['another process, which has this graph']
  const place = claim === undefined ? undefined : permitPlace(state, claim.claimId)
  if (place !== undefined && standing.slots !== undefined && place > standing.slots)
    return [lineText(state, standing.slots, place - standing.slots)]
  if (work.status === 'running') {
    const operator = state.operators.get(work.operatorId ?? '')
    const wait = operator === undefined ? undefined : standing.runWait?.(operator)
    return wait === undefined ? [] : [wait]
  }
  if (work.status !== 'ready') return []
  const busy = work.operatorId === undefined ? undefined : state.live.busyOperators.get(work.operatorId)
  const holder = busy === undefined ? undefined : state.claims.get(busy)?.workId
  return [holder === undefined ? slotOf(state, work, standing) : `its operator, which does ${holder}`]
}

/** Its place among those that could begin, and how many may be under way. */
function slotOf(state: GraphState, { workId }: Work, { ceiling, slots }: Standing): string {
  if (ceiling !== undefined) return ceiling
  const taken = underWayOf(state)
  if (slots === undefined) return 'a free slot'
  if (taken < slots) return `its turn: ${taken} of ${slots} slots are taken`
  const place = readyPlace(state, workId)
  return place === undefined ? farText(state, slots) : lineText(state, slots, taken - slots + place)
}

/** First those that were let go and have no slot yet, then those that are ready. */
function lineText(state: GraphState, slots: number, place: number): string {
  return `a free slot: all ${slots} are taken, place ${place} of ${lineOf(state, slots)} in line`
}

function farText(state: GraphState, slots: number): string {
  return `a free slot: all ${slots} are taken, more than ${COUNTED_PLACES} of ${lineOf(state, slots)} in line come first`
}

function lineOf(state: GraphState, slots: number): number {
  return underWayOf(state) - slots + state.live.ready.size
}

function listed(ids: readonly string[]): readonly string[] {
  const shown = firstOf(ids.slice(0, LISTED), LISTED_BYTES, costOf)
  return shown.length === ids.length ? ids : [...shown, `… ${ids.length - shown.length} more`]
}
