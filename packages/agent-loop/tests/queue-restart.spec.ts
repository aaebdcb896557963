/** Random histories of one queue: what the lane has in memory is what the log gives back. */
import { describe, expect, it } from 'vitest'
import { randomOf, type Random } from './support/random.ts'
import { settleDown, until } from './support/until.ts'
import { World } from './support/world.ts'

const HISTORIES = 60
const STEPS = 25

async function step(world: World, random: Random, number: number): Promise<void> {
  const queued = world.host.lanes()[0]?.queued ?? []
  const dice = random.fraction()
  if (dice < 0.15 && queued.length > 1) {
    const before = random.fraction() < 0.3 ? undefined : random.pick(queued)
    await world.host.queue.move(random.pick(queued), before)
  } else if (dice < 0.25 && queued.length > 0) {
    await world.host.queue.cancel(random.pick(queued))
  } else {
    await world.accept('s', `text ${number}`, requestOf(random))
  }
}

function requestOf(random: Random): object {
  const provenance = { kind: 'plugin', plugin: 'p', summary: 's' }
  const dice = random.fraction()
  if (dice < 0.2) return { provenance, placement: 'front' }
  if (dice < 0.3) return { provenance }
  if (dice < 0.5) return { supersedeKey: random.pick(['k1', 'k2']) }
  if (dice < 0.6) return { queueMode: 'collect' }
  if (dice < 0.65) return { queueMode: 'interrupt' }
  return {}
}

describe('a queue after a restart', () => {
  it(`is what it was before, in ${HISTORIES} random histories`, async () => {
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      const random = randomOf(seed)
      const world = await World.boot()
      // An opener that never answers: the first run is under way, and nothing else begins.
      world.host.registerOpener(() => new Promise(() => undefined))
      await world.accept('s', 'first')
      await until(() => world.host.lanes()[0]?.running !== undefined)
      for (let number = 0; number < STEPS; number += 1) await step(world, random, number)
      // What an interrupt stops has ended by then, and the next one is under way.
      await settleDown()
      await until(() => world.host.lanes()[0]?.running !== undefined)
      const [lane] = world.host.lanes()
      const next = await world.crash()
      const [again] = next.host.lanes()
      const before = [lane?.running, ...(lane?.queued ?? [])]
      // What was under way has its place in the queue again, wherever that is.
      const after = again?.queued ?? []
      expect(after.toSorted(), `seed ${seed}`).toEqual(before.map(String).toSorted())
      expect(
        after.filter((id) => id !== lane?.running),
        `seed ${seed}`,
      ).toEqual(lane?.queued)
      const open = new Set(after)
      const ends = await next.terminalEntries('s')
      expect(
        Object.keys(ends).filter((id) => open.has(id)),
        `seed ${seed}`,
      ).toEqual([])
      expect(new Set(Object.values(ends)).size, `seed ${seed}`).toBeLessThanOrEqual(1)
      await world.unload()
      await next.unload()
    }
  })
})
