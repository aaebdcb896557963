/**
 * The history of a graph, read from its stream page by page: each committed transition is one event.
 * Owns: which transition is which kind of event, and what of it is shown. Texts are left out or cut;
 * the graph's state has them.
 */
import type { DurableLog, JsonValue, StoredEntry } from 'dsh-durable-log'
import { type GraphEntry, graphStream, parseGraphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { ShapeError } from './shape.ts'
import type { TimelineEvent, TimelineKind, TimelinePage, TimelineRequest } from './types.ts'

const DEFAULT_EVENTS = 100
const REASON_CHARS = 500

/** @param seq the head of the graph's stream, as the caller knows it. */
export async function readTimeline(
  log: DurableLog,
  request: TimelineRequest,
  seq: number,
): Promise<TimelinePage> {
  const { graphId, afterSeq, beforeSeq, limit = DEFAULT_EVENTS } = request
  if (afterSeq !== undefined && beforeSeq !== undefined) {
    throw new GraphControlError('invalid', 'readTimeline refused: name afterSeq or beforeSeq, not both')
  }
  const isBackward = beforeSeq !== undefined
  const before = Math.min(beforeSeq ?? 0, seq + 1)
  const from = isBackward ? Math.max(0, before - 1 - limit) : (afterSeq ?? 0)
  const count = isBackward ? Math.max(0, before - 1 - from) : limit
  const entries = count === 0 ? [] : await log.read(graphStream(graphId), { afterSeq: from, limit: count })
  const events = entries.map((entry) => eventOf(graphId, entry))
  return {
    events: isBackward ? events.toReversed() : events,
    omittedBefore: Math.min(from, seq),
    omittedAfter: Math.max(0, seq - from - events.length),
  }
}

function eventOf(graphId: string, stored: StoredEntry): TimelineEvent {
  try {
    const entry = parseGraphEntry(stored)
    const { kind, detail } = describe(entry)
    return { seq: stored.seq, kind, at: entry.data.at, detail: withoutGaps(detail) }
  } catch (error) {
    const what = error instanceof ShapeError ? error.describe() : 'unreadable'
    throw new GraphControlError('quarantined', `entry ${stored.seq} of graph ${graphId} ${what}`, {
      cause: error,
    })
  }
}

type Detail = Record<string, JsonValue | undefined>

function describe(entry: GraphEntry): { kind: TimelineKind; detail: Detail } {
  switch (entry.type) {
    case 'graph/opened':
      return { kind: 'graph_opened', detail: { rootSessionId: entry.data.rootSessionId } }
    case 'update':
      return describeUpdate(entry.data.update)
    case 'provision': {
      const { workId, operatorId, targetSessionId } = entry.data.provision
      return { kind: 'operator_provisioned', detail: { workId, operatorId, targetSessionId } }
    }
    case 'bind': {
      const { provisionId, path, branch } = entry.data.binding
      return { kind: 'operator_bound', detail: { provisionId, path, branch } }
    }
    case 'claim': {
      const { claimId, workId, targetOperatorId: operatorId, targetRunId: runId } = entry.data.claim
      return { kind: 'intent_claimed', detail: { claimId, workId, operatorId, runId } }
    }
    case 'begin':
      return { kind: 'activation_started', detail: { claimId: entry.data.claimId } }
    case 'retry': {
      const { claimId, attempt, reason, notBefore } = entry.data
      return { kind: 'activation_retried', detail: { claimId, attempt, reason: cut(reason), notBefore } }
    }
    case 'rearm':
      return { kind: 'activation_retried', detail: { claimId: entry.data.claimId } }
    case 'hold': {
      const { claimId, attempt, kind: waitsFor, reason } = entry.data
      return { kind: 'activation_held', detail: { claimId, attempt, waitsFor, reason: cut(reason) } }
    }
    case 'cancel': {
      const { claimId, reason } = entry.data
      return { kind: 'intent_cancelled', detail: { claimId, reason: cut(reason) } }
    }
    case 'settle': {
      const { claimId, attempt, outcome, reason, record, artifacts, usage } = entry.data
      const recordIds = [...(record === undefined ? [] : [record]), ...(artifacts ?? [])].map(
        (left) => left.recordId,
      )
      return {
        kind: 'activation_terminal',
        detail: {
          claimId,
          attempt,
          outcome,
          reason: cut(reason),
          recordIds,
          usage: usage === undefined ? undefined : { ...usage },
        },
      }
    }
    case 'fence':
      return { kind: 'lease_taken', detail: { epoch: entry.data.epoch, holderId: entry.data.holderId } }
    case 'wait':
      return { kind: 'supervisor_waiting', detail: { waitId: entry.data.waitId, until: entry.data.until } }
    case 'seen':
      return { kind: 'supervisor_seen', detail: { changeSeq: entry.data.changeSeq } }
    case 'wake': {
      const { wakeId, snapshotVersion, dueAt, recurMs } = entry.data
      const kind = dueAt === undefined ? 'supervisor_wake_claimed' : 'supervisor_wake_scheduled'
      return { kind, detail: { wakeId, snapshotVersion, dueAt, recurMs } }
    }
    case 'wake-attempt':
      return {
        kind: 'supervisor_wake_attempted',
        detail: { wakeId: entry.data.wakeId, attemptId: entry.data.attemptId },
      }
    case 'wake-settled': {
      const { wakeId, attemptId, status, failureReason } = entry.data
      return {
        kind: 'supervisor_wake_settled',
        detail: { wakeId, attemptId, status, reason: cut(failureReason) },
      }
    }
    case 'wakes-superseded':
      return {
        kind: 'supervisor_wake_settled',
        detail: { status: 'superseded', reason: cut(entry.data.reason) },
      }
  }
}

type Update = Extract<GraphEntry, { type: 'update' }>['data']['update']

function describeUpdate(update: Update): { kind: TimelineKind; detail: Detail } {
  const { updateId, addWork, stop, retry, finish, draft, source } = update
  return {
    kind: finish === undefined ? 'schedule_committed' : 'schedule_finished',
    detail: {
      updateId,
      toolCallId: source.toolCallId,
      turnId: source.turnId,
      draft,
      addedWorkIds: addWork.map((work) => work.workId),
      stoppedTargetIds: stop.map((target) => target.targetId),
      retriedWorkIds: retry?.map((work) => work.workId),
      resultIds: finish?.resultIds,
      reason: cut(finish?.reason),
    },
  }
}

function cut(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= REASON_CHARS) return text
  return `${text.slice(0, REASON_CHARS).replace(/[\ud800-\udbff]$/, '')}…`
}

function withoutGaps(detail: Detail): Record<string, JsonValue> {
  const told = Object.entries(detail).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return Object.fromEntries(told)
}
