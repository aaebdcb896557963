/**
 * DSH's unary RPC on the wire, so that a page calls us as it calls DSH: `{ type: 'client-request', rpcId,
 * method, payload }`, answered by `{ type: 'server-response', rpcId, result }`.
 *
 * DSH's error codes are a closed set and its client refuses others. Our own code is in `details.code`.
 */
import { z } from 'zod'
import { AgentLoopError } from '../errors.ts'

const requestSchema = z.object({
  type: z.literal('client-request'),
  rpcId: z.string().min(1).max(256),
  method: z.string(),
  payload: z.unknown(),
})

export type RpcRequest = z.infer<typeof requestSchema>

export function readRpcRequest(text: string): RpcRequest | undefined {
  try {
    const parsed = requestSchema.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

export function rpcValue(rpcId: string, value: unknown): object {
  return { type: 'server-response', rpcId, result: { ok: true, value: value ?? null } }
}

export function rpcFailure(rpcId: string, error: unknown): object {
  const { code, message } = problemOf(error)
  return {
    type: 'server-response',
    rpcId,
    result: {
      ok: false,
      error: { code: DSH_CODES[code] ?? 'bad-request', message, details: detailsOf(error) },
    },
  }
}

const DSH_CODES: Readonly<Record<string, string>> = {
  busy: 'agent-busy',
  draining: 'agent-busy',
  'session-not-found': 'session-not-found',
  aborted: 'cancelled',
  closed: 'internal',
  internal: 'internal',
  unavailable: 'internal',
}

/** Code and text of a failure. What is no refusal is told without its inside. */
export function problemOf(error: unknown): { readonly code: string; readonly message: string } {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && error.name === 'AbortError') return { code: 'aborted', message }
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return { code: typeof code === 'string' ? code : 'internal', message }
}

function detailsOf(error: unknown): object {
  const { code, message } = problemOf(error)
  const retryAfterMs = error instanceof AgentLoopError ? error.retryAfterMs : undefined
  return {
    code,
    issues: [],
    reason: message,
    sessionId: '',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}
