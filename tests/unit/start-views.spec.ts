/** What `start` shows: the board on a terminal, lines elsewhere. */
import { describe, expect, it } from 'vitest'
import { createBoardView } from '../../start/board-view.ts'
import { createJsonView, createLineView } from '../../start/line-view.ts'
import type { WorkEvent } from '../../start/progress.ts'

function work(workId: string, status: WorkEvent['status'], detail?: string): WorkEvent {
  return {
    type: 'work',
    graphId: 'g',
    workId,
    title: `Title of ${workId}`,
    status,
    operatorId: undefined,
    detail,
  }
}

/** The lines that a terminal would show after all that was written. */
function screen(written: string): string[] {
  const lines: string[] = []
  let at = 0
  for (const part of written.split('\n').slice(0, -1)) {
    const [plain = '', ...sequences] = part.split('\u001B[')
    let text = plain
    for (const sequence of sequences) {
      const [, count, kind, rest] = /^(\d*)([AK])(.*)$/u.exec(sequence) ?? []
      if (kind === 'A') at -= Number(count)
      text += rest ?? ''
    }
    lines[at] = text
    at += 1
  }
  return lines
}

describe('the board', () => {
  it('redraws each work in its own line, with status, time and what it waits for', () => {
    let written = ''
    const view = createBoardView(
      { write: (text) => (written += text), isTTY: true, columns: 100 },
      Date.now(),
      { NO_COLOR: '1' },
    )
    view.show(work('a', 'ready'))
    view.show(work('b', 'waiting', 'waits for a'))
    view.show(work('a', 'running'))
    view.show({ type: 'turn', sessionId: 's', turn: 2, phase: 'start', detail: undefined })
    view.close()
    const lines = screen(written)
    expect(lines).toHaveLength(3)
    expect(lines[0]).toContain('root turn 2')
    expect(lines[1]).toMatch(/◐ a Title of a +running +\d+ms/u)
    expect(lines[2]).toMatch(/· b Title of b +waiting .*waits for a/u)
  })

  it('is never higher than the terminal: what goes on stays, what ended first gives way and is counted', () => {
    let written = ''
    const view = createBoardView(
      { write: (text) => (written += text), isTTY: true, columns: 100, rows: 8 },
      Date.now(),
      { NO_COLOR: '1' },
    )
    for (let n = 0; n < 30; n += 1) view.show(work(`w${n}`, n < 4 ? 'waiting' : 'completed'))
    view.close()
    const lines = screen(written)
    expect(lines).toHaveLength(7)
    expect(lines.slice(1, 5).map((line) => /w\d+/u.exec(line)?.[0])).toEqual(['w0', 'w1', 'w2', 'w3'])
    expect(lines[5]).toMatch(/completed/u)
    expect(lines[6]).toBe('  … 25 more')
  })

  it('keeps to the width of the terminal', () => {
    let written = ''
    const view = createBoardView(
      { write: (text) => (written += text), isTTY: true, columns: 40 },
      Date.now(),
      { NO_COLOR: '1' },
    )
    view.show(work('a', 'failed', 'x'.repeat(200)))
    view.close()
    for (const line of screen(written)) expect(line.length).toBeLessThan(40)
  })
})

describe('lines', () => {
  it('are one a line for people, and JSON for programs', () => {
    let text = ''
    createLineView((more) => (text += more), Date.now()).show(work('a', 'failed', 'it broke'))
    expect(text).toMatch(/^\[\+0\.\d\ds\] work a failed \(it broke\)\n$/u)
    let json = ''
    createJsonView((more) => (json += more), Date.now()).show(work('a', 'completed'))
    expect(JSON.parse(json)).toMatchObject({ type: 'work', workId: 'a', status: 'completed' })
  })
})
