/**
 * The reference: what a graph is, as plain facts. Everything that can be told from the facts is told
 * anew each time it is asked for; nothing is kept up to date, and no code is shared with the store.
 *
 * Owns: the facts of one graph and what follows from them. Does not own: what may be done.
 */
import type {
  ActivationOutcome,
  ClaimRequest,
  GraphRecord,
  Operator,
  OperatorBinding,
  ScheduleUpdate,
  TokenUsage,
  Wait,
  Wake,
  WakeAttempt,
  WorkRequest,
  WorkStatus,
} from '../../src/index.ts'

export interface RefEnd {
  status: 'completed' | 'failed' | 'cancelled' | 'stopped' | 'superseded' | 'skipped'
  reason?: string
  at: number
}

export interface RefWork {
  id: string
  request: WorkRequest
  ordinal: number
  revision: number
  addedAt: number
  /** Its inputs were judged and it may be claimed. */
  isAdmitted: boolean
  over?: RefEnd
  /** How often it ended. */
  endings: number
  retries: number
  retryReason?: string
  replacedBy?: string
  joinedBy?: string
  items?: string[]
  operatorId?: string
  startedAt?: number
  /** Of this round. */
  claimId?: string
  /** Of a join, when it ended. */
  joined?: string[]
}

export interface RefClaim {
  request: ClaimRequest
  claimedAt: number
  status: 'claimed' | 'executing' | 'settled' | 'cancelled'
  attempt: number
  retryReason?: string
  notBefore?: number
  hold?: { kind: 'person' | 'model'; reason: string; heldAt: number }
  /** How often it was held. */
  holds: number
  cancellationReason?: string
  outcome?: ActivationOutcome
  conclusionId?: string
  left: string[]
  usage?: TokenUsage
}

export interface RefGraph {
  graphId: string
  root?: string
  seq: number
  createdAt?: number
  isDraft: boolean
  finish?: { resultIds: readonly string[]; reason: string; finishedAt: number }
  fence?: { epoch: number; holderId: string }
  seen: number
  updates: ScheduleUpdate[]
  works: RefWork[]
  operators: Operator[]
  bindings: OperatorBinding[]
  claims: RefClaim[]
  records: GraphRecord[]
  /** Texts by record id; gone after a compaction. */
  texts: Record<string, string>
  wakes: Wake[]
  /** Wakes that were asked for at a time and that nobody began. */
  toCome: string[]
  attempts: WakeAttempt[]
  wait?: Wait
}

export function newGraph(graphId: string): RefGraph {
  return {
    graphId,
    seq: 0,
    isDraft: false,
    seen: 0,
    updates: [],
    works: [],
    operators: [],
    bindings: [],
    claims: [],
    records: [],
    texts: {},
    wakes: [],
    toCome: [],
    attempts: [],
  }
}

export function workOf(graph: RefGraph, id: string | undefined): RefWork | undefined {
  return graph.works.find((work) => work.id === id)
}

export function claimOf(graph: RefGraph, id: string | undefined): RefClaim | undefined {
  return graph.claims.find((claim) => claim.request.claimId === id)
}

export function isLive(claim: RefClaim): boolean {
  return claim.status === 'claimed' || claim.status === 'executing'
}

/** The work that an input stands for, with replacements; undefined for a record. */
export function standsFor(graph: RefGraph, input: string): RefWork | undefined {
  let work = workOf(graph, input)
  while (work?.replacedBy !== undefined) work = workOf(graph, work.replacedBy)
  return work
}

/** The works that a work takes results of, each once: its inputs, and its items if it is a join. */
export function inputsOf(graph: RefGraph, work: RefWork): RefWork[] {
  const inputs = work.request.inputIds.flatMap((input) => standsFor(graph, input) ?? [])
  return [...new Set(inputs)]
}

export function itemsOf(graph: RefGraph, work: RefWork): RefWork[] {
  return (work.items ?? []).flatMap((id) => workOf(graph, id) ?? [])
}

export function statusOf(graph: RefGraph, work: RefWork): WorkStatus {
  if (work.over !== undefined) return work.over.status
  const claim = claimOf(graph, work.claimId)
  if (claim !== undefined) return claim.status === 'executing' ? 'running' : 'claimed'
  return work.isAdmitted ? 'ready' : 'waiting'
}

export function waitingFor(graph: RefGraph, work: RefWork): string[] {
  if (work.over !== undefined || work.isAdmitted) return []
  const causes = work.items === undefined ? inputsOf(graph, work) : itemsOf(graph, work)
  return causes.filter((cause) => cause.over === undefined).map((cause) => cause.id)
}

export function recordIdsOf(graph: RefGraph, work: RefWork): string[] {
  return work.joined ?? claimOf(graph, work.claimId)?.left ?? []
}

/** A claim that was held and is let go comes behind those that were made meanwhile. */
export function letGo(graph: RefGraph, held: RefClaim): void {
  if (held.hold === undefined) return
  delete held.hold
  graph.claims = [...graph.claims.filter((claim) => claim !== held), held]
}

export function usageOf(claims: readonly RefClaim[]): TokenUsage | undefined {
  const told = claims.flatMap((claim) => claim.usage ?? [])
  if (told.length === 0) return undefined
  const inputTokens = told.reduce((sum, usage) => sum + usage.inputTokens, 0)
  return { inputTokens, outputTokens: told.reduce((sum, usage) => sum + usage.outputTokens, 0) }
}

export function changeSeqOf(graph: RefGraph): number {
  const ends = graph.works.reduce((sum, work) => sum + work.endings, 0)
  return ends + graph.claims.reduce((sum, claim) => sum + claim.holds, 0)
}

export function openWakeOf(graph: RefGraph): Wake | undefined {
  const open = ['pending', 'running', 'waiting_permission', 'retryable_failed']
  return graph.wakes.find((wake) => open.includes(wake.status) && !graph.toCome.includes(wake.wakeId))
}

export function wokenUpTo(graph: RefGraph): number {
  const told = graph.wakes.filter((wake) => wake.dueAt === undefined || wake.attempts > 0)
  return Math.max(0, ...told.map((wake) => wake.snapshotVersion))
}
