/** What happens while the graph runs, as a flat list of events for lines, JSON and the board. */
import type { GraphState, WorkStatus } from 'dsh-graph-control'

export interface WorkEvent {
  readonly type: 'work'
  readonly graphId: string
  readonly workId: string
  readonly title: string | undefined
  readonly status: WorkStatus
  readonly operatorId: string | undefined
  readonly detail: string | undefined
}

export interface TurnEvent {
  readonly type: 'turn'
  readonly sessionId: string
  readonly turn: number
  readonly phase: 'start' | 'end'
  readonly detail: string | undefined
}

export interface ToolEvent {
  readonly type: 'tool'
  readonly sessionId: string
  readonly name: string
}

export interface NoteEvent {
  readonly type: 'note'
  readonly text: string
}

export type ProgressEvent = WorkEvent | TurnEvent | ToolEvent | NoteEvent

/** Shows progress; `close` restores the terminal and is idempotent. */
export interface ProgressView {
  show(event: ProgressEvent): void
  close(): void
}

/** Turns successive states of a graph into the changes between them. */
export class WorkChanges {
  private readonly last = new Map<string, WorkStatus>()

  next(state: GraphState): WorkEvent[] {
    const events: WorkEvent[] = []
    for (const work of state.works.values()) {
      if (this.last.get(work.workId) === work.status) continue
      this.last.set(work.workId, work.status)
      events.push({
        type: 'work',
        graphId: state.graphId,
        workId: work.workId,
        title: work.title,
        status: work.status,
        operatorId: work.operatorId,
        detail:
          work.reason ??
          (work.waitingFor.length === 0 ? undefined : `waits for ${work.waitingFor.join(', ')}`),
      })
    }
    return events
  }
}
