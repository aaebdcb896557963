/**
 * Who may come in through the web server: programs of this machine, and the page that this server itself
 * serves. Whoever else a browser lets speak, and whatever name was made to lead to this port, is refused.
 *
 * DSH has no login, so this does not tell one local program from another; a call that changes something
 * has to show the token, which only the same user can read, unless it comes from the page.
 */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface Caller {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

export type Admission =
  /** `mayChange`: from the page itself, or with the token. */
  | { readonly kind: 'admitted'; readonly mayChange: boolean }
  | { readonly kind: 'refused'; readonly why: string }

export function admit({ headers, socket }: Caller, token: string): Admission {
  if (!isLoopbackAddress(socket.remoteAddress)) return refused('this door is for this machine only')
  const host = authorityOf(headers.host)
  if (host === undefined || !isLoopbackName(host.hostname)) return refused('this name is not this machine')
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return refused('another page asks')
  const { origin } = headers
  if (origin !== undefined && origin !== `http://${host.host}` && origin !== `https://${host.host}`) {
    return refused('another page asks')
  }
  const isPage = origin !== undefined && site !== 'none'
  return { kind: 'admitted', mayChange: isPage || isToken(headers.authorization, token) }
}

function refused(why: string): Admission {
  return { kind: 'refused', why }
}

function authorityOf(host: string | undefined): URL | undefined {
  if (host === undefined || !/^[A-Za-z0-9.:[\]-]+$/u.test(host)) return undefined
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined
}

function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || isLoopbackV4(hostname)
}

function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false
  return address === '::1' || isLoopbackV4(address.replace(/^::ffff:/u, ''))
}

function isLoopbackV4(address: string): boolean {
  return /^127(?:\.\d{1,3}){3}$/u.test(address)
}

/** In the same time for every wrong one. */
function isToken(authorization: string | undefined, token: string): boolean {
  const given = Buffer.from(authorization ?? '')
  const wanted = Buffer.from(`Bearer ${token}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
