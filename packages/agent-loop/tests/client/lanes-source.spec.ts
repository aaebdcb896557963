/** When the page of lanes looks, and what it keeps; over a door and a clock that the test holds. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LanesDoor, LanesReport } from '../../client/door.ts'
import { LanesSource, type Surroundings } from '../../client/lanes-source.ts'
import { wordsFor } from '../../client/words.ts'
import type { QueuedItem } from '../../src/queue-types.ts'

const lane = (sessionId: string, queued: readonly string[] = []) => ({
  sessionId,
  running: undefined,
  queued,
})
const settled = () => new Promise((resolve) => setImmediate(resolve))

class Bed implements Surroundings {
  report: LanesReport | Error = { lanes: [], metrics: [] }
  readonly asked: string[] = []
  looks = 0
  seen = true
  /** What is armed: after how long, and what then. */
  armed: { ms: number; act: () => void } | undefined
  private whenSeen: (() => void) | undefined

  readonly door = {
    lanes: async () => {
      this.looks += 1
      if (this.report instanceof Error) throw this.report
      return this.report
    },
    queue: async (id: string): Promise<readonly QueuedItem[]> => {
      this.asked.push(id)
      return []
    },
  } as unknown as LanesDoor

  after(ms: number, act: () => void): () => void {
    const armed = { ms, act }
    this.armed = armed
    return () => {
      if (this.armed === armed) this.armed = undefined
    }
  }

  isSeen(): boolean {
    return this.seen
  }

  onSeen(act: () => void): () => void {
    this.whenSeen = act
    return () => (this.whenSeen = undefined)
  }

  become(seen: boolean): void {
    this.seen = seen
    this.whenSeen?.()
  }

  get isLeft(): boolean {
    return this.armed === undefined && this.whenSeen === undefined
  }

  async pass(): Promise<void> {
    const { armed } = this
    this.armed = undefined
    armed?.act()
    await settled()
  }
}

async function open(bed: Bed) {
  const source = new LanesSource(bed.door, bed, 'own')
  const undo = source.subscribe(() => undefined)
  onTestFinished(undo)
  await settled()
  return { source, undo }
}

describe('the page of lanes', () => {
  it('looks once a second, at the queue of its session and at those where something waits', async () => {
    const bed = new Bed()
    bed.report = { lanes: [lane('a', ['r1']), lane('b')], metrics: [] }
    const { source } = await open(bed)
    expect(bed.asked.toSorted()).toEqual(['a', 'own'])
    expect(source.getSnapshot()).toMatchObject({ report: bed.report, problem: undefined })
    expect(bed.armed?.ms).toBe(1_000)
    await bed.pass()
    expect(bed.looks).toBe(2)
  })

  it('does not look while nobody sees it, and at once when somebody does', async () => {
    const bed = new Bed()
    await open(bed)
    bed.become(false)
    await settled()
    await bed.pass()
    expect(bed.looks).toBe(1)
    bed.become(true)
    await settled()
    expect(bed.looks).toBe(2)
  })

  it('keeps what it saw when the host does not answer, and asks ever more seldom', async () => {
    const bed = new Bed()
    bed.report = { lanes: [lane('a')], metrics: [] }
    const { source } = await open(bed)
    const { report } = bed
    bed.report = new Error('no host')
    const pauses: (number | undefined)[] = []
    for (let look = 0; look < 7; look += 1) {
      await bed.pass()
      pauses.push(bed.armed?.ms)
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000])
    expect(source.getSnapshot()).toMatchObject({ report, problem: 'no host' })
    bed.report = report
    await bed.pass()
    expect(source.getSnapshot().problem).toBeUndefined()
    expect(bed.armed?.ms).toBe(1_000)
  })

  it('leaves nothing behind when the last of its readers has gone', async () => {
    const bed = new Bed()
    const { source, undo } = await open(bed)
    const other = source.subscribe(() => undefined)
    undo()
    expect(bed.isLeft).toBe(false)
    other()
    expect(bed.isLeft).toBe(true)
    source.lookNow()
    await settled()
    expect(bed.looks).toBe(1)
  })

  it('says the same in both languages', () => {
    expect(wordsFor('zh-CN').say('lane.activeOf', { active: 1, width: 4 })).toBe('1 / 4')
    expect(wordsFor('en').say('lane.activeOf', { active: 1, width: 4 })).toBe('1 of 4')
    expect(wordsFor('fr').duration(3_725_000)).toBe('1 h 2 min')
  })
})
