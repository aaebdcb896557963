/**
 * The schemas as they reach a provider: through the DeepSeek adapter of DSH and through its other
 * adapter in the shapes of OpenAI and Anthropic, to servers on 127.0.0.1.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Context } from '@deepseek-ai/cordis'
import * as deepSeek from '@deepseek-ai/dsh-llm-deepseek'
import { createUserMessage, type ToolSchema } from '@deepseek-ai/dsh-llm'
import * as piAi from '@deepseek-ai/dsh-llm-pi-ai'
import { scopeOf } from '@deepseek-ai/dsh-scope'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startMockLlm } from '../../../tests/support/mock-llm.ts'
import { GRAPH_TOOLS } from '../src/index.ts'
import { bootDsh, makeAgent, mountTools, onEnd } from './host.ts'

const KEY = 'GRAPH_WIRE_TEST_KEY'

beforeEach(() => {
  process.env[KEY] = 'mock'
})
afterEach(() => {
  delete process.env[KEY]
})

/** Keeps what it is asked and answers nothing of use. */
async function startRecorder(): Promise<{ url: string; bodies: Record<string, unknown>[] }> {
  const bodies: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      bodies.push(JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>)
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"recorded"}}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies }
}

async function openSession(): Promise<{ ctx: Context; tools: ToolSchema[] }> {
  const ctx = await bootDsh()
  await mountTools(ctx)
  const root = await makeAgent(ctx, 'root')
  const tools = ctx.tools.schemas(scopeOf(root.ctx)).filter((tool) => GRAPH_TOOLS.has(tool.name))
  expect(tools).toHaveLength(3)
  return { ctx, tools }
}

async function ask(ctx: Context, provider: string, model: string, tools: ToolSchema[]): Promise<void> {
  const messages = [createUserMessage({ content: [{ type: 'text', text: 'Go.' }], source: { kind: 'user' } })]
  for await (const _chunk of ctx.llm.stream({ provider, model, messages, tools })) continue
}

/** What every provider takes, and nothing else. */
const KEYWORDS = new Set([
  'type',
  'description',
  'properties',
  'required',
  'items',
  'enum',
  'additionalProperties',
])

interface Node {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly items?: Node
  readonly enum?: readonly unknown[]
}

/** Everything in a schema that one of the providers might refuse. */
function faults(node: Node, at: string): string[] {
  const { type, properties, required = [], items } = node
  const found = Object.keys(node).flatMap((key) => (KEYWORDS.has(key) ? [] : [`${at}: ${key}`]))
  if (!['object', 'array', 'string', 'integer', 'boolean'].includes(String(type)))
    found.push(`${at}: type ${type}`)
  if (type === 'array' && items === undefined) found.push(`${at}: a list of nothing`)
  if ((node.enum ?? []).some((value) => typeof value !== 'string')) found.push(`${at}: enum`)
  for (const name of required) if (properties?.[name] === undefined) found.push(`${at}: required ${name}`)
  return [
    ...found,
    ...Object.entries(properties ?? {}).flatMap(([name, inner]) => faults(inner, `${at}.${name}`)),
    ...(items === undefined ? [] : faults(items, `${at}[]`)),
  ]
}

function expectSchemas(
  sent: readonly { name: string; schema: unknown }[],
  tools: readonly ToolSchema[],
): void {
  expect(sent.map(({ name }) => name).sort()).toEqual([...GRAPH_TOOLS].sort())
  for (const { name, schema } of sent) {
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/u)
    expect(schema).toMatchObject({ type: 'object' })
    expect(faults(schema as Node, name)).toEqual([])
    const own = tools.find((tool) => tool.name === name)?.parameters as Node
    expect(Object.keys((schema as Node).properties ?? {})).toEqual(Object.keys(own.properties ?? {}))
  }
}

interface FunctionTool {
  readonly type: string
  readonly function: { readonly name: string; readonly description: string; readonly parameters: unknown }
}

const sentFunctions = (tools: readonly FunctionTool[]) =>
  tools.map((tool) => ({ name: tool.function.name, schema: tool.function.parameters }))

describe('the schemas on the wire', () => {
  it('reach DeepSeek as they are', async () => {
    const { ctx, tools } = await openSession()
    await using llm = await startMockLlm(() => ({ text: 'Gone.' }))
    await ctx.plugin(deepSeek, { apiKeyEnv: KEY, baseURL: llm.baseUrl })
    await ask(ctx, 'deepseek-official', 'deepseek-v4-flash', tools)
    expect(llm.failures).toEqual([])
    const [request] = llm.requests
    const sent = request?.body.tools as unknown as FunctionTool[]
    expectSchemas(sentFunctions(sent), tools)
    for (const tool of sent)
      expect(tool.function.parameters).toEqual(
        tools.find(({ name }) => name === tool.function.name)?.parameters,
      )
  })

  it('reach an OpenAI-like server through the other adapter', async () => {
    const { ctx, tools } = await openSession()
    await using llm = await startMockLlm(() => ({ text: 'Gone.' }))
    await ctx.plugin(piAi, { providers: { gateway: route('openai-completions', llm.baseUrl) } })
    await ask(ctx, 'gateway', 'any', tools)
    expect(llm.failures).toEqual([])
    expectSchemas(sentFunctions(llm.requests[0]?.body.tools as unknown as FunctionTool[]), tools)
  })

  it('reach the shape of OpenAI responses', async () => {
    const { ctx, tools } = await openSession()
    const recorder = await startRecorder()
    await ctx.plugin(piAi, { providers: { gateway: route('openai-responses', `${recorder.url}/v1`) } })
    await ask(ctx, 'gateway', 'any', tools)
    const sent = recorder.bodies[0]?.['tools'] as { type: string; name: string; parameters: unknown }[]
    expect(sent.map(({ type }) => type)).toEqual(['function', 'function', 'function'])
    expectSchemas(
      sent.map(({ name, parameters }) => ({ name, schema: parameters })),
      tools,
    )
  })

  it('reach the shape of Anthropic messages', async () => {
    const { ctx, tools } = await openSession()
    const recorder = await startRecorder()
    await ctx.plugin(piAi, { providers: { gateway: route('anthropic-messages', recorder.url) } })
    await ask(ctx, 'gateway', 'any', tools)
    const sent = recorder.bodies[0]?.['tools'] as { name: string; input_schema: unknown }[]
    expect(sent).toHaveLength(3)
    expectSchemas(
      sent.map(({ name, input_schema }) => ({ name, schema: input_schema })),
      tools,
    )
  })
})

function route(api: string, baseURL: string) {
  return {
    displayName: 'Gateway',
    apiKeyEnv: KEY,
    api,
    baseURL,
    retryPolicy: { mode: 'normal' as const, maxRetries: 0 },
    models: [{ id: 'any', name: 'Any', contextWindow: 65_536, maxTokens: 4_096 }],
  }
}
