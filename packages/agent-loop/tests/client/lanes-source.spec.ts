/** When the page of lanes has a connection, and what it keeps; over a door and a clock that the test holds. */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { LanesDoor, LanesListener, LanesNews } from '../../client/door.ts'
import { lanesDoor } from '../../client/door.ts'
import { LanesSource, type Surroundings } from '../../client/lanes-source.ts'
import { wordsFor } from '../../client/words.ts'

const NEWS: LanesNews = {
  lanes: [{ sessionId: 'a', running: undefined, queued: ['r1'] }],
  metrics: [],
  queues: [{ sessionId: 'a', items: [] }],
}

class Bed implements Surroundings {
  seen = true
  /** What is armed: after how long, and what then. */
  armed: { ms: number; act: () => void } | undefined
  readonly asked: string[] = []
  open: LanesListener | undefined
  private whenSeen: (() => void) | undefined

  readonly door = {
    watch: (sessionId: string, listener: LanesListener) => {
      this.asked.push(sessionId)
      this.open = listener
      return () => (this.open = undefined)
    },
  } as unknown as LanesDoor

  now(): number {
    return 1_000
  }

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

  lose(reason: string): void {
    const { open } = this
    this.open = undefined
    open?.lost(reason)
  }

  get isLeft(): boolean {
    return this.armed === undefined && this.whenSeen === undefined && this.open === undefined
  }

  pass(): void {
    const { armed } = this
    this.armed = undefined
    armed?.act()
  }
}

function open(bed: Bed) {
  const source = new LanesSource(bed.door, bed, 'own')
  const undo = source.subscribe(() => undefined)
  onTestFinished(undo)
  return { source, undo }
}

describe('the page of lanes', () => {
  let bed: Bed

  beforeEach(() => {
    bed = new Bed()
  })

  it('has one connection, and shows what it is told, as of when', () => {
    const { source } = open(bed)
    expect(source.getSnapshot().news).toBeUndefined()
    bed.open?.heard(NEWS)
    expect(source.getSnapshot()).toMatchObject({ news: NEWS, at: 1_000, problem: undefined })
    expect(source.getSnapshot().queues.get('a')).toEqual([])
    expect(bed.asked).toEqual(['own'])
  })

  it('has none while nobody sees it, and one at once when somebody does', () => {
    open(bed)
    bed.become(false)
    expect(bed.open).toBeUndefined()
    bed.become(true)
    bed.become(true)
    expect(bed.asked).toEqual(['own', 'own'])
  })

  it('keeps what it saw when the host does not answer, and asks ever more seldom', () => {
    const { source } = open(bed)
    bed.open?.heard(NEWS)
    const pauses: (number | undefined)[] = []
    for (let look = 0; look < 7; look += 1) {
      bed.lose('no host')
      pauses.push(bed.armed?.ms)
      bed.pass()
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000])
    expect(source.getSnapshot()).toMatchObject({ news: NEWS, problem: 'no host' })
    bed.open?.heard(NEWS)
    expect(source.getSnapshot().problem).toBeUndefined()
    bed.lose('again')
    expect(bed.armed?.ms).toBe(1_000)
  })

  it('leaves nothing behind when the last of its readers has gone', () => {
    const { source, undo } = open(bed)
    const other = source.subscribe(() => undefined)
    undo()
    expect(bed.isLeft).toBe(false)
    bed.lose('gone')
    other()
    expect(bed.isLeft).toBe(true)
  })

  it('says the same in both languages', () => {
    expect(wordsFor('zh-CN').say('lane.activeOf', { active: 1, width: 4 })).toBe('1 / 4')
    expect(wordsFor('en').say('lane.activeOf', { active: 1, width: 4 })).toBe('1 of 4')
    expect(wordsFor('fr').duration(3_725_000)).toBe('1 h 2 min')
  })
})

describe('the connection of the page', () => {
  class Wire extends EventTarget {
    isClosed = false
    close(): void {
      this.isClosed = true
    }
    frame(data: object): void {
      this.dispatchEvent(Object.assign(new Event('message'), { data: JSON.stringify(data) }))
    }
    ends(): void {
      this.dispatchEvent(new Event('close'))
    }
  }

  function watched() {
    const wire = new Wire()
    const told: unknown[] = []
    const paths: string[] = []
    const door = lanesDoor({
      fetch,
      socket: (path) => {
        paths.push(path)
        return wire as unknown as WebSocket
      },
    })
    const leave = door.watch('a/b', {
      heard: (news) => void told.push(news),
      lost: (reason) => void told.push(reason),
    })
    return { leave, paths, told, wire }
  }

  it('names its session, tells what comes, and at its end the words of the host', () => {
    const { paths, told, wire } = watched()
    wire.frame({ type: 'event', event: NEWS })
    wire.frame({ type: 'error', error: { message: 'the host is closed' } })
    wire.ends()
    wire.ends()
    expect(paths).toEqual(['/agent-loop/lanes?sessionId=a%2Fb'])
    expect(told).toEqual([NEWS, 'the host is closed'])
  })

  it('tells nothing to whoever left', () => {
    const { leave, told, wire } = watched()
    leave()
    wire.frame({ type: 'event', event: NEWS })
    wire.ends()
    expect([told, wire.isClosed]).toEqual([[], true])
  })
})
