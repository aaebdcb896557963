import { describe, expect, it } from 'vitest'
import { MAX_DELAY_MS } from '../src/clock.ts'
import { NamedTimers } from '../src/run-timers.ts'
import { ManualClock } from './support/manual-clock.ts'

/** Counts what is set, and keeps each delay. */
class CountingClock extends ManualClock {
  readonly delays: number[] = []

  override after(delayMs: number, callback: () => void): () => void {
    this.delays.push(delayMs)
    return super.after(delayMs, callback)
  }
}

function timersOn(clock: CountingClock) {
  const fired: string[] = []
  const timers = new NamedTimers(clock)
  const set = (name: string, inMs: number): void =>
    timers.at(name, clock.now() + inMs, () => void fired.push(`${name} after ${inMs}`))
  return { timers, fired, set }
}

describe('a named timer', () => {
  it('is replaced when it is set again, and gone once it has fired', () => {
    const clock = new CountingClock()
    const { timers, fired, set } = timersOn(clock)
    set('a', 10)
    set('a', 20)
    set('b', 10)
    clock.advance(10)
    expect([fired, timers.has('a'), timers.has('b')]).toEqual([['b after 10'], true, false])
    clock.advance(10)
    expect([fired, timers.has('a'), clock.pending]).toEqual([['b after 10', 'a after 20'], false, 0])
  })

  it('fires at once, but not synchronously, for a moment that is past', () => {
    const clock = new CountingClock()
    const { fired, set } = timersOn(clock)
    set('a', -5)
    expect([fired, clock.delays]).toEqual([[], [0]])
    clock.advance(0)
    expect(fired).toEqual(['a after -5'])
  })

  it('waits in steps for a moment further away than a timer reaches', () => {
    const clock = new CountingClock()
    const { fired, set } = timersOn(clock)
    set('a', 2 * MAX_DELAY_MS + 7)
    clock.advance(MAX_DELAY_MS)
    clock.advance(MAX_DELAY_MS)
    clock.advance(6)
    expect([fired, clock.delays]).toEqual([[], [MAX_DELAY_MS, MAX_DELAY_MS, 7]])
    clock.advance(1)
    expect(fired).toHaveLength(1)
  })

  it('does not fire once it is cleared, alone or with all others', () => {
    const clock = new CountingClock()
    const { timers, fired, set } = timersOn(clock)
    for (const name of ['a', 'b', 'c']) set(name, 10)
    timers.clear('a')
    timers.clear('none')
    expect([timers.has('a'), timers.has('b'), clock.pending]).toEqual([false, true, 2])
    timers.clearAll()
    expect([timers.has('b'), clock.pending]).toEqual([false, 0])
    clock.advance(20)
    expect(fired).toEqual([])
  })
})
