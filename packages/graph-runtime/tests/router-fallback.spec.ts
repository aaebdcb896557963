import { LlmError } from '@deepseek-ai/dsh-llm'
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, GraphRoutingModelError, type GraphValidationContext } from '../src/index.ts'
import { createAgent, define } from './host.ts'
import { bootRoutingAgents, bootTwo, calls, failureOf } from './routing-host.ts'

const words = { text: 'Hello!' }

function tool(extra: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name: 'my_tool',
    description: 'd',
    parameters: { type: 'object', properties: {} },
    output: { schema: {}, render: () => [] },
    execute: () => Promise.resolve('ran'),
    ...extra,
  }
}

describe('an answer in words', () => {
  it('runs the fallback at once and marks the outcome; others have no such key (R111)', async () => {
    const host = await bootTwo([words, calls('search_graph')])
    const router = host.router()
    const outcome = await router.route({ input: 'x' })
    expect(outcome).toMatchObject({ fallback: true, args: {} })
    expect(outcome.attempts).toMatchObject([{ outcome: 'no-tool', text: 'Hello!', calls: 0 }])
    expect(host.requests).toHaveLength(1)
    expect(await router.route({ input: 'x' })).not.toHaveProperty('fallback')
  })

  it('on a retry is the fallback as well (R111)', async () => {
    const host = await bootTwo([calls('nope'), words])
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({
      fallback: true,
      attempts: [{ outcome: 'rejected' }, { outcome: 'no-tool' }],
    })
  })

  it('runs graph_routing_fallback, which takes and gives nothing, unless told otherwise (R112)', async () => {
    const host = await bootTwo([words])
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({ tool: 'graph_routing_fallback', args: {}, result: {} })
    expect(outcome.result).toEqual({})
    expect(host.requests[0]?.tools?.map(({ name }) => name)).not.toContain('graph_routing_fallback')
  })
})

describe('a fallback', () => {
  it('may be a DSH tool, called with no arguments (R113)', async () => {
    const execute = vi.fn((_args: unknown, exec: { signal: AbortSignal; name: string }) =>
      Promise.resolve({ aborted: exec.signal.aborted, name: exec.name }),
    )
    const host = await bootTwo([words])
    const fallback = tool({ execute })
    const outcome = await host.router({ fallback }).route({ input: 'x' })
    expect(outcome).toMatchObject({
      tool: 'my_tool',
      args: {},
      result: { aborted: false, name: 'my_tool' },
      fallback: true,
    })
    expect(execute.mock.calls[0]?.[0]).toEqual({})
  })

  it('may be a tool made by defineTool that uses all of its context (R113)', async () => {
    const host = await bootRoutingAgents([words])
    host.graph({ name: 'some' })
    const agent = await createAgent(host.ctx)
    const fallback = defineTool({
      name: 'made',
      description: 'd',
      parameters: {},
      output: { schema: { type: 'string' }, render: () => [] },
      execute: async (_args, exec) => {
        exec.concludeTurn()
        return String(exec.agent === agent && exec.callId === exec.rootCallId)
      },
    })
    expect(await host.router({ fallback }).route({ input: 'x', agent })).toMatchObject({ result: 'true' })
  })

  it('may be a graph definition, published or not, that is mounted nowhere (R113)', async () => {
    const contexts: GraphValidationContext[] = []
    const build = vi.fn(() => ({ invoke: async (input: unknown) => ({ input }) }))
    const options = {
      parameters: {},
      build,
      validate: (_input: unknown, context: GraphValidationContext) => void contexts.push(context),
    }
    const host = await bootTwo([words, words, words])
    const router = host.router({ fallback: createGraphDefinition({ name: 'spare', ...options }) })
    expect(await router.route({ input: 'hello' })).toMatchObject({
      tool: 'spare',
      result: { input: {} },
      fallback: true,
    })
    expect(await router.route({ input: 'again' })).toMatchObject({ tool: 'spare' })
    expect(build).toHaveBeenCalledTimes(1)
    expect(contexts).toEqual([
      { tool: 'spare', request: 'hello' },
      { tool: 'spare', request: 'again' },
    ])
    const published = define({ name: 'spare', asGraphTool: false, ...options })
    expect(await host.router({ fallback: published }).route({ input: 'x' })).toMatchObject({ tool: 'spare' })
  })

  it('that is a graph tells listeners how it gets on, as any graph', async () => {
    const host = await bootTwo([words])
    const told: unknown[] = []
    host.ctx.on('graphTools/progress', ({ tool: name, phase }) => void told.push([name, phase]))
    const build = () => ({ invoke: async () => 1 })
    const fallback = createGraphDefinition({ name: 'spare', parameters: {}, build })
    await host.router({ fallback }).route({ input: 'x' })
    expect(told).toEqual([
      ['spare', 'start'],
      ['spare', 'end'],
    ])
  })

  it('whose schema does not take an empty object fails as such (R113)', async () => {
    const host = await bootTwo([words, words])
    const topic = { topic: { type: 'string', required: true } } as const
    const graph = createGraphDefinition({
      name: 'g',
      parameters: topic,
      build: () => ({ invoke: async () => 1 }),
    })
    const parameters = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] }
    for (const fallback of [graph, tool({ parameters })]) {
      expect(await failureOf(host.router({ fallback }).route({ input: 'x' }))).toMatchObject({
        code: 'INVALID_ARGS',
      })
    }
  })

  it('fails as itself, and its value has to be JSON', async () => {
    const failure = new Error('no way out')
    const host = await bootTwo([words, words])
    const failing = host.router({ fallback: tool({ execute: () => Promise.reject(failure) }) })
    expect(await failureOf(failing.route({ input: 'x' }))).toBe(failure)
    const lossy = host.router({ fallback: tool({ execute: () => Promise.resolve(new Date(0)) }) })
    expect(await failureOf(lossy.route({ input: 'x' }))).toMatchObject({ code: 'GRAPH_RESULT' })
  })

  it('keeps its own time budget', async () => {
    const execute: ToolDefinition['execute'] = (_args, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      })
    const host = await bootTwo([words])
    const router = host.router({ fallback: tool({ execute, timeoutMs: 5 }) })
    expect(await failureOf(router.route({ input: 'x' }))).toMatchObject({
      code: 'GRAPH_TIMEOUT',
      graph: 'my_tool',
    })
  })

  it('that is no tool and no valid definition is a configuration error', async () => {
    const host = await bootTwo([])
    const invalid = define({ name: 'not a name', build: () => ({ invoke: async () => 1 }) })
    for (const fallback of [invalid, { name: 'x' }, 'x', null, { execute: () => 1 }]) {
      expect(() => host.router({ fallback: fallback as never })).toThrow(/fallback/)
    }
  })

  it('passes neither of the routing events (R114)', async () => {
    const host = await bootTwo([words])
    const seen = vi.fn()
    host.ctx.on('graphTools/pre-execute', (_execution, next) => (seen(), next()))
    host.ctx.on('graphTools/post-execute', (_execution, _outcome, next) => (seen(), next()))
    await host.router().route({ input: 'x' })
    expect(seen).not.toHaveBeenCalled()
  })
})

describe('a failed model call', () => {
  it('is the provider’s failure, not the absence of a choice, and is not retried (R116)', async () => {
    const failure = { message: 'slow down', code: 'RATE_LIMIT', status: 429, providerRetryAfterMs: 100 }
    const usage = { inputTokens: 4, outputTokens: 0 }
    const host = await bootTwo([
      { ...calls('nope'), usage },
      { failure, usage },
    ])
    const fallback = vi.fn(() => Promise.resolve(1))
    const error = await failureOf(
      host.router({ fallback: tool({ execute: fallback }) }).route({ input: 'x' }),
    )
    expect(error).toBeInstanceOf(GraphRoutingModelError)
    expect(error).toBeInstanceOf(LlmError)
    expect(error).toMatchObject({
      message: 'slow down',
      code: 'RATE_LIMIT',
      failure,
      finish: 'error',
      usage: { inputTokens: 8, outputTokens: 0 },
      attempts: [{ rejection: 'UNKNOWN_TOOL' }],
    })
    expect(fallback).not.toHaveBeenCalled()
    expect(host.requests).toHaveLength(2)
  })

  it('counts even when it had called a tool before it failed (R116)', async () => {
    const host = await bootTwo([
      { ...calls('search_graph'), failure: { message: 'gone', code: 'TRANSPORT' } },
    ])
    expect(await failureOf(host.router().route({ input: 'x' }))).toMatchObject({ code: 'TRANSPORT' })
  })

  it('is told even when the adapter reports nonsense, or there is none (R116)', async () => {
    const host = await bootTwo([{ failure: { message: '', code: '', status: 7, providerRetryAfterMs: -1 } }])
    expect(await failureOf(host.router().route({ input: 'x' }))).toMatchObject({
      code: 'UNKNOWN',
      message: 'the model call failed',
    })
    expect(await failureOf(host.router({ provider: 'nobody' }).route({ input: 'x' }))).toMatchObject({
      code: 'NO_ADAPTER',
    })
  })

  it('passes on what a listener of llm/stream throws (R116)', async () => {
    const host = await bootTwo([])
    const failure = new Error('no')
    host.ctx.on('llm/stream', () => {
      throw failure
    })
    expect(await failureOf(host.router().route({ input: 'x' }))).toBe(failure)
  })
})
