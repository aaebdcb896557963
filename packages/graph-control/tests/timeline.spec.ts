import { describe, expect, it } from 'vitest'
import type { TimelineEvent, TimelineKind } from '../src/index.ts'
import {
  begin,
  openGraph,
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  refusal,
  refusedAs,
  storeOn,
  work,
} from './fixture.ts'
import { playHistory } from './random-history.ts'
import { WHOLE_HISTORY } from './whole-history.ts'

const at = (events: readonly TimelineEvent[]) => events.map(({ seq }) => seq)

describe.each(MEDIA)('the timeline on %s', (medium) => {
  it('tells each transition once, in pages that meet, forwards and backwards', async () => {
    const { store, reopenStore } = await openGraph(medium)
    for (let n = 1; n <= 9; n++) await commit(store, `c${n}`, { addWork: [work(`w${n}`)] })
    const reopened = await reopenStore()
    const first = await reopened.readTimeline({ graphId: GRAPH, limit: 4 })
    expect([at(first.events), first.omittedBefore, first.omittedAfter]).toEqual([[1, 2, 3, 4], 0, 6])
    const rest = await reopened.readTimeline({ graphId: GRAPH, afterSeq: 4 })
    expect([at(rest.events), rest.omittedBefore, rest.omittedAfter]).toEqual([[5, 6, 7, 8, 9, 10], 4, 0])
    const back = await reopened.readTimeline({ graphId: GRAPH, beforeSeq: 11, limit: 3 })
    expect([at(back.events), back.omittedBefore, back.omittedAfter]).toEqual([[10, 9, 8], 7, 0])
    const more = await reopened.readTimeline({ graphId: GRAPH, beforeSeq: 8, limit: 256 })
    expect([at(more.events), more.omittedBefore, more.omittedAfter]).toEqual([[7, 6, 5, 4, 3, 2, 1], 0, 3])
    const past = await reopened.readTimeline({ graphId: GRAPH, afterSeq: 99 })
    expect([at(past.events), past.omittedBefore, past.omittedAfter]).toEqual([[], 10, 0])
    const none = await reopened.readTimeline({ graphId: GRAPH, beforeSeq: 1 })
    expect([at(none.events), none.omittedBefore, none.omittedAfter]).toEqual([[], 0, 10])
    expect(first.events[1]).toEqual({
      seq: 2,
      kind: 'schedule_committed',
      at: expect.any(Number) as number,
      detail: {
        updateId: expect.stringMatching(/^graph_update_/) as string,
        toolCallId: 'c1',
        turnId: 'graph_turn_1',
        addedWorkIds: ['w1'],
        stoppedTargetIds: [],
      },
    })
  })
})

describe('the timeline', () => {
  it('has a kind for every transition, and holds JSON only', async () => {
    const { store } = await openGraph()
    const kinds = new Set<TimelineKind>()
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const opened = await openGraph()
      await playHistory([opened.store], { seed, steps: 400 })
      const { events } = await opened.store.readTimeline({ graphId: GRAPH, limit: 256 })
      for (const event of events) kinds.add(event.kind)
      expect(JSON.parse(JSON.stringify(events))).toEqual(events)
    }
    expect(kinds.size).toBe(17)
    for (const step of WHOLE_HISTORY) await step(store)
    const { events } = await store.readTimeline({ graphId: GRAPH, limit: 256 })
    expect(events.at(-1)).toMatchObject({ kind: 'schedule_finished', detail: { reason: 'end' } })
    expect(events).toHaveLength((await graph(store)).seq)
  })

  it('cuts what is long at a character', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a', { instruction: 'secret text' })] })
    await complete(store, 'a')
    const reason = `${'r'.repeat(499)}😀${'r'.repeat(100)}`
    await commit(store, 'c2', { finish: { resultIds: [], reason } })
    const { events } = await store.readTimeline({ graphId: GRAPH })
    expect(events.at(-1)?.detail['reason']).toBe(`${'r'.repeat(499)}…`)
    expect(JSON.stringify(events)).not.toContain('secret text')
  })

  it('is refused both ways at once, out of bounds, and for a graph that is not there', async () => {
    const { store } = await openGraph()
    const read = (parts: object) => () => store.readTimeline({ graphId: GRAPH, ...parts })
    expect(await refusal(store, read({ afterSeq: 1, beforeSeq: 2 }))).toMatchObject(
      refusedAs('invalid', 'not both'),
    )
    for (const parts of [{ limit: 0 }, { limit: 257 }, { afterSeq: -1 }, { beforeSeq: '1' }, { other: 1 }]) {
      expect(await refusal(store, read(parts))).toMatchObject(refusedAs('invalid', 'readTimeline'))
    }
    expect(await refusal(store, read({ graphId: 'ghost' }))).toMatchObject(refusedAs('graph-not-found'))
  })
})

describe('changes', () => {
  it('are the works whose view changed since, as they are now, newest first', async () => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('c', { inputIds: ['a'] })] })
    const { seq } = await graph(store)
    expect(await store.readChanges(GRAPH, seq)).toEqual([])
    await complete(store, 'a')
    const { works, seq: now } = await graph(store)
    expect(await store.readChanges(GRAPH, seq)).toEqual([works.get('c'), works.get('a')])
    expect((await store.readChanges(GRAPH, 0))?.map(({ workId }) => workId)).toEqual(['c', 'a', 'b'])
    expect(await store.readChanges(GRAPH, now + 1)).toBeUndefined()
    expect(await (await storeOn(log)).readChanges(GRAPH, seq)).toEqual([works.get('c'), works.get('a')])
    expect(await refusal(store, () => store.readChanges('ghost', 0))).toMatchObject(
      refusedAs('graph-not-found'),
    )
  })

  it('hold a work that is at another attempt', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    const { claimId } = await begin(store, 'a')
    const { seq } = await graph(store)
    await store.retryActivation(GRAPH, claimId, 1, 'the process was lost')
    expect((await store.readChanges(GRAPH, seq))?.map(({ workId }) => workId)).toEqual(['a'])
  })

  it('leave out no work that differs, over random histories', async () => {
    for (const seed of [31, 32, 33]) {
      const { store } = await openGraph()
      const seen: { seq: number; works: ReadonlyMap<string, unknown> }[] = []
      store.onCommitted(({ seq, works }) => void (seq % 20 === 0 && seen.push({ seq, works })))
      await playHistory([store], { seed, steps: 400 })
      const { works } = await graph(store)
      for (const before of seen) {
        const changed = new Set((await store.readChanges(GRAPH, before.seq))?.map(({ workId }) => workId))
        const differs = [...works.keys()].filter((id) => works.get(id) !== before.works.get(id))
        expect([...changed].sort()).toEqual(differs.sort())
      }
    }
  })
})
