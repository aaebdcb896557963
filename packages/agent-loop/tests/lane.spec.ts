import { describe, expect, it } from 'vitest'
import { Lane } from '../src/lane.ts'

describe('a lane', () => {
  it('hands out one run at a time, first in, first out', () => {
    const lane = new Lane('s', false)
    for (const runId of ['a', 'b', 'c']) lane.enqueue(runId)
    expect(lane.take()).toBe('a')
    expect(lane.take()).toBeUndefined()
    expect(lane.snapshot()).toEqual({ sessionId: 's', running: 'a', queued: ['b', 'c'] })
    lane.finish('a')
    expect(lane.take()).toBe('b')
  })

  it('keeps the place of a run that is enqueued again', () => {
    const lane = new Lane('s', false)
    for (const runId of ['a', 'b', 'a']) lane.enqueue(runId)
    expect(lane.snapshot().queued).toEqual(['a', 'b'])
    lane.take()
    lane.enqueue('a')
    expect(lane.snapshot()).toEqual({ sessionId: 's', running: 'a', queued: ['b'] })
  })

  it('hands out nothing while it is held', () => {
    const lane = new Lane('s', true)
    lane.enqueue('a')
    expect(lane.take()).toBeUndefined()
    lane.held = false
    expect(lane.take()).toBe('a')
  })

  it('gives up a waiting run and not the running one', () => {
    const lane = new Lane('s', false)
    for (const runId of ['a', 'b']) lane.enqueue(runId)
    lane.take()
    expect(lane.remove('a')).toBe(false)
    expect(lane.remove('b')).toBe(true)
    expect(lane.remove('b')).toBe(false)
    lane.finish('b')
    expect(lane.running).toBe('a')
    lane.finish('a')
    expect(lane.isEmpty).toBe(true)
  })
})
