/**
 * Which runs a session's turn answers: those whose message is in it, and those that are told in the
 * message of another one. Knows the open runs by the ids of these messages, and the open turn of each
 * session that has such a run. Tells nothing.
 */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { answeredMessageId } from '../run-message.ts'
import type { RunRecord } from '../run-record.ts'

export class TurnRuns {
  /** By the id of the message that tells them; most messages tell one run. */
  private readonly open = new Map<string, Map<string, RunRecord>>()
  /** The message of each open run. */
  private readonly messages = new Map<string, string>()
  private readonly openBySession = new Map<string, number>()
  /** The messages of open runs in the open turn of a session, in the order they joined. */
  private readonly turns = new Map<string, Set<string>>()

  /**
   * The run may be answered from now on; said again when its record or its message changed.
   *
   * @param messageId the message that tells it.
   */
  add(run: RunRecord, messageId = run.messageId): void {
    const before = this.messages.get(run.runId)
    if (before !== messageId) {
      if (before !== undefined) this.remove(run)
      this.messages.set(run.runId, messageId)
      this.openBySession.set(run.sessionId, (this.openBySession.get(run.sessionId) ?? 0) + 1)
      // Its message may be in the open turn already; the next event looks for it.
      this.turns.delete(run.sessionId)
    }
    const runs = this.open.get(messageId) ?? new Map<string, RunRecord>()
    this.open.set(messageId, runs.set(run.runId, run))
  }

  remove({ sessionId, runId }: RunRecord): void {
    const messageId = this.messages.get(runId)
    if (messageId === undefined) return
    this.messages.delete(runId)
    const runs = this.open.get(messageId)
    runs?.delete(runId)
    if (runs?.size === 0) {
      this.open.delete(messageId)
      this.turns.get(sessionId)?.delete(messageId)
    }
    const left = (this.openBySession.get(sessionId) ?? 1) - 1
    if (left > 0) return void this.openBySession.set(sessionId, left)
    this.openBySession.delete(sessionId)
    this.turns.delete(sessionId)
  }

  /** Follows the session; called with each of its events. @returns the runs that the event belongs to. */
  follow(session: Session, event: SessionEvent): readonly RunRecord[] {
    if (!this.openBySession.has(session.id)) return []
    if (event.type === 'turn/start') {
      this.turns.set(session.id, new Set())
      return []
    }
    const turn = this.turns.get(session.id) ?? this.resume(session)
    this.join(turn, session, event)
    if (event.type === 'turn/end') this.turns.delete(session.id)
    return [...turn].flatMap((messageId) => [...(this.open.get(messageId)?.values() ?? [])])
  }

  /**
   * The events of the open turn from the run's message on, when it is there already: the run came to be
   * known while its turn was under way.
   */
  missed(session: Session, messageId: string): readonly SessionEvent[] {
    const events = session.events
    for (let index = events.length - 1; index >= 0; index -= 1) {
      const event = events[index]
      if (event?.type === 'turn/end' || event?.type === 'turn/start') return []
      if (event !== undefined && isMessage(event, messageId)) return events.slice(index + 1)
    }
    return []
  }

  /** A turn that began before anybody followed the session. */
  private resume(session: Session): Set<string> {
    const turn = new Set<string>()
    const events = session.events
    for (let index = events.length - 1; index >= 0; index -= 1) {
      const event = events[index]
      const isEarlier = event?.type === 'turn/end' && index < events.length - 1
      if (event === undefined || event.type === 'turn/start' || isEarlier) break
      this.join(turn, session, event)
    }
    this.turns.set(session.id, turn)
    return turn
  }

  private join(turn: Set<string>, session: Session, event: SessionEvent): void {
    if (event.type !== 'user/message') return
    const messageId = answeredMessageId(event.data.id)
    for (const { sessionId } of this.open.get(messageId)?.values() ?? []) {
      if (sessionId === session.id) turn.add(messageId)
    }
  }
}

/** The events of the turn that the message is in, from it on; none when it is in no turn. */
export function eventsBehind(session: Session, messageId: string): readonly SessionEvent[] {
  const { events } = session
  const start = events.findLastIndex((event) => isMessage(event, messageId))
  if (start < 0) return []
  const end = events.findIndex((event, index) => index > start && event.type === 'turn/end')
  return events.slice(start + 1, end < 0 ? undefined : end)
}

/** The events of the turn that is open, from its beginning on. */
export function openTurnEvents({ events }: Session): readonly SessionEvent[] {
  const start = events.findLastIndex(({ type }) => type === 'turn/start')
  return start < 0 ? [] : events.slice(start)
}

function isMessage(event: SessionEvent, messageId: string): boolean {
  return event.type === 'user/message' && answeredMessageId(event.data.id) === messageId
}
