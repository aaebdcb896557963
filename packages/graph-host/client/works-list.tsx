/** The graph as text: every work in a list of which only the rows that show are there. */
import { memo, useEffect, useRef, useState, type KeyboardEvent } from 'react'
import type { WorkCard, WorkCardStatus } from '../src/feed/wire.ts'
import { STATUSES, type Counts } from './graph-model.ts'
import { useNow, usePage } from './page.ts'
import { MarkIcon } from './status-mark.tsx'
import { markOf } from './status.ts'
import { statusText, waitText } from './words.ts'

const ROW = 36
const BEYOND = 8

export interface ListProps {
  readonly works: ReadonlyMap<string, WorkCard>
  readonly counts: Counts
  readonly titleOf: (id: string) => string
  readonly selected: string | undefined
  readonly onSelect: (workId: string) => void
}

export function WorksList({ works, counts, titleOf, selected, onSelect }: ListProps) {
  const { words } = usePage()
  const { say } = words
  const [status, setStatus] = useState<WorkCardStatus | 'all'>('all')
  const rows = [...works.values()].filter((work) => status === 'all' || work.status === status)
  const { frame, first, last } = useRows(rows.length)
  const at = rows.findIndex((work) => work.id === selected)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))]
    if (step === 0 || next === undefined) return
    event.preventDefault()
    onSelect(next.id)
    scrollTo(frame.current, rows.indexOf(next))
  }
  return (
    <div className="dg-list" data-testid="dg-list">
      <label className="dg-filter">
        {say('list.filter')}{' '}
        <select value={status} onChange={(event) => setStatus(event.target.value as WorkCardStatus | 'all')}>
          <option value="all">
            {say('list.all')} ({works.size})
          </option>
          {STATUSES.filter((one) => counts[one] > 0).map((one) => (
            <option key={one} value={one}>
              {say(`status.${one}`)} ({counts[one]})
            </option>
          ))}
        </select>
      </label>
      {rows.length === 0 && status !== 'all' ? (
        <p className="dg-faint">{say('list.empty', { status: say(`status.${status}`) })}</p>
      ) : null}
      <div
        className="dg-rows"
        ref={frame}
        role="listbox"
        tabIndex={0}
        aria-label={say('list.label')}
        aria-activedescendant={selected === undefined ? undefined : rowId(selected)}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" style={{ height: rows.length * ROW }}>
          {rows.slice(first, last).map((work, index) => (
            <Row
              key={work.id}
              work={work}
              top={(first + index) * ROW}
              isSelected={work.id === selected}
              position={first + index + 1}
              total={rows.length}
              titleOf={titleOf}
              onSelect={onSelect}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

function rowId(workId: string): string {
  return `dg-row-${workId}`
}

function useRows(total: number) {
  const frame = useRef<HTMLDivElement>(null)
  const [span, setSpan] = useState({ top: 0, height: 600 })
  useEffect(() => {
    const element = frame.current
    if (element === null) return undefined
    const look = () => setSpan({ top: element.scrollTop, height: element.clientHeight })
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
  const first = Math.max(0, Math.floor(span.top / ROW) - BEYOND)
  const last = Math.min(total, Math.ceil((span.top + span.height) / ROW) + BEYOND)
  return { frame, first, last }
}

function scrollTo(frame: HTMLElement | null, index: number): void {
  if (frame === null) return
  const top = index * ROW
  if (top < frame.scrollTop) frame.scrollTop = top
  else if (top + ROW > frame.scrollTop + frame.clientHeight) frame.scrollTop = top + ROW - frame.clientHeight
}

interface RowProps {
  readonly work: WorkCard
  readonly top: number
  readonly isSelected: boolean
  readonly position: number
  readonly total: number
  readonly titleOf: (id: string) => string
  readonly onSelect: (workId: string) => void
}

const Row = memo(function Row({ work, top, isSelected, position, total, titleOf, onSelect }: RowProps) {
  const { words } = usePage()
  const now = useNow(work.status === 'running')
  const { startedAt, endedAt, inputTokens = 0, outputTokens = 0 } = work
  return (
    <div
      id={rowId(work.id)}
      className="dg-list-row"
      role="option"
      aria-selected={isSelected}
      aria-posinset={position}
      aria-setsize={total}
      style={{ top }}
      onClick={() => onSelect(work.id)}
      data-testid="dg-row"
    >
      <span className="dg-cell-state">
        <MarkIcon mark={markOf(work)} /> {statusText(words, work)}
      </span>
      <span className="dg-cell-title">{work.title}</span>
      <span className="dg-cell-waits">{work.reason ?? waitText(words, work, titleOf) ?? ''}</span>
      <span className="dg-cell-took">
        {startedAt === undefined ? '' : words.duration((endedAt ?? now) - startedAt)}
      </span>
      <span className="dg-cell-tokens">
        {inputTokens + outputTokens === 0 ? '' : words.count(inputTokens + outputTokens)}
      </span>
    </div>
  )
})
