import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { HeadWatch } from '../src/head-watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A file in memory that others append to. */
function scriptedFile() {
  const rows: { stream: string; seq: number; position: number }[] = []
  const file = { version: 1, isLocked: false }
  const guard = <T>(value: T): T => {
    if (file.isLocked) throw new Error('locked')
    return value
  }
  const append = (stream: string) => {
    const seq = rows.filter((row) => row.stream === stream).length + 1
    rows.push({ stream, seq, position: rows.length + 1 })
    return { stream, seq, firstPosition: rows.length, lastPosition: rows.length }
  }
  const source = {
    version: () => guard(file.version),
    position: () => guard(rows.length),
    headsSince: (position: number) => guard(rows.slice(position)),
  }
  const foreignAppend = (stream: string) => {
    append(stream)
    file.version += 1
  }
  return { file, source, ownAppend: append, foreignAppend }
}

function setUp() {
  const script = scriptedFile()
  const watch = new HeadWatch(script.source, 250)
  const told: string[] = []
  const announce = (stream: string, seq: number) => void told.push(`${stream} ${seq}`)
  return { ...script, watch, told, announce }
}

describe('HeadWatch', () => {
  it('has a timer only while somebody watches', () => {
    const { watch, announce } = setUp()
    expect(vi.getTimerCount()).toBe(0)
    const first = watch.watch(announce)
    const second = watch.watch(() => undefined)
    expect(vi.getTimerCount()).toBe(1)
    first()
    expect(vi.getTimerCount()).toBe(1)
    second()
    expect(vi.getTimerCount()).toBe(0)
    watch.watch(announce)
    watch.stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('tells what others appended at the next poll, once', () => {
    const { watch, announce, told, foreignAppend } = setUp()
    foreignAppend('before')
    watch.watch(announce)
    foreignAppend('a')
    foreignAppend('b')
    expect(told).toEqual([])
    vi.advanceTimersByTime(250)
    expect(told).toEqual(['a 1', 'b 1'])
    vi.advanceTimersByTime(2500)
    expect(told).toEqual(['a 1', 'b 1'])
  })

  it('tells the same news later when the file is locked at a poll', () => {
    const { watch, announce, told, file, foreignAppend } = setUp()
    watch.watch(announce)
    foreignAppend('a')
    file.isLocked = true
    vi.advanceTimersByTime(250)
    expect(told).toEqual([])
    file.isLocked = false
    vi.advanceTimersByTime(250)
    expect(told).toEqual(['a 1'])
  })

  it('tells own appends at once, and before them what others appended meanwhile', () => {
    const { watch, announce, told, ownAppend, foreignAppend } = setUp()
    watch.watch(announce)
    watch.placed(ownAppend('own'))
    expect(told).toEqual(['own 1'])
    foreignAppend('other')
    watch.placed(ownAppend('own'))
    expect(told.slice(1, 3)).toEqual(['other 1', 'own 2'])
    told.length = 0
    vi.advanceTimersByTime(250)
    expect(told).toEqual([])
  })
})
