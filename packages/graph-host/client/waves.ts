/** In which wave each work is: one more than the latest of its inputs. Pure. */
import type { WorkCard } from '../src/feed/wire.ts'

/** From 0. Inputs that are no works of the graph count nothing; a circle, which no store holds, ends. */
export function wavesOf(works: ReadonlyMap<string, WorkCard>): ReadonlyMap<string, number> {
  const waves = new Map<string, number>()
  for (const start of works.keys()) {
    // Without recursion: a chain may be as long as the graph.
    const path = [start]
    const onPath = new Set(path)
    while (path.length > 0) {
      const id = path.at(-1) ?? start
      const inputs = inputWorks(works, id)
      // One at a time, so that only what leads back to itself is on the path already.
      const open = inputs.find((input) => !waves.has(input) && !onPath.has(input))
      if (open !== undefined) {
        onPath.add(open)
        path.push(open)
        continue
      }
      waves.set(
        id,
        inputs.reduce((latest, input) => Math.max(latest, (waves.get(input) ?? -1) + 1), 0),
      )
      onPath.delete(id)
      path.pop()
    }
  }
  return waves
}

/** What a work follows: its inputs, and for an item the work it is an item of comes after it. */
export function inputWorks(works: ReadonlyMap<string, WorkCard>, id: string): readonly string[] {
  return (works.get(id)?.inputIds ?? []).filter((input) => works.has(input))
}
