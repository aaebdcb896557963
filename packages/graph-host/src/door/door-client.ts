/** A call through the door of a running host. */
import type { RunningHost } from './run-file.ts'

export type DoorAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } }

const CALL_MS = 15_000
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** @throws Error when the host does not answer; a refusal is an answer. */
export async function callHost(host: RunningHost, operation: string, args: object): Promise<DoorAnswer> {
  const { request } = await import('node:http')
  const body = JSON.stringify(args)
  const text = await new Promise<string>((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: host.port,
        path: `/v1/${operation}`,
        method: 'POST',
        agent: false,
        timeout: CALL_MS,
        headers: {
          authorization: `Bearer ${host.token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        let bytes = 0
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > MAX_ANSWER_BYTES) return void call.destroy(new Error('its answer is too large'))
          chunks.push(chunk)
        })
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
        response.on('error', reject)
      },
    )
    call.on('timeout', () => call.destroy(new Error(`no answer within ${CALL_MS} ms`)))
    call.on('error', reject)
    call.end(body)
  })
  const answer = JSON.parse(text) as DoorAnswer
  if (answer.ok !== true && answer.ok !== false) throw new Error('its answer cannot be read')
  return answer
}
