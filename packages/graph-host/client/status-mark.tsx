/** The mark of a status: a shape of its own for each, so that colour says nothing that a shape does not. */
import type { Mark } from './status.ts'

/** In a square of 16. Filled shapes are over or under way, outlined ones are to come. */
const SHAPES: Readonly<Record<Mark, string>> = {
  waiting: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11M8 5v3.2l2.2 1.6',
  ready: 'M8 2l6 6l-6 6l-6-6z',
  claimed: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5M8 5.5L5 8l3 2.5',
  running: 'M4 2.5v11l9-5.5z',
  completed: 'M2.5 8.5l4 4l7-9',
  failed: 'M3 3l10 10M13 3l-10 10',
  cancelled: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11M4 4l8 8',
  stopped: 'M3 3h10v10h-10z',
  superseded: 'M2.5 8h8M7 4l4 4l-4 4M13.5 3v10',
  skipped: 'M2.5 3.5l5 4.5l-5 4.5M8.5 3.5l5 4.5l-5 4.5',
  held: 'M8 2l6.5 11.5h-13zM8 6.5v3M8 11.2v.6',
  absent: 'M5 8h6',
}

const FILLED: ReadonlySet<Mark> = new Set(['running', 'stopped'])

/** Inside of an SVG. */
export function MarkShape({ mark, x, y, size = 16 }: { mark: Mark; x: number; y: number; size?: number }) {
  return (
    <path
      className={FILLED.has(mark) ? 'dg-mark dg-mark-filled' : 'dg-mark'}
      d={SHAPES[mark]}
      transform={`translate(${x} ${y}) scale(${size / 16})`}
    />
  )
}

/** In a line of text; the word stands beside it. */
export function MarkIcon({ mark }: { mark: Mark }) {
  return (
    <svg className={`dg-icon dg-is-${mark}`} width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <MarkShape mark={mark} x={0} y={0} />
    </svg>
  )
}
