import { isJsonValue } from '@deepseek-ai/dsh-session'
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it } from 'vitest'
import {
  createGraphDefinition,
  GraphOutputError,
  type GraphCallContext,
  type GraphDefinitionOptions,
} from '../src/index.ts'
import { plainMessages } from '../src/messages.ts'
import { resultText } from '../src/result-text.ts'
import { endingWith } from './graphs.ts'
import { bootAgents, bootGraphs, createAgent, errorOf, valueOf } from './host.ts'

async function outcome(value: unknown, options: Partial<GraphDefinitionOptions> = {}) {
  const host = await bootGraphs()
  const definition = createGraphDefinition({
    name: 'g',
    description: 'd',
    parameters: { input: { type: 'json' } },
    asTool: true,
    build: () => ({ invoke: async () => value }),
    ...options,
  })
  const entry = host.graphTools().mount(definition, host.ctx)
  return { entry, result: await host.call('g', { input: 1 }) }
}

const textOf = (result: { content: readonly { type: string; text?: string }[] }) =>
  result.content[0]?.text ?? ''

describe('output', () => {
  it('makes the result out of the state as the graph left it, and may be async', async () => {
    const when = new Date(0)
    const output = async (state: unknown) => ({ year: (state as { when: Date }).when.getUTCFullYear() })
    const { result } = await outcome({ when }, { output })
    expect(valueOf(result)).toEqual({ year: 1970 })
    expect(textOf(result)).toBe('{\n  "year": 1970\n}')
  })

  it('is told what the call was', async () => {
    const host = await bootAgents()
    const agent = await createAgent(host.ctx)
    const seen: GraphCallContext[] = []
    const definition = createGraphDefinition({
      name: 'g',
      build: () => ({ invoke: async () => 1 }),
      output: (_state, context) => (seen.push(context), 1),
    })
    const entry = host.graphTools().mount(definition, host.ctx)
    await entry.run({ input: 1 }, { request: 'please', agent })
    await entry.run({ input: 1 }, {})
    expect(seen).toEqual([{ tool: 'g', request: 'please', agent, sessionId: agent.id }, { tool: 'g' }])
  })

  it('has its product checked like any state, and its errors passed on as they are (R73) (R74)', async () => {
    expect(errorOf((await outcome(1, { output: () => new Map() })).result)).toMatchObject({
      code: 'GRAPH_RESULT',
      message: expect.stringContaining('result is an instance of Map'),
    })
    const failure = new TypeError('no such key')
    const { entry } = await outcome(1, {
      output: () => {
        throw failure
      },
    })
    await expect(entry.run({ input: 1 }, {})).rejects.toBe(failure)
  })
})

describe('resultKeys', () => {
  it('keep these keys of the state, those that are there', async () => {
    const state = { keep: 1, drop: new Map(), __proto__: { also: 2 } }
    expect(valueOf((await outcome(state, { resultKeys: ['keep', 'also', 'missing'] })).result)).toEqual({
      keep: 1,
    })
  })

  it.each([[5], [null], [[1]], ['text']])('need a state with keys, which %j is not', async (state) => {
    expect(errorOf((await outcome(state, { resultKeys: ['a'] })).result)).toMatchObject({
      code: 'GRAPH_RESULT',
      message: expect.stringContaining('resultKeys need a state with keys'),
    })
  })
})

describe('outputSchema', () => {
  const outputSchema = {
    type: 'object',
    additionalProperties: false,
    properties: { out: { type: 'number', required: true } },
  } as const

  it('is the tool’s output schema, and what fits it is the canonical value (R76)', async () => {
    const { entry, result } = await outcome({ out: 1 }, { outputSchema })
    expect(entry.tool.output.schema).toMatchObject({ type: 'object', required: ['out'] })
    expect(valueOf(result)).toEqual({ out: 1 })
  })

  it('refuses a result that breaks it, on every path, with each place', async () => {
    const { entry, result } = await outcome({ out: 'x', more: 1 }, { outputSchema })
    expect(errorOf(result)).toEqual({
      code: 'GRAPH_OUTPUT',
      message: expect.stringMatching(/its outputSchema does not allow: .*"result\.out" must be a number/),
    })
    const error = await entry.run({ input: 1 }, {}).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GraphOutputError)
    expect(error).toMatchObject({ violations: [expect.any(String), expect.any(String)] })
  })
})

describe('maxResultChars', () => {
  it('cuts the text for the model with a note, and leaves the value whole', async () => {
    const value = { text: 'x'.repeat(100) }
    const { result } = await outcome(value, { maxResultChars: 30 })
    const whole = JSON.stringify(value, null, 2)
    expect(textOf(result)).toBe(
      `${whole.slice(0, 30)}\n[truncated: the first 30 of ${whole.length} characters of the result]`,
    )
    expect(valueOf(result)).toEqual(value)
    expect(textOf((await outcome(value, { maxResultChars: whole.length })).result)).toBe(whole)
  })

  it('never halves a character', () => {
    expect(resultText('a😀b', 3)).toMatch(/^"a\n\[truncated: the first 2 of 6/)
  })
})

describe('a declaration of results', () => {
  it.each([
    [{ output: () => 1, resultKeys: ['a'] }, 'resultKeys and output both make the result'],
    [{ output: 'x' }, 'output must be a function'],
    [{ resultKeys: [] }, 'resultKeys must be a list of at least one key'],
    [{ resultKeys: ['a', 'a'] }, 'none of them twice'],
    [{ maxResultChars: 0 }, 'maxResultChars must be a whole number of at least 1'],
    [{ outputSchema: { type: 'date' } }, 'outputSchema: '],
    [{ questionRounds: 1.5 }, 'questionRounds must be a whole number'],
  ])('that makes no sense is refused: %j', (options, text) => {
    const build = () => ({ invoke: async () => 1 })
    expect(() => createGraphDefinition({ name: 'g', build, ...(options as object) })).toThrow(text)
  })
})

describe('messages in the state', () => {
  it('of every kind become plain objects', () => {
    const messages = [
      new SystemMessage('be brief'),
      new HumanMessage({ content: 'hi', name: 'ann', id: 'm1' }),
      new AIMessage({
        content: '',
        tool_calls: [{ id: 'c1', name: 'find', args: { q: 1 }, type: 'tool_call' }],
      }),
      new ToolMessage({ content: 'none', tool_call_id: 'c1', status: 'error', name: 'find' }),
      new ChatMessage('well', 'critic'),
      new AIMessageChunk('bye'),
      new HumanMessage({ content: [{ type: 'text', text: 'a' }] }),
    ]
    const plain = plainMessages({ messages })?.value
    expect(plain).toEqual({
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi', name: 'ann' },
        { role: 'assistant', content: '', tool_calls: [{ id: 'c1', name: 'find', args: { q: 1 } }] },
        { role: 'tool', content: 'none', name: 'find', tool_call_id: 'c1', status: 'error' },
        { role: 'critic', content: 'well' },
        { role: 'assistant', content: 'bye' },
        { role: 'user', content: [{ type: 'text', text: 'a' }] },
      ],
    })
    expect(isJsonValue(plain)).toBe(true)
  })

  it('are shown so without the author doing anything, and can be given back as input', async () => {
    const host = await bootGraphs()
    const build = () =>
      new StateGraph(MessagesAnnotation)
        .addNode('reply', ({ messages }) => ({
          messages: [new AIMessage(`re: ${String(messages.at(-1)?.content)}`)],
        }))
        .addEdge(START, 'reply')
    const definition = createGraphDefinition({ name: 'chat', build, asTool: true })
    host.graphTools().mount(definition, host.ctx)
    const first = valueOf(await host.call('chat', { input: { messages: [{ role: 'user', content: 'hi' }] } }))
    expect(first).toEqual({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 're: hi' },
      ],
    })
    const second = valueOf(await host.call('chat', { input: first }))
    expect((second as { messages: unknown[] }).messages.at(-1)).toEqual({
      role: 'assistant',
      content: 're: re: hi',
    })
  })

  it('wherever they are, with shared references and cycles left as they are', async () => {
    const message = new HumanMessage('hi')
    expect(valueOf((await outcome([message, { deep: message }])).result)).toEqual([
      { role: 'user', content: 'hi' },
      { deep: { role: 'user', content: 'hi' } },
    ])
    const ring: unknown[] = [message]
    ring.push(ring)
    expect(errorOf((await outcome(ring)).result).message).toContain('result[1] is a cycle back to result')
  })

  it('do not hide any other fault of the state', async () => {
    const message = new HumanMessage('hi')
    const marked = Object.assign([message], { extra: 1 })
    for (const [state, text] of [
      [{ message, when: new Date(0) }, 'result.when is an instance of Date'],
      [{ message, list: marked }, 'result.list is an array with the extra property "extra"'],
      [
        { message: new HumanMessage({ content: [{ type: 'x', n: 1n }] as never }) },
        'result.message.content[0].n is a BigInt',
      ],
    ] as const) {
      expect(errorOf((await outcome(state)).result).message).toContain(text)
    }
    expect(plainMessages({ when: new Date(0) })).toBeUndefined()
    expect(
      plainMessages({
        a: Object.defineProperty({}, 'b', { enumerable: true, get: () => JSON.parse('{') as unknown }),
      }),
    ).toBeUndefined()
  })

  it('cost nothing where there are none', async () => {
    const state = { out: [1] }
    const host = await bootGraphs()
    const entry = host.graphTools().register({ invoke: async () => state }, host.ctx, { name: 'g' })
    expect(await entry.run({ input: 1 }, {})).toBe(state)
  })

  it('go together with leaving undefined out', async () => {
    const state = { message: new HumanMessage('hi'), gone: undefined }
    expect(valueOf((await outcome(state, { undefinedValues: 'omit' })).result)).toEqual({
      message: { role: 'user', content: 'hi' },
    })
    expect(
      (await outcome(endingWith, { build: () => endingWith(() => new HumanMessage('x')) })).result.isError,
    ).toBe(false)
  })
})
