/** A live board on a terminal: one line a work, redrawn in place. */
import type { ProgressEvent, ProgressView, WorkEvent } from './progress.ts'

const REDRAW_MS = 200
const MARKS: Readonly<Record<WorkEvent['status'], string>> = {
  waiting: '·',
  ready: '○',
  claimed: '◔',
  running: '◐',
  completed: '●',
  failed: '✗',
  cancelled: '⊘',
  stopped: '■',
  superseded: '↻',
  skipped: '–',
}

interface Row {
  readonly event: WorkEvent
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
}

/** The part of a terminal that the board needs. */
export interface Terminal {
  write(text: string): unknown
  readonly columns?: number
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`
}

class Board implements ProgressView {
  private readonly terminal: Terminal
  private readonly startedAt: number
  private readonly rows = new Map<string, Row>()
  private headline = 'starting'
  private drawn = 0
  private readonly timer: ReturnType<typeof setInterval>

  constructor(terminal: Terminal, startedAt: number) {
    this.terminal = terminal
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

  private lines(): string[] {
    const width = Math.max(20, (this.terminal.columns ?? 80) - 1)
    const now = Date.now()
    const works = [...this.rows.values()].map(({ event, startedAt, endedAt }) => {
      const elapsed = startedAt === undefined ? '' : seconds((endedAt ?? now) - startedAt)
      const operator = event.operatorId === undefined ? '' : event.operatorId.slice(0, 24)
      const name = (event.title ?? event.workId).slice(0, 24)
      return `  ${MARKS[event.status]} ${name.padEnd(24)} ${event.status.padEnd(10)} ${elapsed.padStart(6)}  ${operator}${event.detail === undefined ? '' : `  ${event.detail}`}`
    })
    return [`agent graph  ${seconds(now - this.startedAt)}  ${this.headline}`, ...works].map((line) =>
      line.slice(0, width),
    )
  }

  private draw(): void {
    const lines = this.lines()
    const up = this.drawn === 0 ? '' : `\u001B[${this.drawn}A`
    this.terminal.write(`${up}${lines.map((line) => `\u001B[2K${line}\n`).join('')}`)
    this.drawn = lines.length
  }
}

export function createBoardView(terminal: Terminal, startedAt: number): ProgressView {
  return new Board(terminal, startedAt)
}
