import { describe, expect, it, onTestFinished } from 'vitest'
import { startMockLlm, type MockAnswer, type MockLlm } from '../../../tests/support/mock-llm.ts'
import type { GraphRoutingConfig } from '../src/index.ts'
import { failureOf } from './routing-host.ts'
import { bootDeepSeek, callDeltas, startRawServer, streamOf } from './routing-wire.ts'

const deepseek: GraphRoutingConfig = { provider: 'deepseek-official', model: 'deepseek-v4-flash' }

async function bootWire(answers: readonly MockAnswer[]) {
  const server: MockLlm = await startMockLlm(({ index }) => answers[index] ?? { fault: 418 })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const host = await bootDeepSeek(server.baseUrl)
  return {
    server,
    host,
    router: (config: Partial<GraphRoutingConfig> = {}) => host.router({ ...deepseek, ...config }),
  }
}

const call = (name: string, args: object): MockAnswer => ({ toolCalls: [{ name, arguments: args }] })

describe('through the DeepSeek adapter, over the wire', () => {
  it('a choice arrives in fragments and runs (R101) (R103)', async () => {
    const { server, router } = await bootWire([call('echo_graph', { topic: 'ein "Stück" Moos 🌿' })])
    const outcome = await router().route({ input: 'echo it' })
    expect(outcome).toMatchObject({ tool: 'echo_graph', args: { topic: 'ein "Stück" Moos 🌿' } })
    expect(outcome.usage.inputTokens).toBeGreaterThan(0)
    const body = server.requests[0]?.body
    expect(server.requests[0]?.toolNames).toEqual(['echo_graph', 'search_graph'])
    expect(body).toMatchObject({ model: 'deepseek-v4-flash', stream: true })
    expect(body).not.toHaveProperty('tool_choice')
    expect(body?.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    for (const { function: schema } of body?.tools ?? []) {
      expect(schema.parameters).toMatchObject({ type: 'object', properties: expect.any(Object) as object })
    }
    expect(server.failures).toEqual([])
  })

  it('a retry answers every call right behind it (R105) (R117)', async () => {
    const several: MockAnswer = {
      text: 'Both.',
      toolCalls: [
        { name: 'echo', arguments: {} },
        { name: 'search_graph', arguments: {} },
      ],
    }
    const { server, router } = await bootWire([
      several,
      call('echo_graph', { topic: 1 }),
      call('search_graph', {}),
    ])
    const outcome = await router().route({ input: 'x' })
    expect(outcome.attempts.map(({ rejection }) => rejection)).toEqual([
      'UNKNOWN_TOOL',
      'INVALID_ARGS',
      undefined,
    ])
    const messages = server.requests[2]?.body.messages ?? []
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'tool',
    ])
    expect(messages[2]?.tool_calls?.map(({ id }) => id)).toEqual([
      messages[3]?.tool_call_id,
      messages[4]?.tool_call_id,
    ])
    expect(messages[3]?.content).toContain('did you mean "echo_graph"?')
    expect(messages[5]?.tool_calls?.[0]?.function).toEqual({ name: 'echo_graph', arguments: '{"topic":1}' })
  })

  it('words are the fallback (R111)', async () => {
    const { server, router } = await bootWire([{ text: 'I cannot help with that.' }])
    expect(await router().route({ input: 'x' })).toMatchObject({
      fallback: true,
      tool: 'graph_routing_fallback',
    })
    expect(server.requests).toHaveLength(1)
  })

  it('HTTP faults and a connection that breaks are the provider’s failures (R116)', async () => {
    const faults: [MockAnswer, object][] = [
      [{ fault: 429 }, { code: 'RATE_LIMIT', failure: { status: 429 } }],
      [{ fault: 500 }, { code: 'SERVER', failure: { status: 500 } }],
      [{ ...call('search_graph', {}), fault: 'disconnect' }, { code: 'TRANSPORT' }],
    ]
    for (const [answer, expected] of faults) {
      const { server, router } = await bootWire([answer])
      expect(await failureOf(router().route({ input: 'x' }))).toMatchObject({
        name: 'GraphRoutingModelError',
        finish: 'error',
        ...expected,
      })
      expect(server.requests).toHaveLength(1)
    }
  })

  it('an abort reaches the provider (R115)', async () => {
    const controller = new AbortController()
    const server = await startMockLlm(async () => {
      controller.abort(new Error('enough'))
      return { text: 'too late' }
    })
    onTestFinished(() => server[Symbol.asyncDispose]())
    const host = await bootDeepSeek(server.baseUrl)
    const routed = host.router(deepseek).route({ input: 'x', signal: controller.signal })
    await expect(routed).rejects.toThrow('enough')
  })

  it('broken streams are the provider’s failures, and empty ones too (R116)', async () => {
    const streams: [string, string][] = [
      ['data: {"choices": [\n\n', 'MALFORMED_RESPONSE'],
      [streamOf(callDeltas('search_graph', '{}')).replace('data: [DONE]\n\n', ''), 'STREAM_CLOSED'],
      [streamOf([{ role: 'assistant', content: '' }], 'stop'), 'EMPTY_RESPONSE'],
      [streamOf([{ content: 'no' }], 'content_filter'), 'CONTENT_FILTER'],
    ]
    for (const [stream, code] of streams) {
      const host = await bootDeepSeek(await startRawServer(() => stream))
      expect(await failureOf(host.router(deepseek).route({ input: 'x' }))).toMatchObject({ code })
    }
  })

  it('known faults of its arguments are undone without a word (4.7 row 52)', async () => {
    const texts = [
      '{"arguments":{"topic":"moss"}}',
      '"{\\"topic\\":\\"moss\\"}"',
      '{"input":"{\\"topic\\":\\"moss\\"}"}',
    ]
    for (const text of texts) {
      const host = await bootDeepSeek(await startRawServer(() => streamOf(callDeltas('echo_graph', text))))
      const outcome = await host.router(deepseek).route({ input: 'x' })
      expect(outcome).toMatchObject({
        args: { topic: 'moss' },
        usage: { inputTokens: 5, outputTokens: 3, cacheReadTokens: 2 },
      })
    }
  })

  it('broken arguments, a cut off call, and one without an id are asked for again (R104)', async () => {
    const streams = [
      streamOf(callDeltas('echo_graph', '{"topic":"mo', null)),
      streamOf(callDeltas('echo_graph', '{"topic":"mo', null), 'length'),
      streamOf(callDeltas('echo_graph', '{"topic":"moss"}')),
    ]
    const host = await bootDeepSeek(await startRawServer((index) => streams[index] ?? ''))
    const outcome = await host.router(deepseek).route({ input: 'x' })
    expect(outcome.attempts.map(({ rejection, finish }) => [rejection, finish])).toEqual([
      ['INVALID_JSON', 'tool-calls'],
      ['INVALID_JSON', 'max-tokens'],
      [undefined, 'tool-calls'],
    ])
  })

  it('finish reasons without calls are one call and the fallback (4.7 row 56)', async () => {
    const host = await bootDeepSeek(
      await startRawServer(() => streamOf([{ role: 'assistant', content: '' }])),
    )
    expect(await host.router(deepseek).route({ input: 'x' })).toMatchObject({ fallback: true })
  })
})
