/** Which part of the picture shows, and how large: pan, zoom, fit. */
import { useCallback, useEffect, useRef, useState, type RefObject } from 'react'
import type { Layout, Place } from './layout.ts'
import { BOX_HEIGHT, BOX_WIDTH } from './layout.ts'

export interface View {
  readonly x: number
  readonly y: number
  readonly scale: number
}

export interface Viewport {
  readonly view: View
  readonly size: { readonly width: number; readonly height: number }
  zoom(factor: number): void
  fit(): void
  /** Moves as little as it takes for a box to show. */
  reveal(place: Place): void
}

const MIN_SCALE = 0.08
const MAX_SCALE = 2.5
/** Below this the words in a box cannot be read. */
const READABLE_SCALE = 0.7
const MARGIN = 20

/** @param anchor what should show where not everything can; looked at when the picture is laid out. */
export function useViewport(
  frame: RefObject<HTMLElement>,
  layout: Layout,
  anchor: Place | undefined,
): Viewport {
  const [size, setSize] = useState({ width: 0, height: 0 })
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 })
  // From the first hand that moves it on, nothing moves by itself.
  const moved = useRef(false)
  const wanted = useRef(anchor)
  wanted.current = anchor

  useEffect(() => {
    const element = frame.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [frame])

  const fit = useCallback(() => {
    moved.current = false
    setView(fitted(layout, size))
  }, [layout, size])

  useEffect(() => {
    if (!moved.current && size.width > 0) setView(readable(layout, size, wanted.current))
  }, [layout, size])

  const zoomAt = useCallback((factor: number, x: number, y: number) => {
    moved.current = true
    setView((before) => {
      const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, before.scale * factor))
      const ratio = scale / before.scale
      return { scale, x: x - (x - before.x) * ratio, y: y - (y - before.y) * ratio }
    })
  }, [])

  useEffect(() => {
    const element = frame.current
    return element === null ? undefined : handGestures(element, moved, setView, zoomAt)
  }, [frame, zoomAt])

  const zoom = useCallback(
    (factor: number) => zoomAt(factor, size.width / 2, size.height / 2),
    [zoomAt, size],
  )
  const reveal = useCallback((place: Place) => setView((before) => revealed(before, size, place)), [size])
  return { view, size, zoom, fit, reveal }
}

function fitted(layout: Layout, size: { width: number; height: number }): View {
  const room = { width: size.width - 2 * MARGIN, height: size.height - 2 * MARGIN }
  const scale = Math.max(MIN_SCALE, Math.min(1, room.width / layout.width, room.height / layout.height))
  return {
    scale,
    x: Math.max(MARGIN, (size.width - layout.width * scale) / 2),
    y: Math.max(MARGIN, (size.height - layout.height * scale) / 2),
  }
}

/** Everything if it can be read then, or else the part around the anchor. */
function readable(layout: Layout, size: { width: number; height: number }, anchor: Place | undefined): View {
  const whole = fitted(layout, size)
  if (whole.scale >= READABLE_SCALE) return whole
  const scale = READABLE_SCALE
  const { x, y } = anchor ?? { x: 0, y: 0 }
  return {
    scale,
    x: along(layout.width * scale, size.width, (x + BOX_WIDTH / 2) * scale),
    y: along(layout.height * scale, size.height, (y + BOX_HEIGHT / 2) * scale),
  }
}

/** Where a picture of some length begins, so that a point of it is in the middle and no room is left empty. */
function along(length: number, room: number, point: number): number {
  if (length <= room - 2 * MARGIN) return (room - length) / 2
  return Math.min(MARGIN, Math.max(room - MARGIN - length, room / 2 - point))
}

function revealed(view: View, size: { width: number; height: number }, place: Place): View {
  const left = place.x * view.scale + view.x
  const top = place.y * view.scale + view.y
  const right = left + BOX_WIDTH * view.scale
  const bottom = top + BOX_HEIGHT * view.scale
  const dx = left < MARGIN ? MARGIN - left : Math.min(0, size.width - MARGIN - right)
  const dy = top < MARGIN ? MARGIN - top : Math.min(0, size.height - MARGIN - bottom)
  return dx === 0 && dy === 0 ? view : { ...view, x: view.x + dx, y: view.y + dy }
}

/** Drag pans, the wheel pans, the wheel with Control or Command zooms. @returns the undo. */
function handGestures(
  element: HTMLElement,
  moved: { current: boolean },
  setView: (change: (before: View) => View) => void,
  zoomAt: (factor: number, x: number, y: number) => void,
): () => void {
  let last: { x: number; y: number } | undefined
  const pan = (dx: number, dy: number) => {
    moved.current = true
    setView((before) => ({ ...before, x: before.x + dx, y: before.y + dy }))
  }
  const onWheel = (event: WheelEvent) => {
    event.preventDefault()
    const box = element.getBoundingClientRect()
    if (event.ctrlKey || event.metaKey)
      zoomAt(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top)
    else pan(-event.deltaX, -event.deltaY)
  }
  const onDown = (event: PointerEvent) => {
    if (event.button === 0 && !(event.target as Element).closest('[data-box],button')) {
      last = { x: event.clientX, y: event.clientY }
      element.setPointerCapture(event.pointerId)
    }
  }
  const onMove = (event: PointerEvent) => {
    if (last === undefined) return
    pan(event.clientX - last.x, event.clientY - last.y)
    last = { x: event.clientX, y: event.clientY }
  }
  const onUp = () => (last = undefined)
  element.addEventListener('wheel', onWheel, { passive: false })
  element.addEventListener('pointerdown', onDown)
  element.addEventListener('pointermove', onMove)
  element.addEventListener('pointerup', onUp)
  element.addEventListener('pointercancel', onUp)
  return () => {
    element.removeEventListener('wheel', onWheel)
    element.removeEventListener('pointerdown', onDown)
    element.removeEventListener('pointermove', onMove)
    element.removeEventListener('pointerup', onUp)
    element.removeEventListener('pointercancel', onUp)
  }
}
