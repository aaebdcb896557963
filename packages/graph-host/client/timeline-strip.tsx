/** The history as a strip: a handle that goes back in time, and a density of what happened. */
import { memo, useEffect, useMemo, useState } from 'react'
import type { TimelineCard } from '../src/feed/wire.ts'
import { usePage } from './page.ts'
import { EN, type Word } from './words-en.ts'

export interface StripProps {
  readonly events: readonly TimelineCard[]
  /** The event shown; `undefined`: live. */
  readonly at: number | undefined
  readonly titleOf: (id: string) => string
  readonly onAt: (at: number | undefined) => void
  readonly onSelect: (workId: string) => void
  readonly selected: string | undefined
}

const BARS = 120
const PLAY_MS = 350
const RECENT = 4

export function TimelineStrip({ events, at, titleOf, onAt, onSelect, selected }: StripProps) {
  const { say, clock } = usePage().words
  const [isPlaying, setPlaying] = useState(false)
  const last = events.length - 1
  const index = Math.min(at ?? last, last)
  useEffect(() => {
    if (!isPlaying) return undefined
    const timer = setTimeout(() => {
      if (index >= last) setPlaying(false)
      else onAt(index + 1)
    }, PLAY_MS)
    return () => clearTimeout(timer)
  }, [isPlaying, index, last, onAt])
  if (last < 0) return null
  const event = events[index]
  const text = say('timeline.at', { index: index + 1, total: events.length, time: clock(event?.at ?? 0) })
  const play = () => {
    if (!isPlaying && index >= last) onAt(0)
    setPlaying(!isPlaying)
  }
  return (
    <section className="dg-strip" aria-label={say('timeline.label')} data-testid="dg-timeline">
      <div className="dg-row">
        <strong>{say('timeline.label')}</strong>
        <button type="button" className="dg-button" onClick={play} data-testid="dg-play">
          {say(isPlaying ? 'timeline.pause' : 'timeline.play')}
        </button>
        <button
          type="button"
          className="dg-button"
          onClick={() => onAt(undefined)}
          disabled={at === undefined}
          data-testid="dg-live"
        >
          {say('timeline.live')}
        </button>
        <span className="dg-faint">{at === undefined ? say('timeline.now') : text}</span>
      </div>
      <Density events={events} index={index} selected={selected} />
      <input
        type="range"
        min={0}
        max={last}
        value={index}
        aria-label={say('timeline.label')}
        aria-valuetext={text}
        onChange={(change) =>
          onAt(Number(change.target.value) >= last ? undefined : Number(change.target.value))
        }
        data-testid="dg-range"
      />
      <ol className="dg-events">
        {events.slice(Math.max(0, index - RECENT + 1), index + 1).map((one) => (
          <li key={one.seq}>
            <span className="dg-faint">{clock(one.at)}</span> {eventText(say, one.kind)}{' '}
            {one.workIds.slice(0, 3).map((id) => (
              <button key={id} type="button" className="dg-link" onClick={() => onSelect(id)}>
                {titleOf(id)}
              </button>
            ))}
            {one.workIds.length > 3 ? ` +${one.workIds.length - 3}` : ''}
            {one.note === undefined ? null : <span className="dg-faint"> {one.note}</span>}
          </li>
        ))}
      </ol>
    </section>
  )
}

function eventText(say: (word: Word) => string, kind: string): string {
  const word = `event.${kind}`
  return Object.hasOwn(EN, word) ? say(word as Word) : kind
}

/** How much happened when, with the events of the selected work marked. */
const Density = memo(function Density(props: {
  events: readonly TimelineCard[]
  index: number
  selected: string | undefined
}) {
  const { events, index, selected } = props
  const bars = useMemo(() => {
    const counts = Array.from({ length: Math.min(BARS, events.length) }, () => ({
      all: 0,
      own: 0,
      failed: 0,
    }))
    for (const [at, event] of events.entries()) {
      const bar = counts[Math.floor((at * counts.length) / events.length)]
      if (bar === undefined) continue
      bar.all += event.workIds.length + 1
      if (selected !== undefined && event.workIds.includes(selected)) bar.own += 1
      if (event.status === 'failed') bar.failed += 1
    }
    const most = Math.max(1, ...counts.map((bar) => bar.all))
    return counts.map((bar) => ({ ...bar, height: 3 + (15 * bar.all) / most }))
  }, [events, selected])
  const now = ((index + 0.5) * bars.length) / events.length
  return (
    <svg
      className="dg-density"
      viewBox={`0 0 ${bars.length} 20`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {bars.map((bar, at) => (
        <rect
          key={at}
          x={at + 0.1}
          y={20 - bar.height}
          width={0.8}
          height={bar.height}
          className={
            bar.failed > 0
              ? 'dg-bar-failed'
              : bar.own > 0
                ? 'dg-bar-own'
                : at <= now
                  ? 'dg-bar'
                  : 'dg-bar-later'
          }
        />
      ))}
    </svg>
  )
})
