import { Context } from '@deepseek-ai/cordis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { afterNews, type CodeRuns as Known } from '../../client/code-run.ts'
import { CodeRuns } from '../../src/feed/code-runs.ts'
import type { RunNews } from '../../src/feed/wire.ts'

let ctx: Context
let runs: CodeRuns

beforeEach(() => {
  vi.useFakeTimers({ now: 5_000 })
  ctx = new Context()
  runs = new CodeRuns(ctx)
})

afterEach(() => {
  runs.close()
  const left = vi.getTimerCount()
  vi.useRealTimers()
  if (left > 0) throw new Error(`${left} timers outlive the runs`)
})

function tell(progress: object): number {
  const listeners = [...ctx.events.dispatch('emit', ['graphTools/progress' as never, progress])]
  for (const listener of listeners) listener(progress as never)
  return listeners.length
}

const OF_CALL = { tool: 'assay', run: 'r', callId: 'c1', agent: { id: 's' } }

function watched(sessionId = 's'): { news: RunNews[]; leave: () => void } {
  const news: RunNews[] = []
  return { news, leave: runs.watch(sessionId, (one) => news.push(one)) }
}

describe('runs of code graphs', () => {
  it('are told to pages of their session only', () => {
    const [mine, other] = [watched('s'), watched('other')]
    tell({ ...OF_CALL, phase: 'start', node: 'melt' })
    expect(mine.news).toEqual([{ callId: 'c1', tool: 'assay', phase: 'start', node: 'melt', at: 5_000 }])
    expect(other.news).toEqual([])
  })

  it('are told as they stand to a page that comes later', () => {
    watched()
    tell({ ...OF_CALL, phase: 'start' })
    tell({ ...OF_CALL, phase: 'start', node: 'weigh' })
    tell({ ...OF_CALL, phase: 'end', node: 'weigh' })
    tell({ ...OF_CALL, phase: 'start', node: 'melt' })
    expect(watched().news.map(({ node, phase }) => [node, phase])).toEqual([
      [undefined, 'start'],
      ['weigh', 'end'],
      ['melt', 'start'],
    ])
    tell({ ...OF_CALL, phase: 'end' })
    expect(watched().news).toEqual([])
  })

  it('are not watched before anybody looks, and a minute after nobody does', async () => {
    expect(tell({ ...OF_CALL, phase: 'start' })).toBe(0)
    const { leave } = watched()
    expect(tell({ ...OF_CALL, phase: 'start' })).toBe(1)
    leave()
    await vi.advanceTimersByTimeAsync(59_999)
    expect(watched().news).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(tell({ ...OF_CALL, phase: 'start' })).toBe(1)
  })

  it('are forgotten with the last page', async () => {
    watched().leave()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(tell({ ...OF_CALL, phase: 'start' })).toBe(0)
  })

  it("without a call or an agent, and words of a node, are nobody's", () => {
    const { news } = watched()
    tell({ tool: 'assay', phase: 'start' })
    tell({ ...OF_CALL, phase: 'custom', custom: 'x' })
    expect(news).toEqual([])
  })

  it('are held within bounds', () => {
    watched()
    for (let n = 0; n < 400; n++) tell({ ...OF_CALL, callId: `c${n}`, phase: 'start', node: 'melt' })
    expect(watched().news).toHaveLength(256)
  })
})

it('a page counts how often a node began, and keeps how it ended', () => {
  const news: RunNews[] = [
    { callId: 'c', tool: 'assay', phase: 'start', at: 1 },
    { callId: 'c', tool: 'assay', phase: 'start', node: 'melt', at: 2 },
    { callId: 'c', tool: 'assay', phase: 'interrupt', node: 'melt', at: 3 },
    { callId: 'c', tool: 'assay', phase: 'start', node: 'melt', at: 4 },
    { callId: 'c', tool: 'assay', phase: 'error', node: 'melt', error: 'too hot', at: 5 },
    { callId: 'c', tool: 'assay', phase: 'error', error: 'too hot', at: 6 },
  ]
  const marks: (string | undefined)[] = []
  let known: Known = new Map()
  for (const one of news) {
    known = afterNews(known, one)
    marks.push(known.get('c')?.nodes.get('melt')?.mark)
  }
  expect(marks).toEqual([undefined, 'running', 'held', 'running', 'failed', 'failed'])
  expect(known.get('c')).toMatchObject({ isOver: true })
  expect(known.get('c')?.nodes.get('melt')).toEqual({ mark: 'failed', times: 2, error: 'too hot' })
})
