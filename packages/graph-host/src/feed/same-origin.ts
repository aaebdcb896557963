/**
 * The fence of what this package registers on DSH's web server, which fences only its own channels.
 * The rule is that of DSH: no other site's page may reach a server on this machine.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Whether a request comes from a page of the very server it goes to, or from no page at all. */
export function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const { host, origin } = headers
  if (host === undefined || headers['sec-fetch-site'] === 'cross-site') return false
  try {
    const own = new URL(`http://${host}`)
    // A page always names its origin when it opens a socket; what names none is no page.
    return origin === undefined || new URL(origin).host === own.host
  } catch {
    return false
  }
}

const TICKET_MS = 30_000
/** A page asks for one ticket a connection; more than this at once is no page. */
const TICKETS = 256

/**
 * Tickets for the socket. One is had only through DSH's RPC, which answers nobody but hosts that the
 * deployment trusts: a page that reached this server under a foreign name has none, and a socket
 * under a trusted name beyond the loopback needs no list of those names here.
 */
export class Tickets {
  private readonly open = new Map<string, number>()
  private readonly now: () => number

  constructor(now: () => number = Date.now) {
    this.now = now
  }

  /** Good for one use within half a minute. */
  issue(): string {
    const at = this.now()
    for (const [ticket, expiresAt] of this.open)
      if (expiresAt <= at || this.open.size >= TICKETS) this.open.delete(ticket)
    const ticket = randomBytes(32).toString('base64url')
    this.open.set(ticket, at + TICKET_MS)
    return ticket
  }

  redeem(ticket: string | null): boolean {
    if (ticket === null) return false
    const expiresAt = this.open.get(ticket)
    this.open.delete(ticket)
    return expiresAt !== undefined && expiresAt > this.now()
  }
}
