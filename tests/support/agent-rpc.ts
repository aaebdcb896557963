/** The calls of the agent-loop host over HTTP, as a page of the server makes them. */
import { request as httpRequest } from 'node:http'

export interface RpcAnswer {
  readonly status: number
  readonly result?: {
    readonly ok: boolean
    readonly value?: unknown
    readonly error?: { readonly code: string }
  }
}

/** @param headers in place of those of the page. */
export function agentRpc(
  url: string,
  method: string,
  payload: object,
  headers: Readonly<Record<string, string>> = { origin: url, 'sec-fetch-site': 'same-origin' },
): Promise<RpcAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const call = httpRequest(
      {
        hostname,
        port,
        path: `/agent-loop/${method}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (more: string) => (text += more))
        response.on('end', () => {
          const { result } = JSON.parse(text) as Pick<RpcAnswer, 'result'>
          resolve({ status: response.statusCode ?? 0, ...(result === undefined ? {} : { result }) })
        })
      },
    )
    call.on('error', reject)
    call.end(JSON.stringify({ type: 'client-request', rpcId: 'r', method, payload }))
  })
}

/** @throws when the call is refused. */
export async function agentCall<T>(url: string, method: string, payload: object): Promise<T> {
  const { result } = await agentRpc(url, method, payload)
  if (result?.ok !== true) throw new Error(`${method}: ${JSON.stringify(result)}`)
  return result.value as T
}
