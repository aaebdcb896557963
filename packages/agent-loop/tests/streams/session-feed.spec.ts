import { describe, expect, it } from 'vitest'
import { SessionFeed } from '../../src/streams/session-feed.ts'

describe('the feed of a session', () => {
  it('names each run once that its subscriber does not read yet', () => {
    const feed = new SessionFeed('s', ['known'])
    for (const runId of ['known', 'a', 'b', 'a']) feed.add(runId)
    expect(feed.take()).toEqual(['a', 'b'])
    expect(feed.take()).toEqual([])
    feed.forget('a')
    feed.add('a')
    expect(feed.take()).toEqual(['a'])
  })

  it('does not grow without end for a subscriber that never looks', () => {
    const feed = new SessionFeed('s', [])
    for (let index = 0; index < 10_000; index += 1) feed.add(`run ${index}`)
    expect(feed.take()).toHaveLength(10_000)
    for (let index = 0; index <= 10_000; index += 1) feed.add(`later ${index}`)
    expect(() => feed.take()).toThrow(expect.objectContaining({ code: 'lagging' }))
  })
})
