/** Which box an arrow key leads to: the nearest one in its direction. Pure. */
import type { Layout } from './layout.ts'

export type Arrow = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown'

const WAYS: Readonly<Record<Arrow, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

export function isArrow(key: string): key is Arrow {
  return Object.hasOwn(WAYS, key)
}

export function neighbour({ places }: Layout, id: string, arrow: Arrow): string | undefined {
  const from = places.get(id)
  if (from === undefined) return undefined
  const [wayX, wayY] = WAYS[arrow]
  let best: { id: string; far: number } | undefined
  for (const [other, { x, y }] of places) {
    const ahead = (x - from.x) * wayX + (y - from.y) * wayY
    if (other === id || ahead <= 0) continue
    // What lies aside is farther than what lies ahead.
    const aside = Math.abs((x - from.x) * wayY) + Math.abs((y - from.y) * wayX)
    const far = ahead + 2 * aside
    if (best === undefined || far < best.far) best = { id: other, far }
  }
  return best?.id
}
