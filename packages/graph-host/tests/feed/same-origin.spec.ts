import { describe, expect, it } from 'vitest'
import { isSameOrigin, Tickets } from '../../src/feed/same-origin.ts'

describe('the fence of the socket', () => {
  const host = '127.0.0.1:8180'

  it('lets pages of the same server in', () => {
    expect(isSameOrigin({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(true)
    expect(isSameOrigin({ host: 'box.lan:80', origin: 'http://box.lan' })).toBe(true)
  })

  it.each([
    ['another site', { host, origin: 'https://evil.example' }],
    ['another port', { host, origin: 'http://127.0.0.1:9' }],
    ['a page without an origin', { host, origin: 'null' }],
    ['a request that the browser calls cross-site', { host, 'sec-fetch-site': 'cross-site' }],
    ['a request without a host', { origin: `http://${host}` }],
    ['a host that is none', { host: 'a b', origin: 'http://a b' }],
  ])('keeps %s out', (_, headers) => {
    expect(isSameOrigin(headers)).toBe(false)
  })
})

describe('a ticket', () => {
  it('is good once', () => {
    const tickets = new Tickets()
    const ticket = tickets.issue()
    expect(tickets.redeem(ticket)).toBe(true)
    expect(tickets.redeem(ticket)).toBe(false)
  })

  it('is good for half a minute', () => {
    let now = 1_000
    const tickets = new Tickets(() => now)
    const [early, late] = [tickets.issue(), tickets.issue()]
    now += 29_999
    expect(tickets.redeem(early)).toBe(true)
    now += 1
    expect(tickets.redeem(late)).toBe(false)
  })

  it('cannot be guessed or left out', () => {
    const tickets = new Tickets()
    const issued = Array.from({ length: 50 }, () => tickets.issue())
    expect(new Set(issued).size).toBe(50)
    expect(issued.every((ticket) => ticket.length === 43)).toBe(true)
    for (const nothing of [null, '', issued[0]?.slice(1) ?? '']) expect(tickets.redeem(nothing)).toBe(false)
  })

  it('is taken from the oldest when very many are out', () => {
    const tickets = new Tickets()
    const first = tickets.issue()
    const rest = Array.from({ length: 256 }, () => tickets.issue())
    expect(tickets.redeem(first)).toBe(false)
    expect(tickets.redeem(rest.at(-1) ?? null)).toBe(true)
  })
})
