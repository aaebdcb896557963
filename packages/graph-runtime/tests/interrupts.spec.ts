import { getEventListeners } from 'node:events'
import { isJsonValue } from '@deepseek-ai/dsh-session'
import {
  Annotation,
  Command,
  entrypoint,
  interrupt,
  MemorySaver,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import {
  createGraphDefinition,
  createGraphTool,
  type GraphInterruptedError,
  type GraphDefinitionOptions,
  type GraphLike,
} from '../src/index.ts'
import { topicOnly } from './graphs.ts'
import { bootAgents, bootGraphs, createAgent, define, errorOf, valueOf, type Host } from './host.ts'
import { answering, loadQuestions, type Asked } from './person.ts'
import { z, type Schema } from './zod.ts'

const State = Annotation.Root({
  input: Annotation<unknown>,
  a: Annotation<unknown>,
  b: Annotation<unknown>,
})

/** A graph with a memory that asks one question and keeps the answer. */
const asks = (value: unknown, schema?: Schema) => () =>
  new StateGraph(State)
    .addNode('ask', () => ({ a: interrupt(value, schema && { responseSchema: schema as never }) }))
    .addEdge(START, 'ask')
    .compile({ checkpointer: new MemorySaver() })

interface Setup extends Partial<GraphDefinitionOptions> {
  readonly build: () => GraphLike
  readonly host?: Host
}

async function mounted({ host: given, ...options }: Setup) {
  const host = given ?? (await bootGraphs())
  const definition = createGraphDefinition({
    name: 'g',
    description: 'd',
    parameters: { input: { type: 'json' } },
    asTool: true,
    ephemeralThread: true,
    ...options,
  })
  const entry = host.graphTools().mount(definition, host.ctx)
  return { host, entry, call: (options_ = {}) => host.call('g', { input: 1 }, options_) }
}

/** Asks one question and gives what the person saw and what the graph went on with. */
async function answered(value: unknown, pick: Parameters<typeof answering>[0], schema?: Schema) {
  const { host, call } = await mounted({ build: asks(value, schema) })
  const { asked, answer } = answering(pick)
  await loadQuestions(host.ctx, answer)
  const state = valueOf(await call()) as { a: unknown }
  return { asked, answer: state.a, question: asked[0]?.questions[0] }
}

describe('a question of a graph', () => {
  it('goes to the person, and the graph goes on with the answer', async () => {
    const { question, answer, asked } = await answered('Sail on?', () => ({ custom: 'aye' }))
    expect(question).toEqual({ id: expect.any(String), header: 'g', question: 'Sail on?' })
    expect(asked[0]?.signal).toBeInstanceOf(AbortSignal)
    expect(answer).toBe('aye')
  })

  it('carries the calling agent', async () => {
    const host = await bootAgents()
    const agent = await createAgent(host.ctx)
    const { asked, answer } = answering(() => ({ custom: 'aye' }))
    await loadQuestions(host.ctx, answer)
    const { call } = await mounted({ build: asks('Sail on?'), host })
    valueOf(await call({ agent }))
    expect(asked[0]?.agent).toBe(agent)
  })

  it('is put into words from the payload, the rest of it beside', async () => {
    const options = ['Yes', { label: 'No', description: 'stay', value: false }]
    const { question, answer } = await answered({ question: 'Sail on?', options, wind: 7 }, () => 'No')
    expect(question).toMatchObject({
      question: 'Sail on?',
      detail: JSON.stringify({ wind: 7 }, null, 2),
      options: [{ label: 'Yes' }, { label: 'No', description: 'stay' }],
    })
    expect(answer).toBe(false)
    const opaque = await answered({ wind: 7 }, () => ({ custom: 'x' }))
    expect(opaque.question?.question).toBe(JSON.stringify({ wind: 7 }, null, 2))
    expect((await answered('', () => ({ custom: 'x' }))).question?.question).toBe(
      'The graph asks for an answer.',
    )
    expect((await answered('x'.repeat(9000), () => ({ custom: 'x' }))).question?.question.length).toBe(4001)
  })

  it.each([
    ['a boolean', z.boolean(), 'Yes', true, ['Yes', 'No']],
    ['an enum', z.enum(['red', 'blue']), 'blue', 'blue', ['red', 'blue']],
    ['numbers', z.union([z.literal(1), z.literal(2)]), '2', 2, ['1', '2']],
    ['a nullable boolean', z.boolean().nullable(), 'None', null, ['Yes', 'No', 'None']],
    ['a whole number', z.number().int(), { custom: '42' }, 42, undefined],
    ['a text', z.string(), { custom: '42' }, '42', undefined],
    ['an object', z.object({ n: z.number() }), { custom: '{"n":1}' }, { n: 1 }, undefined],
    ['a list of choices', z.array(z.enum(['a', 'b'])), ['a', 'b'], ['a', 'b'], ['a', 'b']],
    ['any JSON', z.any(), { custom: 'free' }, 'free', undefined],
  ])('is typed by the schema of its answer: %s', async (_, schema, picked, expected, labels) => {
    const { question, answer } = await answered('?', () => picked as string, schema)
    expect(answer).toEqual(expected)
    expect(question?.options?.map(({ label }) => label)).toEqual(labels)
    expect(question?.multiSelect).toBe(Array.isArray(picked) ? true : undefined)
  })

  it('says what form the answer has, where nothing is there to choose from', async () => {
    const number = await answered('?', () => ({ custom: '3' }), z.number().int().min(1))
    expect(number.question?.detail).toBe('Answer with a whole number. (at least 1)')
    const object = await answered('?', () => ({ custom: '{"n":1}' }), z.object({ n: z.number() }))
    expect(object.question?.detail).toMatch(/^Answer with JSON that fits this schema:\n\{/)
  })

  it.each([
    ['lists', (value: unknown) => [value]],
    ['objects', (value: unknown) => ({ a: value })],
  ])('may be nested in 100,000 %s, for the error and for the person', async (_of, wrap) => {
    let value: unknown = 'deep down'
    for (let depth = 0; depth < 100_000; depth++) value = wrap(value)
    // A memory of LangGraph cannot keep such a thing; an object of one's own can.
    const invoke = async (input: unknown) =>
      input instanceof Command ? { input: 'gone on' } : { __interrupt__: [{ id: 'q', value }] }
    const build = () => ({ invoke, lg_is_pregel: true, checkpointer: new MemorySaver() })
    const { host, call } = await mounted({ build })
    const { code, message } = errorOf(await call())
    expect(code).toBe('GRAPH_INTERRUPTED')
    expect(message.length).toBeLessThan(3_000)
    const { asked, answer } = answering(() => ({ custom: 'aye' }))
    await loadQuestions(host.ctx, answer)
    expect(valueOf(await call())).toEqual({ input: 'gone on' })
    expect(asked[0]?.questions[0]?.question.length).toBeLessThan(5_000)
  })

  it('is told to programs with the schema of its answer, as plain JSON', async () => {
    const { entry } = await mounted({ build: asks('n?', z.number()) })
    const error = (await entry
      .run({ input: 1 }, {})
      .catch((thrown: unknown) => thrown)) as GraphInterruptedError
    expect(error.interrupts).toEqual([
      { id: expect.any(String), value: 'n?', responseSchema: expect.objectContaining({ type: 'number' }) },
    ])
    expect(isJsonValue(error.interrupts)).toBe(true)
  })

  it('is asked again with the reason when the answer does not fit its schema', async () => {
    const { asked, answer } = await answered(
      'How many?',
      (_, round) => ({ custom: ['many', '"7"', '7'][round - 1] ?? '' }),
      z.number().int(),
    )
    expect(answer).toBe(7)
    expect(asked.map(({ questions }) => questions[0]?.detail?.split('\n')[0])).toEqual([
      'Answer with a whole number.',
      'The last answer was refused: it must be a whole number',
      'The last answer was refused: "answer" must be an integer',
    ])
  })

  it('is asked again when only the graph’s own schema refuses the answer', async () => {
    const { asked, answer } = await answered(
      'Name?',
      (_, round) => ({ custom: round === 1 ? 'x' : 'xyz' }),
      z.string().min(3),
    )
    expect(answer).toBe('xyz')
    expect(asked[1]?.questions[0]?.detail).toMatch(/^The last answer was refused: .*3/)
  })

  it('is asked no more often than the author allows', async () => {
    const { host, call } = await mounted({ build: asks('n?', z.number()), questionRounds: 2 })
    const { asked, answer } = answering(() => ({ custom: 'never' }))
    await loadQuestions(host.ctx, answer)
    expect(errorOf(await call()).message).toContain('it was asked 2 times in this call; raise questionRounds')
    expect(asked).toHaveLength(2)
  })

  it('takes a label that nobody offered for free text', async () => {
    const { asked, answer } = await answered(
      '?',
      (_, round) => (round === 1 ? 'green' : 'red'),
      z.enum(['red']),
    )
    expect(answer).toBe('red')
    expect(asked).toHaveLength(2)
  })
})

describe('several questions', () => {
  const both = (checkpointer = new MemorySaver()) =>
    new StateGraph(State)
      .addNode('left', () => ({ a: interrupt('left?') }))
      .addNode('right', () => ({ b: interrupt('right?') }))
      .addEdge(START, 'left')
      .addEdge(START, 'right')
      .compile({ checkpointer })

  it('of one round are asked together and answered by their ids, in whatever order (4.5 row 40)', async () => {
    const { host, call } = await mounted({ build: both })
    const asked: Asked[] = []
    await loadQuestions(host.ctx, (request) => {
      asked.push(request)
      const answers = request.questions.map(({ id, question }) => ({
        id,
        selected: [],
        custom: `to ${question}`,
      }))
      return { answers: answers.toReversed() }
    })
    expect(valueOf(await call())).toEqual({ input: 1, a: 'to left?', b: 'to right?' })
    expect(asked).toHaveLength(1)
    expect(asked[0]?.questions.map(({ question }) => question)).toEqual(['left?', 'right?'])
  })

  it('of one node come one after the other, in a subgraph too, and the outer node runs once (4.5 row 41)', async () => {
    let outer = 0
    const inner = new StateGraph(State)
      .addNode('ask', () => ({ a: interrupt('first?'), b: interrupt('second?') }))
      .addEdge(START, 'ask')
      .compile()
    const build = () =>
      new StateGraph(State)
        .addNode('before', () => ((outer += 1), {}))
        .addNode('inner', inner)
        .addEdge(START, 'before')
        .addEdge('before', 'inner')
        .compile({ checkpointer: new MemorySaver() })
    const { host, call } = await mounted({ build })
    const { asked, answer } = answering(({ question }) => ({ custom: `to ${question}` }))
    await loadQuestions(host.ctx, answer)
    expect(valueOf(await call())).toMatchObject({ a: 'to first?', b: 'to second?' })
    expect(asked.map(({ questions }) => questions.length)).toEqual([1, 1])
    expect(outer).toBe(1)
  })

  it('with the same id are refused, since no answer could be routed', async () => {
    const build = () => ({
      lg_is_pregel: true,
      checkpointer: {},
      invoke: async () => ({
        __interrupt__: [
          { id: 'x', value: 1 },
          { id: 'x', value: 2 },
        ],
      }),
    })
    const { host, call } = await mounted({ build, threadId: 't', ephemeralThread: false })
    await loadQuestions(host.ctx, answering(() => 'x').answer)
    expect(errorOf(await call()).message).toContain('its questions have no ids of their own')
  })

  it('work for an entrypoint too', async () => {
    const build = () =>
      entrypoint({ name: 'flow', checkpointer: new MemorySaver() }, async () => ({ got: interrupt('well?') }))
    const { host, call } = await mounted({ build })
    await loadQuestions(host.ctx, answering(() => ({ custom: 'yes' })).answer)
    expect(valueOf(await call())).toEqual({ got: 'yes' })
  })
})

describe('without an answer', () => {
  it.each([
    [
      'a checkpointer',
      { build: () => asking },
      'compile it with a checkpointer and give its definition a threadId',
    ],
    [
      'ctx.userQuestions',
      { build: asks('hm?') },
      'there is no ctx.userQuestions; load a plugin that provides it',
    ],
    [
      'a memory that LangGraph knows',
      { build: () => ({ invoke: async () => ({ __interrupt__: [{ value: 'hm?' }] }) }) },
      'compile it with a checkpointer',
    ],
  ])('for lack of %s the error says so (4.5 row 37)', async (_, setup, text) => {
    const { call } = await mounted(setup)
    const { code, message } = errorOf(await call())
    expect(code).toBe('GRAPH_INTERRUPTED')
    expect(message).toContain('stopped to ask and did not finish: ')
    expect(message).toContain(text)
  })

  const asking = new StateGraph(State).addNode('ask', () => ({ a: interrupt('hm?') })).addEdge(START, 'ask')

  it('for lack of a thread the error says so', async () => {
    const { call } = await mounted({ build: asks('hm?'), ephemeralThread: false, inherit: true })
    const { message } = errorOf(await call())
    expect(message).toMatch(/threadId|thread_id/)
  })

  it('for lack of anybody to answer the error says so', async () => {
    const { host, call } = await mounted({ build: asks('hm?') })
    await loadQuestions(host.ctx)
    expect(errorOf(await call()).message).toContain('nobody is there to answer: no user-questions provider')
  })

  it('of a child agent the error sends the question to its parent', async () => {
    const host = await bootAgents()
    const parent = await createAgent(host.ctx)
    const child = await createAgent(parent.ctx)
    await loadQuestions(host.ctx, answering(() => 'x').answer)
    const { call } = await mounted({ build: asks('hm?'), host })
    const { code, message } = errorOf(await call({ agent: child }))
    expect(code).toBe('GRAPH_INTERRUPTED')
    expect(message).toContain('put the question into its final result')
  })

  it.each([
    ['skips it', () => ({ answers: [{ id: 'other', selected: [] }] }), 'the person left it unanswered'],
    ['answers nonsense', () => 'nonsense', 'the person left it unanswered'],
    [
      'closes it',
      () => {
        throw Object.assign(new Error('closed'), { code: 'ASK_ABORTED' })
      },
      'the question was closed without an answer',
    ],
    [
      'breaks down',
      () => {
        throw new Error('socket gone')
      },
      'asking a person failed, see the cause',
    ],
  ])('since the person %s, the error says so', async (_, answer, text) => {
    const { host, call, entry } = await mounted({ build: asks('hm?') })
    await loadQuestions(host.ctx, answer as () => never)
    expect(errorOf(await call()).message).toContain(text)
    await expect(entry.run({ input: 1 }, {})).rejects.toMatchObject({ interrupts: [{ value: 'hm?' }] })
  })

  it('a graph that was converted by hand asks through the calling agent', async () => {
    const host = await bootAgents()
    const agent = await createAgent(host.ctx)
    await loadQuestions(host.ctx, answering(() => ({ custom: 'aye' })).answer)
    const tool = createGraphTool(asks('hm?')(), {
      name: 'made',
      parameters: topicOnly,
      ephemeralThread: true,
    })
    host.ctx.get('tools')?.register(tool)
    expect(valueOf(await host.call('made', { topic: 'x' }, { agent }))).toMatchObject({ a: 'aye' })
    expect(errorOf(await host.call('made', { topic: 'x' })).message).toContain(
      'there is no ctx.userQuestions',
    )
  })
})

describe('an abort while the person thinks', () => {
  it('ends the call at once and leaves nothing behind (R71) (R72)', async () => {
    const saver = new MemorySaver()
    const controller = new AbortController()
    const build = () =>
      new StateGraph(State)
        .addNode('ask', () => ({ a: interrupt('hm?') }))
        .addEdge(START, 'ask')
        .compile({ checkpointer: saver })
    const { host, entry } = await mounted({ build })
    const asked: Asked[] = []
    await loadQuestions(host.ctx, (request) => {
      asked.push(request)
      controller.abort(new Error('enough'))
      // A user interface that never answers, nor heeds the abort.
      return new Promise<never>(() => undefined)
    })
    await expect(entry.run({ input: 1 }, { signal: controller.signal })).rejects.toThrow('enough')
    expect(asked[0]?.signal?.aborted).toBe(true)
    expect(asked[0]?.signal && getEventListeners(asked[0].signal, 'abort')).toEqual([])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect([saver.storage, saver.writes]).toEqual([{}, {}])
  })

  it('by the time budget is a timeout (R48)', async () => {
    const { host, call } = await mounted({ build: asks('hm?'), timeoutMs: 20 })
    await loadQuestions(host.ctx, () => new Promise<never>(() => undefined))
    expect(errorOf(await call()).code).toBe('GRAPH_TIMEOUT')
  })

  it('by unmounting settles the call (R89)', async () => {
    const { host, entry } = await mounted({ build: asks('hm?') })
    const asked = vi.fn(() => new Promise<never>(() => undefined))
    await loadQuestions(host.ctx, asked)
    const call = entry.run({ input: 1 }, {})
    const failure = call.catch((error: unknown) => error)
    await vi.waitFor(() => expect(asked).toHaveBeenCalled())
    await entry.dispose()
    expect(await failure).toMatchObject({ code: 'GRAPH_UNMOUNTED' })
  })

  it('lets the next call on the same thread begin anew', async () => {
    const host = await bootGraphs()
    let patient = false
    await loadQuestions(host.ctx, (request) => {
      if (!patient) throw new Error('not now')
      return { answers: request.questions.map(({ id }) => ({ id, selected: [], custom: 'aye' })) }
    })
    define({
      name: 'g',
      parameters: { input: { type: 'json' } },
      asTool: true,
      threadId: 'one',
      build: asks('hm?'),
    })
    expect((await host.call('g', { input: 1 })).isError).toBe(true)
    patient = true
    expect(valueOf(await host.call('g', { input: 2 }))).toEqual({ input: 2, a: 'aye' })
  })
})
