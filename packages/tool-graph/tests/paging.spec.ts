/** Paging through 10,000 works while they change: nothing twice, nothing missed that was there throughout. */
import { describe, expect, it } from 'vitest'
import type { GraphView } from '../src/index.ts'
import { cursorFor } from '../src/view-cursor.ts'
import { openRig, work, type Rig } from './rig.ts'

const WORKS = 10_000
const HARD_LIMIT = 16 * 1024

const idOf = (index: number): string => `w${String(index).padStart(5, '0')}`

/** Repeatable. */
function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A draft, so that nothing changes but what the test changes: half of its works are stopped. */
async function openLarge(): Promise<Rig> {
  const rig = await openRig()
  for (let from = 0; from < WORKS; from += 32) {
    const addWork = Array.from({ length: Math.min(32, WORKS - from) }, (_, at) => work(idOf(from + at)))
    await rig.ask('update', { draft: 'open', addWork })
  }
  for (let from = 0; from < WORKS; from += 40) {
    const stop = Array.from({ length: 20 }, (_, at) => ({ targetId: idOf(from + 2 * at), reason: 'even' }))
    await rig.ask('update', { stop })
  }
  return rig
}

async function namesOf(rig: Rig, list: 'live' | 'ended'): Promise<Set<string>> {
  const names = new Set<string>()
  for (const { workId, endedAt } of (await rig.state()).works.values())
    if ((endedAt === undefined) === (list === 'live')) names.add(workId)
  return names
}

class Changes {
  private readonly rig: Rig
  private readonly below = chance(7)
  private added = WORKS

  constructor(rig: Rig) {
    this.rig = rig
  }

  /** One update of each kind: works end, come back to life, are added and replaced. */
  async make(): Promise<void> {
    const { works } = await this.rig.state()
    const some = (isEnded: boolean): string[] => {
      const picked = new Set<string>()
      for (let tries = 0; picked.size < 4 && tries < 200; tries++) {
        const found = works.get(idOf(this.below(WORKS)))
        if (
          found !== undefined &&
          (found.endedAt !== undefined) === isEnded &&
          found.replacedBy === undefined
        )
          picked.add(found.workId)
      }
      return [...picked]
    }
    const [replaced, ...stopped] = some(false)
    await this.rig.ask('update', {
      stop: stopped.map((targetId) => ({ targetId, reason: 'meanwhile' })),
      retry: some(true).map((workId) => ({ workId, reason: 'after all' })),
      addWork: [work(idOf((this.added += 1))), work(idOf((this.added += 1)), { replaces: replaced })],
    })
  }
}

interface Walk {
  readonly shown: readonly string[]
  readonly throughout: ReadonlySet<string>
}

/** All pages of one list, with changes between each two of them. */
async function walk(rig: Rig, list: 'live' | 'ended', changes: Changes): Promise<Walk> {
  const cursorName = list === 'live' ? 'nextCursor' : 'endedCursor'
  const throughout = await namesOf(rig, list)
  const shown: string[] = []
  let cursor: string | undefined
  do {
    const result = await rig.call('view', cursor === undefined ? {} : { cursor })
    const page = result.value as unknown as GraphView
    expect(page[list].length).toBeLessThanOrEqual(64)
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(HARD_LIMIT)
    shown.push(...page[list].map(({ workId }) => workId))
    cursor = page[cursorName]
    await changes.make()
    // What left the list was not there throughout, also if it comes back.
    const now = await namesOf(rig, list)
    for (const name of throughout) if (!now.has(name)) throughout.delete(name)
  } while (cursor !== undefined)
  return { shown, throughout }
}

describe('paging through 10,000 works that change', () => {
  it(
    'shows of either list nothing twice, and everything that was in it throughout',
    { timeout: 240_000 },
    async () => {
      const rig = await openLarge()
      const changes = new Changes(rig)
      const { seq } = await rig.ask<GraphView>('view', {})
      for (const list of ['live', 'ended'] as const) {
        const { shown, throughout } = await walk(rig, list, changes)
        expect(new Set(shown).size).toBe(shown.length)
        expect(throughout.size).toBeGreaterThan(4_000)
        const seen = new Set(shown)
        expect([...throughout].filter((name) => !seen.has(name))).toEqual([])
      }

      // Whatever moved from one list to the other meanwhile is found by what changed since the beginning.
      const changed = new Map<string, string>()
      let args: object = { since: seq }
      for (;;) {
        const page = await rig.ask<GraphView>('view', args)
        for (const one of [...page.live, ...page.ended]) {
          expect(changed.has(one.workId)).toBe(false)
          changed.set(one.workId, one.status)
        }
        if (page.nextCursor === undefined) break
        args = { cursor: page.nextCursor }
      }
      const retried = [...(await rig.state()).works.values()].filter((one) => one.retryReason !== undefined)
      expect(retried.length).toBeGreaterThan(100)
      for (const { workId, status } of retried) expect(changed.get(workId)).toBe(status)
      expect(changed.size).toBeGreaterThan(1_000)
    },
  )

  it('refuses a cursor of another graph and of another kind', async () => {
    const rig = await openRig()
    await rig.ask('update', { draft: 'open', addWork: [work('a')] })
    const [, tag = ''] = /:(\w+)$/u.exec(cursorFor((await rig.state()).graphId, 'work', 1)) ?? []
    for (const cursor of [`work:1.2:${tag}`, `ended:1.2:${tag}`, `since:1:${tag}`])
      expect((await rig.refusal('view', { cursor })).code).toBe('invalid_input')
    for (const cursor of ['work:1:00000000', 'since:1.1:00000000', 'ended:x', 'since:1', '{"work":1}'])
      expect((await rig.refusal('view', { cursor })).code).toBe('invalid_input')
  })
})
