/** One thing as one line: aligned, cut at the width, coloured last, harmless. */
import { describe, expect, it } from 'vitest'
import {
  columnsOf,
  lookOf,
  PLAIN_LOOK,
  shownLine,
  shownLines,
  type Look,
  type ShownLine,
} from '../src/index.ts'

const ESC = '\u001B'
const thing = (name: string, more: Partial<ShownLine> = {}): ShownLine => ({
  mark: '●',
  ascii: '*',
  name,
  state: 'done',
  ...more,
})

function terminal(columns: number, environment: Record<string, string> = {}): Look {
  return lookOf({ isTTY: true, columns: columns + 1, rows: 24 }, environment)
}

describe('lines under each other', () => {
  it('have columns as wide as what stands in them, CJK characters counted as two', () => {
    expect(
      shownLines(
        [thing('图图', { note: 'first' }), thing('ab', { state: 'runs', note: 'second' })],
        PLAIN_LOOK,
      ),
    ).toEqual(['  ● 图图 done  first', '  ● ab   runs  second'])
  })

  it('have a column of times only where something has one', () => {
    expect(shownLines([thing('a', { elapsedMs: 1_500 }), thing('b')], PLAIN_LOOK)).toEqual([
      '  ● a done    1.5s',
      '  ● b done',
    ])
    expect(shownLines([thing('a'), thing('b')], PLAIN_LOOK)).toEqual(['  ● a done', '  ● b done'])
  })

  it('keep to the width of the screen, whatever stands in them', () => {
    const lines = [
      thing('图'.repeat(60), { note: '图'.repeat(200), elapsedMs: 5 }),
      thing('b', { state: 's'.repeat(90), note: 'n'.repeat(300) }),
    ]
    for (let columns = 20; columns < 130; columns += 1)
      for (const line of shownLines(lines, terminal(columns, { NO_COLOR: '1' })))
        expect(columnsOf(line)).toBeLessThanOrEqual(columns)
  })

  it('leave a name whole that takes half of the screen, such as the id of a session', () => {
    const name = `session ${'0123456789ab-'.repeat(3)}`
    expect(shownLines([thing(name, { note: 'n' })], PLAIN_LOOK)[0]).toBe(`  ● ${name} done  n`)
  })

  it('are none for nothing', () => {
    expect(shownLines([], PLAIN_LOOK)).toEqual([])
  })
})

describe('a line', () => {
  const columns = { name: 4, state: 4, time: 0 }

  it('has colours on a terminal, not with NO_COLOR, TERM=dumb or in a pipe', () => {
    const line = thing('a', { colour: 'green' })
    expect(shownLine(line, columns, terminal(80))).toContain(`${ESC}[32m`)
    const plain = [terminal(80, { NO_COLOR: '1' }), terminal(80, { TERM: 'dumb' }), lookOf({}, {})]
    for (const look of plain) expect(shownLine(line, columns, look)).not.toContain(ESC)
    // An empty NO_COLOR says nothing, by its own convention.
    expect(shownLine(line, columns, terminal(80, { NO_COLOR: '' }))).toContain(ESC)
  })

  it('says in ASCII what it marks, where the terminal is dumb', () => {
    expect(shownLine(thing('a'), columns, terminal(80, { TERM: 'dumb' }))).toBe('  * a    done')
  })

  it('holds nothing that a terminal would act on', () => {
    const hostile = thing(`a${ESC}[2J`, { state: `x\u202E`, note: `${ESC}]0;t\u0007n\r\nm` })
    expect(shownLine(hostile, { name: 4, state: 4, time: 0 }, PLAIN_LOOK)).toBe('  ● a    x     n m')
  })
})

it('measures plain text as it measures any other', () => {
  const plain = 'a line of plain text, 1 to 9: {~}'
  expect(columnsOf(plain)).toBe(plain.length)
  expect(columnsOf(`${plain}图`)).toBe(plain.length + 2)
})
