import { memoryLog } from 'dsh-durable-log'
import { GraphControlStore, type GraphState, type Work } from 'dsh-graph-control'
import { describe, expect, it } from 'vitest'
import {
  canRedraw,
  cleanLine,
  columnsOf,
  cutTo,
  durationText,
  fill,
  lookOf,
  PLAIN_LOOK,
  rootWaitOf,
  timelineLines,
  waitOf,
  workLine,
  type Look,
} from '../src/board.ts'
import { boardLines } from '../src/board/board.ts'
import { addWorks, claimWork, settleWork } from './graph-deeds.ts'

const ESC = '\u001B'
const NOW = Date.now()

function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\u001b\[[0-9;]*m/gu, '')
}

describe('text on a terminal', () => {
  it('takes two columns for a CJK character and none for a combining mark', () => {
    expect([columnsOf('图の그'), columnsOf('e\u0301'), columnsOf('abc')]).toEqual([6, 1, 3])
  })

  it('is cut at a whole character, at the width and not at the length', () => {
    expect(cutTo('图图图图', 8)).toBe('图图图图')
    expect(cutTo('图图图图', 7)).toBe('图图图…')
    expect(cutTo('图图图图', 6)).toBe('图图…')
    expect(cutTo('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…')
    expect(cutTo('anything', 0)).toBe('')
    for (let columns = 1; columns < 12; columns += 1) {
      expect(columnsOf(cutTo('a图b🎉c그', columns))).toBeLessThanOrEqual(columns)
      expect(columnsOf(fill('a图b🎉c그', columns))).toBe(columns)
    }
  })

  it('holds nothing that a terminal would act on', () => {
    const hostile = `a${ESC}[2Jb${ESC}]0;title\u0007c\r\nd\u202Ee\u0007f\u009Bg`
    expect(cleanLine(hostile)).toBe('a b c d e f g')
    expect(cleanLine('\ud800x')).toBe('\ufffdx')
  })

  it('tells durations in two parts at most', () => {
    expect([0, 999, 1_000, 59_949, 59_950, 185_000, 7_440_000, 266_400_000].map(durationText)).toEqual([
      '0ms',
      '999ms',
      '1.0s',
      '59.9s',
      '1m 00s',
      '3m 05s',
      '2h 04m',
      '3d 02h',
    ])
  })
})

describe('where colours are', () => {
  const terminal = { isTTY: true, columns: 81, rows: 30 }

  it.each([
    ['a terminal', terminal, {}, true],
    ['a pipe', { columns: 81 }, {}, false],
    ['NO_COLOR', terminal, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
    ['TERM=dumb', terminal, { TERM: 'dumb' }, false],
  ] as const)('%s', (_title, output, environment, expected) => {
    const look = lookOf(output, environment)
    expect(look.hasColours).toBe(expected)
    const line = workLine({ workId: 'a', status: 'failed' }, look)
    expect(line.includes(ESC)).toBe(expected)
    expect(plain(line)).toContain('failed')
  })

  it('is no redrawing, and no mark beyond ASCII, for TERM=dumb', () => {
    expect(canRedraw(terminal, { TERM: 'dumb' })).toBe(false)
    expect(canRedraw(terminal, { TERM: 'xterm' })).toBe(true)
    expect(canRedraw({}, { TERM: 'xterm' })).toBe(false)
    const dumb = lookOf(terminal, { TERM: 'dumb' })
    // oxlint-disable-next-line no-control-regex
    expect(workLine({ workId: 'a', status: 'running' }, dumb)).toMatch(/^[\u0020-\u007e]+$/u)
  })
})

describe('a line of a work', () => {
  it.each([200, 100, 60, 40, 21, 20])('keeps to %i columns, and to whole escape sequences', (columns) => {
    const look: Look = { columns, rows: 20, hasColours: true, hasMarks: true }
    const line = workLine(
      { workId: 'w', title: '图'.repeat(80), status: 'waiting', elapsedMs: 12_345, note: '그'.repeat(200) },
      look,
    )
    expect(columnsOf(plain(line))).toBeLessThanOrEqual(columns)
    expect(plain(line)).not.toContain(ESC)
  })

  it('tells the status in words, whatever the colour', () => {
    const line = workLine({ workId: 'w', status: 'stopped', note: 'not needed' }, PLAIN_LOOK)
    expect(line).toContain('stopped')
    expect(line).toContain('not needed')
  })
})

async function graphOf(
  works: readonly { workId: string; inputIds?: readonly string[]; replay?: 'confirm' }[],
): Promise<{ store: GraphControlStore; state: () => Promise<GraphState>; graphId: string }> {
  const store = await GraphControlStore.open(memoryLog())
  const graphId = await addWorks(store, 'root', works)
  const state = async () => {
    const read = await store.readGraph(graphId)
    if (read === undefined) throw new Error('the graph is gone')
    return read
  }
  return { store, state, graphId }
}

function workOf(state: GraphState, workId: string): Work {
  const work = state.works.get(workId)
  if (work === undefined) throw new Error(`no work ${workId}`)
  return work
}

describe('the board', () => {
  it('tells of every work that is not over what it waits for', async () => {
    const { graphId, state, store } = await graphOf([
      { workId: 'run' },
      { workId: 'next' },
      { workId: 'join', inputIds: ['run', 'next'] },
    ])
    await claimWork(store, graphId, 'run')
    const now = await state()
    expect(waitOf(now, workOf(now, 'run'), { now: NOW })).toBe('its operator')
    expect(waitOf(now, workOf(now, 'next'), { now: NOW, slots: 1 })).toBe('one of 1 slots, place 1 in line')
    expect(waitOf(now, workOf(now, 'join'), { now: NOW })).toBe('run, next')
    const lines = boardLines(now, PLAIN_LOOK, { now: NOW })
    expect(lines[0]).toContain(graphId)
    expect(lines[1]).toBe('3 works: 1 running, 1 ready, 1 waiting')
    for (const line of lines.slice(2)) expect(line).toContain('waits for')
  })

  it('counts no place far back in line', async () => {
    const { state } = await graphOf(Array.from({ length: 110 }, (_, at) => ({ workId: `w${at}` })))
    const now = await state()
    const waits = (workId: string, slots?: number) => waitOf(now, workOf(now, workId), { now: NOW, slots })
    expect(waits('w100', 8)).toBe('one of 8 slots, place 101 in line')
    expect(waits('w101', 8)).toBe('one of 8 slots, more than 100 in line come first')
    expect(waits('w101')).toBe('a slot, more than 100 in line come first')
  })

  it('tells of a held work whose word it needs, first of all', async () => {
    const { graphId, state, store } = await graphOf([{ workId: 'plain' }, { workId: 'sold' }])
    const claim = await claimWork(store, graphId, 'sold')
    await store.holdActivation({
      graphId,
      claimId: claim,
      attempt: 1,
      kind: 'person',
      reason: 'it sold shares',
    })
    const [, counts, first] = boardLines(await state(), PLAIN_LOOK, { now: NOW })
    expect(counts).toBe('2 works: 1 held, 1 ready')
    expect(first).toMatch(/sold +held .*needs a person to confirm: it sold shares/u)
  })

  it('tells of ended works how they ended, and what the root has not seen', async () => {
    const { graphId, state, store } = await graphOf([{ workId: 'good' }, { workId: 'bad' }])
    await claimWork(store, graphId, 'good')
    await settleWork(store, graphId, 'good', { outcome: 'completed', conclusion: 'all is well' })
    await claimWork(store, graphId, 'bad')
    await settleWork(store, graphId, 'bad', { outcome: 'failed', reason: 'it broke' })
    const now = await state()
    const lines = boardLines(now, PLAIN_LOOK, { now: NOW })
    expect(lines[1]).toBe('2 works: 1 failed, 1 completed')
    expect(lines[2]).toMatch(/bad .*failed .*it broke/u)
    expect(lines[3]).toMatch(/good .*completed .*all is well/u)
    expect(lines.at(-1)).toBe('the root has not seen 2 changes')
    await store.acknowledgeChanges(graphId, now.changeSeq)
    expect(rootWaitOf(await state(), NOW)).toBeUndefined()
  })

  it('fits on one screen and counts the rest', async () => {
    const { state } = await graphOf(Array.from({ length: 60 }, (_, at) => ({ workId: `w${at}` })))
    const look: Look = { columns: 60, rows: 24, hasColours: false, hasMarks: true }
    const lines = boardLines(await state(), look, { now: NOW })
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(lines.find((line) => line.includes('41 more'))).toBeDefined()
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(60)
  })
})

it('tells the history with the names of works, newest first', async () => {
  const { graphId, state, store } = await graphOf([{ workId: 'a' }])
  await claimWork(store, graphId, 'a')
  await settleWork(store, graphId, 'a', { outcome: 'failed', reason: 'it broke' })
  const { events } = await store.readTimeline({ graphId, beforeSeq: 100 })
  const lines = timelineLines(events, await state(), PLAIN_LOOK)
  expect(lines[0]).toMatch(/activation terminal +a, .*failed.*reason it broke/u)
  expect(lines.at(-1)).toContain('graph opened')
  expect(lines.join('\n')).not.toContain(ESC)
})
