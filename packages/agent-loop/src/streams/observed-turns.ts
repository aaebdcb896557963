/**
 * Turns that DSH started itself, as runs that stream their events: which session has one open, and what a
 * subscription may know of one. They are in no run stream; their finals are kept as any run's.
 */
import type { SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'
import type { DurableLog } from 'dsh-durable-log'
import { observedRunId, observedSessionOf } from '../run-listeners.ts'
import { endingOfTurn } from '../settlement.ts'
import { EVENT_STREAM_PREFIX, parseEventEntry } from './event-entries.ts'
import type { RunHub } from './run-hub.ts'
import type { SourceRun } from './reader-sources.ts'
import type { LifecycleData } from './types.ts'

interface Observed {
  readonly hub: RunHub
  readonly turn: number
  readonly startedAt: number
}

export interface ObservedTurnsPorts {
  readonly log: DurableLog
  readonly now: () => number
  /** Makes the hub of a turn. */
  readonly hubFor: (run: { runId: string; sessionId: string; attempt: number }) => RunHub
}

export class ObservedTurns {
  private readonly ports: ObservedTurnsPorts
  private readonly open = new Map<string, Observed>()
  /** Turns whose hubs are held, and since when each is there. */
  private readonly held = new Map<string, SourceRun>()

  constructor(ports: ObservedTurnsPorts) {
    this.ports = ports
  }

  /** @param events what the turn has said so far. */
  begin(sessionId: string, turn: number, events: readonly SessionEvent[]): void {
    const runId = observedRunId(sessionId, turn)
    if (this.open.get(sessionId)?.turn === turn) return
    const startedAt = this.ports.now()
    this.held.set(runId, { runId, sessionId, beganAt: startedAt, hasBegun: true, isOver: false })
    const hub = this.ports.hubFor({ runId, sessionId, attempt: 0 })
    this.open.set(sessionId, { hub, turn, startedAt })
    hub.tell([{ stream: 'lifecycle', data: { phase: 'start', attempt: 1, startedAt } }])
    for (const event of events) hub.tell(hub.translator.push(event))
  }

  follow(sessionId: string, event: SessionEvent): void {
    const hub = this.open.get(sessionId)?.hub
    hub?.tell(hub.translator.push(event))
  }

  end(sessionId: string, turn: number, reason: TurnEndReason): void {
    const open = this.open.get(sessionId)
    if (open?.turn !== turn) return
    this.open.delete(sessionId)
    const known = this.held.get(open.hub.runId)
    if (known !== undefined) this.held.set(open.hub.runId, { ...known, isOver: true })
    open.hub.end(endOf(reason, open.startedAt, this.ports.now()))
  }

  /** The memory of a turn is freed. */
  forget(runId: string): void {
    this.held.delete(runId)
  }

  ofSession(sessionId: string): readonly SourceRun[] {
    return [...this.held.values()].filter((run) => run.sessionId === sessionId)
  }

  /** The turn with this id: one held here, or one of which the log has events. */
  async find(runId: string): Promise<SourceRun | undefined> {
    const held = this.held.get(runId)
    const sessionId = observedSessionOf(runId)
    if (held !== undefined || sessionId === undefined) return held
    const [first] = await this.ports.log.read(EVENT_STREAM_PREFIX + runId, { limit: 1 })
    if (first === undefined) return undefined
    const event = parseEventEntry(first, { runId, sessionId })
    return { runId, sessionId, beganAt: event?.ts ?? 0, hasBegun: true, isOver: true }
  }
}

function endOf(reason: TurnEndReason, startedAt: number, endedAt: number): LifecycleData {
  const { state, error } = endingOfTurn(reason)
  if (state === 'ok') return { phase: 'end', state, startedAt, endedAt }
  const why = error ?? { code: state, message: `the turn ended as "${state}"` }
  return { phase: 'error', state, startedAt, endedAt, error: why }
}
