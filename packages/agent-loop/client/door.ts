/**
 * The calls of the page: DSH's unary RPC through the host's own door, `POST /agent-loop/<call>`. The page
 * is of the same origin, which is what lets it change something without a token.
 */
import type { QueuedItem } from '../src/queue-types.ts'
import type { LaneMetrics, LaneSnapshot } from '../src/types.ts'

export interface LanesReport {
  readonly lanes: readonly LaneSnapshot[]
  readonly metrics: readonly LaneMetrics[]
}

/** Each rejects with the host's words. */
export interface LanesDoor {
  lanes(signal: AbortSignal): Promise<LanesReport>
  queue(sessionId: string, signal: AbortSignal): Promise<readonly QueuedItem[]>
  /** Whether it was still waiting. */
  cancel(runId: string): Promise<boolean>
  /** With what was there to abort. */
  abort(runId: string): Promise<unknown>
}

const ABORT_CAUSE = 'a person aborted it on the page of lanes'

export function lanesDoor(fetcher: typeof fetch): LanesDoor {
  const call = async <T>(method: string, payload: object, signal?: AbortSignal): Promise<T> => {
    const body = { type: 'client-request', rpcId: crypto.randomUUID(), method, payload }
    const response = await fetcher(`/agent-loop/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })
    // A server without this host answers in its own way.
    const answer = (await response.json().catch(() => ({}))) as Answer<T>
    if (answer.result?.ok === true) return answer.result.value
    throw new Error(answer.result?.error.message ?? answer.error ?? `the host answered ${response.status}`)
  }
  return {
    lanes: (signal) => call('lanes', {}, signal),
    queue: (sessionId, signal) => call('queue.list', { sessionId }, signal),
    cancel: (runId) => call('queue.cancel', { runId }),
    abort: (runId) => call('agent.abort', { runId, cause: ABORT_CAUSE }),
  }
}

interface Answer<T> {
  readonly result?:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: { readonly message: string } }
  /** Of a caller that did not get in. */
  readonly error?: string
}
