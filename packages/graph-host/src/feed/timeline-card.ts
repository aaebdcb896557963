/** The history of a graph as the page replays it: each event with its works. Pure. */
import type { GraphState, TimelineEvent } from 'dsh-graph-control'
import type { TimelineCard, WorkCardStatus } from './wire.ts'
import { firstWords } from './work-card.ts'

const NOTE_CHARS = 160
/** Works that one event names. */
const NAMED = 64

const ENDS: Readonly<Record<string, WorkCardStatus>> = {
  completed: 'completed',
  failed: 'failed',
  aborted: 'cancelled',
  cancelled: 'cancelled',
}

/** @param state of the same graph, at the event or later. */
export function timelineCard(state: GraphState, event: TimelineEvent): TimelineCard {
  const { seq, kind, at } = event
  const { workIds, status } = subjectOf(state, event)
  const note = noteOf(event)
  return {
    seq,
    kind,
    at,
    workIds: workIds.slice(0, NAMED),
    ...(status === undefined ? {} : { status }),
    ...(note === undefined ? {} : { note }),
  }
}

interface Subject {
  readonly workIds: readonly string[]
  readonly status?: WorkCardStatus | undefined
}

function subjectOf(state: GraphState, { kind, detail }: TimelineEvent): Subject {
  const workOf = (): readonly string[] => {
    const { workId, claimId } = detail
    const id = typeof workId === 'string' ? workId : state.claims.get(textOf(claimId))?.workId
    return id === undefined ? [] : [id]
  }
  switch (kind) {
    case 'schedule_committed':
    case 'schedule_finished': {
      const added = idsIn(detail['addedWorkIds'])
      if (added.length > 0) return { workIds: added, status: 'waiting' }
      const stopped = idsIn(detail['stoppedTargetIds']).filter((id) => state.works.has(id))
      if (stopped.length > 0) return { workIds: stopped, status: 'stopped' }
      const retried = idsIn(detail['retriedWorkIds'])
      return retried.length > 0 ? { workIds: retried, status: 'waiting' } : { workIds: [] }
    }
    case 'intent_claimed':
      return { workIds: workOf(), status: 'claimed' }
    case 'activation_started':
    case 'activation_retried':
    case 'activation_held':
      return { workIds: workOf(), status: 'running' }
    case 'intent_cancelled':
      return { workIds: workOf(), status: 'cancelled' }
    case 'activation_terminal':
      return { workIds: workOf(), status: ENDS[textOf(detail['outcome'])] }
    default:
      return { workIds: workOf() }
  }
}

function noteOf({ detail }: TimelineEvent): string | undefined {
  const words = [detail['outcome'], detail['status'], detail['reason']].filter(
    (word): word is string => typeof word === 'string' && word !== '',
  )
  return words.length === 0 ? undefined : firstWords(words.join(': '), NOTE_CHARS)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function idsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : []
}
