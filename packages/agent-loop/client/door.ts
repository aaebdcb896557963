/**
 * What the page asks the host: the lanes over a socket, `/agent-loop/lanes`, as long as it shows them, and
 * what a person orders by DSH's unary RPC, `POST /agent-loop/<call>`. The page is of the same origin, which is
 * what lets it in, and change something without a token.
 */
import type { LanesNews } from '../src/doors/lanes-news.ts'

export type { LanesNews }

export interface LanesListener {
  heard(news: LanesNews): void
  /** Once, also for a connection that never opened; then nothing more is told. */
  lost(reason: string): void
}

/** The calls reject with the host's words. */
export interface LanesDoor {
  /** @returns how to leave; nothing is told afterwards. */
  watch(sessionId: string, listener: LanesListener): () => void
  /** Whether it was still waiting. */
  cancel(runId: string): Promise<boolean>
  /** With what was there to abort. */
  abort(runId: string): Promise<unknown>
}

const ABORT_CAUSE = 'a person aborted it on the page of lanes'

/** The browser's, or a test's. */
export interface LanesNetwork {
  readonly fetch: typeof fetch
  /** @param path of the server that the page is from. */
  readonly socket: (path: string) => WebSocket
}

export function lanesDoor(network: LanesNetwork): LanesDoor {
  const call = async <T>(method: string, payload: object): Promise<T> => {
    const body = { type: 'client-request', rpcId: crypto.randomUUID(), method, payload }
    const response = await network.fetch(`/agent-loop/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // A server without this host answers in its own way.
    const answer = (await response.json().catch(() => ({}))) as Answer<T>
    if (answer.result?.ok === true) return answer.result.value
    throw new Error(answer.result?.error.message ?? answer.error ?? `the host answered ${response.status}`)
  }
  return {
    watch: (sessionId, listener) => {
      const socket = network.socket(`/agent-loop/lanes?sessionId=${encodeURIComponent(sessionId)}`)
      let isLeft = false
      let reason = 'the connection is gone'
      socket.addEventListener('message', ({ data }) => {
        if (isLeft) return
        const frame = JSON.parse(String(data)) as Frame
        if (frame.type === 'event') listener.heard(frame.event)
        else if (frame.type === 'error') reason = frame.error.message
      })
      socket.addEventListener('close', () => {
        if (isLeft) return
        isLeft = true
        listener.lost(reason)
      })
      return () => {
        isLeft = true
        socket.close()
      }
    },
    cancel: (runId) => call('queue.cancel', { runId }),
    abort: (runId) => call('agent.abort', { runId, cause: ABORT_CAUSE }),
  }
}

type Frame =
  | { readonly type: 'event'; readonly event: LanesNews }
  | { readonly type: 'end' }
  | { readonly type: 'error'; readonly error: { readonly message: string } }

interface Answer<T> {
  readonly result?:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: { readonly message: string } }
  /** Of a caller that did not get in. */
  readonly error?: string
}
