/** The real DeepSeek adapter on `ctx.llm`, and a server whose streams are written by hand. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DeepSeekAdapter, resolveAdapterOptions } from '@deepseek-ai/dsh-llm-deepseek'
import { onTestFinished } from 'vitest'
import { bootTwo, type RoutingHost } from './routing-host.ts'

const anonymous = 'routing-test' as ReturnType<
  ConstructorParameters<typeof DeepSeekAdapter>[0]['resolveUserId']
>

/** A host whose route `deepseek-official` leads to a server. */
export async function bootDeepSeek(baseURL: string): Promise<RoutingHost> {
  const host = await bootTwo([])
  const connection = resolveAdapterOptions({ baseURL, streamIdleTimeoutMs: 5000 })
  const adapter = new DeepSeekAdapter({
    options: () => connection,
    resolveApiKey: () => Promise.resolve('mock'),
    resolveUserId: () => anonymous,
  })
  host.ctx.get('llm')?.registerAdapter(['deepseek-official'], adapter)
  return host
}

/** A body that the server writes as it is, cut into pieces of a few bytes. */
export type RawStream = (index: number) => string

/** Serves each request the next stream. */
export async function startRawServer(streams: RawStream): Promise<string> {
  let index = 0
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const bytes = Buffer.from(streams(index++))
    for (let at = 0; at < bytes.length; at += 11) response.write(bytes.subarray(at, at + 11))
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** Deltas as the frames of a whole stream. */
export function streamOf(deltas: readonly object[], finish = 'tool_calls'): string {
  const frames = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }))
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, prompt_cache_hit_tokens: 2 }
  const end = { choices: [{ index: 0, delta: {}, finish_reason: finish }], usage }
  return [...frames, end].map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') + 'data: [DONE]\n\n'
}

/** Deltas of one tool call, its arguments as raw text. */
export function callDeltas(name: string, text: string, id: string | null = 'call_w'): object[] {
  const head = { index: 0, type: 'function', function: { name, arguments: '' } }
  return [
    { role: 'assistant', content: '' },
    { tool_calls: [id === null ? head : { ...head, id }] },
    ...(text.match(/[^]{1,4}/gu) ?? []).map((part) => ({
      tool_calls: [{ index: 0, function: { arguments: part } }],
    })),
  ]
}
