import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FeedClient, type Socket, type SocketListener } from '../../client/feed-client.ts'
import type { FeedMessage, PageMessage } from '../../src/feed/wire.ts'
import { card, head } from './large-graph.ts'

/** The far end of a connection. */
class Line implements Socket {
  readonly ticket: string
  readonly said: PageMessage[] = []
  isClosed = false
  private readonly listener: SocketListener

  constructor(ticket: string, listener: SocketListener) {
    this.ticket = ticket
    this.listener = listener
  }

  send(text: string): void {
    this.said.push(JSON.parse(text) as PageMessage)
  }

  close(): void {
    this.isClosed = true
    this.listener.closed()
  }

  opens(): void {
    this.listener.opened()
  }

  tells(message: FeedMessage): void {
    this.listener.heard(JSON.stringify(message))
  }
}

let lines: Line[]
let client: FeedClient
let tickets: number

beforeEach(() => {
  vi.useFakeTimers()
  lines = []
  tickets = 0
  client = new FeedClient({
    ticket: async () => `ticket-${++tickets}`,
    open: (ticket, listener) => {
      const line = new Line(ticket, listener)
      lines.push(line)
      return line
    },
  })
})

afterEach(() => {
  client.close()
  const left = vi.getTimerCount()
  vi.useRealTimers()
  if (left > 0) throw new Error(`${left} timers outlive the connection`)
})

async function connected(at = 0): Promise<Line> {
  await vi.advanceTimersByTimeAsync(0)
  const line = lines[at]
  if (line === undefined) throw new Error('nobody connected')
  line.opens()
  return line
}

function tellWhole(line: Line, key: number, seq: number): void {
  line.tells({ type: 'snapshot', key, head: head({ seq }) })
  line.tells({ type: 'works', key, head: head({ seq }), works: [card('a')], last: true })
}

describe('a page', () => {
  it('connects when something looks, once for all that look', async () => {
    expect(tickets).toBe(0)
    client.of('s').subscribe(() => undefined)
    client.of('s').subscribe(() => undefined)
    client.of('other').subscribe(() => undefined)
    const line = await connected()
    expect(lines).toHaveLength(1)
    expect(line.ticket).toBe('ticket-1')
    expect(line.said).toEqual([
      { type: 'watch', key: 1, sessionId: 's' },
      { type: 'watch', key: 2, sessionId: 'other' },
    ])
  })

  it('has one source for one name', () => {
    expect(client.of('s')).toBe(client.of('s'))
    expect(client.of('s', 'g')).not.toBe(client.of('s'))
  })

  it('tells each look what is its own', async () => {
    const [mine, other] = [client.of('s'), client.of('other')]
    mine.subscribe(() => undefined)
    other.subscribe(() => undefined)
    const line = await connected()
    tellWhole(line, 1, 5)
    line.tells({ type: 'none', key: 2 })
    line.tells({ type: 'none', key: 77 })
    expect(mine.getSnapshot().works.size).toBe(1)
    expect(other.getSnapshot().phase).toBe('none')
  })

  it('comes back by itself, later and later, and says what it has', async () => {
    const source = client.of('s')
    source.subscribe(() => undefined)
    tellWhole(await connected(), 1, 5)
    lines[0]?.close()
    expect(source.getSnapshot()).toMatchObject({ connected: false, phase: 'live' })
    expect(source.getSnapshot().works.size).toBe(1)
    await vi.advanceTimersByTimeAsync(499)
    expect(lines).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    lines[1]?.close()
    await vi.advanceTimersByTimeAsync(999)
    expect(lines).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    const line = await connected(2)
    expect(line.said).toEqual([{ type: 'watch', key: 1, sessionId: 's', have: { graphId: 'g', seq: 5 } }])
  })

  it('says that it has nothing when it lost the connection in the middle of a snapshot', async () => {
    client.of('s').subscribe(() => undefined)
    const line = await connected()
    tellWhole(line, 1, 5)
    line.tells({ type: 'snapshot', key: 1, head: head({ seq: 9 }) })
    line.close()
    await vi.advanceTimersByTimeAsync(500)
    expect((await connected(1)).said).toEqual([{ type: 'watch', key: 1, sessionId: 's' }])
  })

  it('gives the connection up a while after nothing looks any more', async () => {
    const leave = client.of('s').subscribe(() => undefined)
    const line = await connected()
    leave()
    expect(line.said.at(-1)).toEqual({ type: 'unwatch', key: 1 })
    await vi.advanceTimersByTimeAsync(4_999)
    expect(line.isClosed).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(line.isClosed).toBe(true)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lines).toHaveLength(1)
  })

  it('keeps it when something looks again', async () => {
    client.of('s').subscribe(() => undefined)()
    client.of('s').subscribe(() => undefined)
    const line = await connected()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(line.isClosed).toBe(false)
  })

  it('asks again for a ticket that it was not given', async () => {
    let isUp = false
    const other = new FeedClient({
      ticket: async () => {
        if (!isUp) throw new Error('the host is away')
        return 'late'
      },
      open: (ticket, listener) => {
        const line = new Line(ticket, listener)
        lines.push(line)
        return line
      },
    })
    other.of('s').subscribe(() => undefined)
    await vi.advanceTimersByTimeAsync(400)
    expect(lines).toHaveLength(0)
    isUp = true
    await vi.advanceTimersByTimeAsync(200)
    expect(lines.map(({ ticket }) => ticket)).toEqual(['late'])
    other.close()
  })
})
