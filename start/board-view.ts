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

/** Lines around the works: the head, what is left out, and the one that the cursor stands on. */
const FRAME_ROWS = 3
const LEAST_WORKS = 3

/**
 * What fits on the screen, in its order: what goes on first, then what ended last. A board that is higher
 * than the screen could not be redrawn in place.
 */
function pick(rows: readonly Row[], room: number): readonly Row[] {
  if (rows.length <= room) return rows
  const isOver = ({ endedAt }: Row): boolean => endedAt !== undefined
  const ended = rows.filter(isOver).sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0))
  const kept = new Set([...rows.filter((row) => !isOver(row)), ...ended].slice(0, room))
  return rows.filter((row) => kept.has(row))
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

  /** The size is asked for at each draw: a person may resize the window. */
  private lines(): string[] {
    const look: Look = lookOf(this.terminal, this.environment)
    const now = Date.now()
    const shown = pick([...this.rows.values()], Math.max(LEAST_WORKS, look.rows - FRAME_ROWS))
    const works = shown.map(({ event, startedAt, endedAt }) =>
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
    const left = this.rows.size - shown.length
    const rest = left === 0 ? [] : [cutTo(`  … ${left} more`, look.columns)]
    return [paint(cutTo(head, look.columns), 'bold', look), ...works, ...rest]
  }

  private draw(): void {
    const lines = this.lines()
    const up = this.drawn === 0 ? '' : `\u001B[${this.drawn}A`
    const below = lines.length < this.drawn ? '\u001B[J' : ''
    this.terminal.write(`${up}${lines.map((line) => `\u001B[2K${line}\n`).join('')}${below}`)
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
