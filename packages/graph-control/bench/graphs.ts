/** Graphs of any size for the benches, as the entries of their streams, and requests to go on with. */
import type { DurableLog, Entry } from 'dsh-durable-log'
import { type GraphEntry, graphEntry, graphStream } from '../src/entries.ts'
import {
  type ClaimRequest,
  epochGraphId,
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphRecordId,
  graphUpdateId,
  graphWorkId,
  LIMITS,
  type ProvisionRequest,
  type ScheduleUpdateRequest,
  stableHash,
} from '../src/index.ts'

export const INSTRUCTION =
  'Read the module, list what its callers rely on, and say what a change would break. '.repeat(4)

export function benchGraphId(name: string): string {
  return epochGraphId(`root of ${name}`, 1)
}

export function updateOf(graphId: string, toolCallId: string, count: number): ScheduleUpdateRequest {
  const source = { sessionId: 'root', runId: 'graph_run_1', turnId: 'graph_turn_1', toolCallId }
  const updateId = graphUpdateId({ graphId, ...source })
  const addWork = Array.from({ length: count }, (_, index) => ({
    workId: graphWorkId(updateId, index),
    target: { kind: 'agent', id: 'default' } as const,
    instruction: INSTRUCTION,
    inputIds: [],
  }))
  const updateFingerprint = stableHash({ graphId, addWork })
  return { schemaVersion: 1, updateId, updateFingerprint, graphId, source, addWork, stop: [] }
}

export function provisionOf(
  graphId: string,
  workId: string,
): Omit<ProvisionRequest, 'expectedScheduleRevision'> {
  const operatorId = graphOperatorId(graphId, workId)
  const provisionId = graphProvisionId(graphId, workId)
  return {
    provisionId,
    provisionFingerprint: stableHash({ workId }),
    graphId,
    workId,
    operatorId,
    targetSessionId: graphOperatorSessionId(graphId, operatorId),
    initialTurnId: `${provisionId}_turn`,
    initialRunId: `${provisionId}_run`,
  }
}

export function claimOf(graphId: string, workId: string): ClaimRequest {
  const { operatorId, targetSessionId, initialTurnId, initialRunId } = provisionOf(graphId, workId)
  const intentId = graphIntentId(graphId, workId)
  return {
    schemaVersion: 1,
    claimId: graphClaimId(graphId, intentId),
    graphId,
    intentId,
    workId,
    intentFingerprint: stableHash({ intentId }),
    targetOperatorId: operatorId,
    targetSessionId,
    targetTurnId: initialTurnId,
    targetRunId: initialRunId,
  }
}

export interface Size {
  readonly works: number
  /** How many of them, the first ones, are done. */
  readonly ended?: number
  /** Records that each of those left. */
  readonly records?: number
  /** Whether each of those was lost once and begun again. */
  readonly isRetried?: boolean
  /** How many of the others have an operator. */
  readonly provisioned?: number
}

/** The stream of a graph of this size. */
export function entriesOf(
  graphId: string,
  { works, ended = 0, records = 1, isRetried = false, provisioned = 0 }: Size,
): GraphEntry[] {
  const at = 1_700_000_000_000
  const entries: GraphEntry[] = []
  const ids: string[] = []
  for (let added = 0; added < works; added += LIMITS.addWork) {
    const update = updateOf(graphId, `fill-${added}`, Math.min(LIMITS.addWork, works - added))
    entries.push(graphEntry('update', { at, update }))
    ids.push(...update.addWork.map((work) => work.workId))
  }
  for (const workId of ids.slice(0, ended + provisioned)) {
    entries.push(graphEntry('provision', { at, provision: provisionOf(graphId, workId) }))
  }
  for (const workId of ids.slice(0, ended))
    entries.push(...lifeOf(graphId, workId, { records, isRetried, at }))
  return entries
}

interface Life {
  readonly records: number
  readonly isRetried: boolean
  readonly at: number
}

function lifeOf(graphId: string, workId: string, { records, isRetried, at }: Life): GraphEntry[] {
  const claim = claimOf(graphId, workId)
  const { claimId, targetOperatorId: operatorId, targetRunId } = claim
  const activationId = isRetried ? `${targetRunId}#2` : targetRunId
  const text = {
    summary: 'What was found. '.repeat(8),
    summaryTruncated: false,
    bytes: 128,
    textTruncated: false,
  }
  const digest = stableHash({ workId })
  const named = (kind: 'conclusion' | 'artifact', name?: string) =>
    graphRecordId({ graphId, operatorId, activationId, kind, ...(name === undefined ? {} : { name }) })
  const artifacts = Array.from({ length: records - 1 }, (_, index) => {
    const name = `part ${index}`
    return { ...text, digest, recordId: named('artifact', name), kind: 'artifact' as const, name }
  })
  const record = { ...text, digest, recordId: named('conclusion'), kind: 'conclusion' as const }
  return [
    graphEntry('claim', { at, claim }),
    graphEntry('begin', { at, claimId }),
    ...(isRetried ? [graphEntry('retry', { at, claimId, attempt: 2, reason: 'lost' })] : []),
    graphEntry('settle', {
      at,
      claimId,
      attempt: isRetried ? 2 : 1,
      outcome: 'completed',
      record,
      ...(artifacts.length === 0 ? {} : { artifacts }),
      usage: { inputTokens: 1_000, outputTokens: 100 },
    }),
  ]
}

/** Writes a stream in few appends. */
export async function write(log: DurableLog, graphId: string, entries: readonly GraphEntry[]): Promise<void> {
  const ofOneAppend = 500
  for (let done = 0; done < entries.length; done += ofOneAppend) {
    await log.append(graphStream(graphId), done, entries.slice(done, done + ofOneAppend) as readonly Entry[])
  }
}
