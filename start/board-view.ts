/** A live board on a terminal: one line a work, redrawn in place. */
import {
  cleanLine,
  cutTo,
  durationText,
  lookOf,
  paint,
  workLine,
  type Look,
  type Output,
} from 'dsh-graph-host/board'
import type { ProgressEvent, ProgressView, WorkEvent } from './progress.ts'

const REDRAW_MS = 200

interface Row {
  readonly event: WorkEvent
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
}

/** The part of a terminal that the board needs. */
export interface Terminal extends Output {
  write(text: string): unknown
}

type Environment = Readonly<Record<string, string | undefined>>

class Board implements ProgressView {
  private readonly terminal: Terminal
  private readonly environment: Environment
  private readonly startedAt: number
  private readonly rows = new Map<string, Row>()
  private headline = 'starting'
  private drawn = 0
  private readonly timer: ReturnType<typeof setInterval>

  constructor(terminal: Terminal, startedAt: number, environment: Environment) {
    this.terminal = terminal
    this.environment = environment
    this.startedAt = startedAt
    this.timer = setInterval(() => this.draw(), REDRAW_MS)
    this.timer.unref()
  }

  show(event: ProgressEvent): void {
    if (event.type === 'work') this.place(event)
    else if (event.type === 'turn')
      this.headline = event.phase === 'start' ? `root turn ${event.turn}` : 'root waits'
    else if (event.type === 'tool') this.headline = `root calls ${event.name}`
    else this.headline = event.text
    this.draw()
  }

  close(): void {
    clearInterval(this.timer)
    this.draw()
  }

  private place(event: WorkEvent): void {
    const before = this.rows.get(event.workId)
    const ended =
      event.status !== 'waiting' &&
      event.status !== 'ready' &&
      event.status !== 'claimed' &&
      event.status !== 'running'
    this.rows.set(event.workId, {
      event,
      startedAt: before?.startedAt ?? (event.status === 'running' ? Date.now() : undefined),
      endedAt: ended ? Date.now() : undefined,
    })
  }

  /** The width is asked for at each draw: a person may resize the window. */
  private lines(): string[] {
    const look: Look = lookOf(this.terminal, this.environment)
    const now = Date.now()
    const works = [...this.rows.values()].map(({ event, startedAt, endedAt }) =>
      workLine(
        {
          workId: event.workId,
          title: event.title,
          status: event.status,
          elapsedMs: startedAt === undefined ? undefined : (endedAt ?? now) - startedAt,
          note: event.detail,
        },
        look,
      ),
    )
    const head = `agent graph  ${durationText(now - this.startedAt)}  ${cleanLine(this.headline)}`
    return [paint(cutTo(head, look.columns), 'bold', look), ...works]
  }

  private draw(): void {
    const lines = this.lines()
    const up = this.drawn === 0 ? '' : `\u001B[${this.drawn}A`
    this.terminal.write(`${up}${lines.map((line) => `\u001B[2K${line}\n`).join('')}`)
    this.drawn = lines.length
  }
}

/** @param environment says whether colours are wanted (`NO_COLOR`). */
export function createBoardView(
  terminal: Terminal,
  startedAt: number,
  environment: Environment = process.env,
): ProgressView {
  return new Board(terminal, startedAt, environment)
}
