/** The page's calls to the host, one function each. */
import type { FeedCalls, FeedEndpoint } from '../src/feed/wire.ts'

export const CHANNEL = '/dsh-graph-host'

export type Desk = <E extends FeedEndpoint>(
  endpoint: E,
  ask: FeedCalls[E]['ask'],
) => Promise<FeedCalls[E]['answer']>

/** As DSH's connection answers. */
interface RpcResult {
  readonly ok: boolean
  readonly value?: unknown
  readonly error?: { readonly message: string }
}

export type Call = (channel: string, endpoint: string, payload: unknown) => Promise<RpcResult>

/** Rejects with the host's words for a call that it refuses. */
export function deskOf(call: Call): Desk {
  return async (endpoint, ask) => {
    const result = await call(CHANNEL, endpoint, ask)
    if (!result.ok) throw new Error(result.error?.message ?? 'the host refused')
    // The channel is our own, and so is the host half that answers.
    return result.value as never
  }
}

/** A name for one click, so that a call that is sent twice is done once. */
export function freshClick(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
