/** The picture: boxes and lines, moved by hand or by keys. Only what shows is drawn. */
import { memo, useCallback, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { WorkCard } from '../src/feed/wire.ts'
import { isEnded } from './graph-model.ts'
import { BOX_HEIGHT, BOX_WIDTH, curve, type Layout, type Place } from './layout.ts'
import { isArrow, neighbour } from './neighbours.ts'
import { usePage } from './page.ts'
import type { Box, Picture } from './picture.ts'
import { useViewport, type Viewport } from './viewport.ts'
import { GroupBox, WorkBox } from './work-box.tsx'

export interface CanvasProps {
  readonly picture: Picture
  readonly layout: Layout
  /** As they are, or as they were. */
  readonly works: ReadonlyMap<string, WorkCard>
  readonly titleOf: (id: string) => string
  readonly selected: string | undefined
  readonly label: string
  readonly onSelect: (workId: string | undefined) => void
  readonly onToggle: (boxId: string) => void
}

export function GraphCanvas(props: CanvasProps) {
  const { picture, layout, label, selected, onSelect } = props
  const frame = useRef<HTMLDivElement>(null)
  const [entry, setEntry] = useState<string>()
  const selectedBox = selected === undefined ? undefined : picture.boxOf.get(selected)
  const port = useViewport(frame, layout, anchorOf(props, selectedBox))
  const entryBox =
    entry !== undefined && layout.places.has(entry) ? entry : (selectedBox ?? picture.boxes[0]?.id)

  const onKeyDown = (event: KeyboardEvent) => {
    const id = (event.target as Element).getAttribute('data-box') ?? entryBox
    if (id === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    if (isArrow(event.key)) {
      const next = neighbour(layout, id, event.key)
      const place = next === undefined ? undefined : layout.places.get(next)
      if (next === undefined || place === undefined) return
      event.preventDefault()
      port.reveal(place)
      setEntry(next)
      // It may come into view, and so be there, only with the next frame.
      requestAnimationFrame(() => focusBox(frame.current, next))
    } else if (event.key === '+' || event.key === '=') port.zoom(1.25)
    else if (event.key === '-') port.zoom(0.8)
    else if (event.key === '0') port.fit()
    else if (event.key === 'Escape') onSelect(undefined)
    else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      ;(event.target as HTMLElement).dispatchEvent(new MouseEvent('click', { bubbles: true }))
    }
  }

  return (
    <div className="dg-frame" ref={frame} onKeyDown={onKeyDown} data-testid="dg-picture">
      <svg className="dg-svg" role="group" aria-label={label}>
        <clipPath id="dg-inside">
          <rect width={BOX_WIDTH - 6} height={BOX_HEIGHT} />
        </clipPath>
        <g transform={`translate(${port.view.x} ${port.view.y}) scale(${port.view.scale})`}>
          <Frames layout={layout} />
          <Lines picture={picture} layout={layout} selectedBox={selectedBox} works={props.works} />
          <Boxes {...props} port={port} entryBox={entryBox} selectedBox={selectedBox} />
        </g>
      </svg>
      <ZoomButtons port={port} />
    </div>
  )
}

/** What a person wants to see of a picture that is too large: the selection, or where the work is. */
function anchorOf(
  { picture, layout, works }: CanvasProps,
  selectedBox: string | undefined,
): Place | undefined {
  if (selectedBox !== undefined) return layout.places.get(selectedBox)
  const isAtWork = (id: string) => !isEnded(works.get(id)?.status ?? 'completed')
  const box = picture.boxes.find(({ workIds }) => workIds.some(isAtWork)) ?? picture.boxes.at(-1)
  return box === undefined ? undefined : layout.places.get(box.id)
}

function focusBox(frame: Element | null, id: string): void {
  frame?.querySelector<SVGElement>(`[data-box="${CSS.escape(id)}"]`)?.focus()
}

function ZoomButtons({ port }: { port: Viewport }) {
  const { say } = usePage().words
  return (
    <div className="dg-zoom">
      <button
        type="button"
        onClick={() => port.zoom(1.25)}
        aria-label={say('graph.zoomIn')}
        title={`${say('graph.zoomIn')} (+)`}
      >
        +
      </button>
      <button
        type="button"
        onClick={() => port.zoom(0.8)}
        aria-label={say('graph.zoomOut')}
        title={`${say('graph.zoomOut')} (-)`}
      >
        −
      </button>
      <button type="button" onClick={port.fit} title={`${say('graph.fit')} (0)`}>
        {say('graph.fit')}
      </button>
    </div>
  )
}

/** Around the works that one operator does, one after the other in its session; the panel says it as text. */
const Frames = memo(function Frames({ layout }: { layout: Layout }) {
  const { say } = usePage().words
  return layout.frames.map(({ height, sessionId, width, works, x, y }, at) => (
    <g key={sessionId} aria-hidden="true" transform={`translate(${x} ${y})`} data-testid="dg-operator">
      <rect className="dg-operator" width={width} height={height} rx={10} />
      <text className="dg-operator-name" x={10} y={15}>
        {say('operator.name', { number: at + 1, works })}
      </text>
    </g>
  ))
})

interface BoxesProps extends CanvasProps {
  readonly port: Viewport
  readonly entryBox: string | undefined
  readonly selectedBox: string | undefined
}

function Boxes({ picture, layout, works, titleOf, onSelect, onToggle, ...props }: BoxesProps) {
  const { words } = usePage()
  const { entryBox, selectedBox, port } = props
  const onPick = useCallback(
    (box: Box) => (box.group === undefined ? onSelect(box.workIds[0]) : onToggle(box.id)),
    [onSelect, onToggle],
  )
  const shows = useShows(port)
  return picture.boxes.map((box) => {
    const place = layout.places.get(box.id)
    if (place === undefined) return null
    if (!shows(place.x, place.y) && box.id !== entryBox && box.id !== selectedBox) return null
    const common = {
      box,
      place,
      words,
      onPick,
      isSelected: box.id === selectedBox,
      isEntry: box.id === entryBox,
    }
    if (box.group === undefined)
      return <WorkBox key={box.id} {...common} work={works.get(box.id)} titleOf={titleOf} />
    return <GroupBox key={box.id} {...common} {...tally(box, works)} />
  })
}

function tally(box: Box, works: ReadonlyMap<string, WorkCard>) {
  let done = 0
  let failed = 0
  let running = 0
  let inLine = 0
  for (const id of box.workIds) {
    const work = works.get(id)
    if (work === undefined) continue
    const { status, waits } = work
    if (isEnded(status)) done += 1
    if (status === 'failed') failed += 1
    if (status === 'running' && waits === undefined) running += 1
    if (waits?.for === 'lane' || waits?.for === 'slot') inLine += 1
  }
  return { done, failed, running, inLine }
}

/** Whether a box at a place is in the frame, or a little beyond. */
function useShows({ view, size }: Viewport): (x: number, y: number) => boolean {
  return useCallback(
    (x, y) => {
      const left = x * view.scale + view.x
      const top = y * view.scale + view.y
      const beyond = 100
      return (
        left + BOX_WIDTH * view.scale > -beyond &&
        top + BOX_HEIGHT * view.scale > -beyond &&
        left < size.width + beyond &&
        top < size.height + beyond
      )
    },
    [view, size],
  )
}

interface LinesProps {
  readonly picture: Picture
  readonly layout: Layout
  readonly works: ReadonlyMap<string, WorkCard>
  readonly selectedBox: string | undefined
}

/** All lines in three paths: those of the selected box, those into something that runs, the rest. */
const Lines = memo(function Lines({ picture, layout, works, selectedBox }: LinesProps) {
  const live = picture.boxes.filter((box) => box.workIds.some((id) => works.get(id)?.status === 'running'))
  const liveKey = live.map((box) => box.id).join('\n')
  const paths = useMemo(() => {
    const running = new Set(liveKey.split('\n'))
    const kinds = { rest: [] as string[], running: [] as string[], selected: [] as string[] }
    for (const { from, to } of picture.lines) {
      const start = layout.places.get(from)
      const end = layout.places.get(to)
      if (start === undefined || end === undefined) continue
      const isSelected = from === selectedBox || to === selectedBox
      const kind = isSelected ? 'selected' : running.has(to) ? 'running' : 'rest'
      kinds[kind].push(curve(start, end))
    }
    return { rest: kinds.rest.join(''), running: kinds.running.join(''), selected: kinds.selected.join('') }
  }, [picture, layout, liveKey, selectedBox])
  return (
    <g aria-hidden="true">
      <path className="dg-line" d={paths.rest} />
      <path className="dg-line dg-line-running" d={paths.running} />
      <path className="dg-line dg-line-selected" d={paths.selected} />
    </g>
  )
})
