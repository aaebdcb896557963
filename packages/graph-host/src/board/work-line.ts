/** One work as one line: a mark, its name, its status in words, how long, and what it waits for. */
import type { WorkStatus } from 'dsh-graph-control'
import { nameColumns, shownLine } from '@dsh-graph/text-board'
import type { Colour, Look } from './look.ts'
import { cleanLine } from './text-width.ts'

/** A status of a work, or `held`: it may not go on before somebody says so. */
export type ShownStatus = WorkStatus | 'held'

interface Appearance {
  readonly mark: string
  /** For terminals without the other. */
  readonly ascii: string
  readonly colour?: Colour
}

const APPEARANCES: Readonly<Record<ShownStatus, Appearance>> = {
  waiting: { mark: '·', ascii: '.', colour: 'gray' },
  ready: { mark: '○', ascii: 'o' },
  claimed: { mark: '◔', ascii: 'c', colour: 'cyan' },
  running: { mark: '◐', ascii: '>', colour: 'cyan' },
  held: { mark: '‖', ascii: '!', colour: 'yellow' },
  completed: { mark: '●', ascii: '*', colour: 'green' },
  failed: { mark: '✗', ascii: 'x', colour: 'red' },
  cancelled: { mark: '⊘', ascii: '-', colour: 'yellow' },
  stopped: { mark: '■', ascii: '#', colour: 'yellow' },
  superseded: { mark: '↻', ascii: 'r', colour: 'gray' },
  skipped: { mark: '–', ascii: '_', colour: 'gray' },
}

const STATUS_COLUMNS = 10
const TIME_COLUMNS = 7

export interface WorkLine {
  readonly workId: string
  readonly title?: string | undefined
  readonly status: ShownStatus
  readonly elapsedMs?: number | undefined
  /** What it waits for, or why it ended as it did. */
  readonly note?: string | undefined
}

export function workLine({ workId, title, status, elapsedMs, note }: WorkLine, look: Look): string {
  const columns = { name: nameColumns(look), state: STATUS_COLUMNS, time: TIME_COLUMNS }
  const shown = { ...APPEARANCES[status], name: nameOf(workId, title), state: status, elapsedMs, note }
  return shownLine(shown, columns, look)
}

/** The title and, where it is not the same, the id by which commands name the work. */
function nameOf(workId: string, title: string | undefined): string {
  const id = cleanLine(workId)
  const shown = cleanLine(title ?? '')
  return shown === '' || shown === id ? id : `${id} ${shown}`
}
