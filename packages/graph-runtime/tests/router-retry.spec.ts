import { END, START, StateGraph, StateSchema } from '@langchain/langgraph'
import { describe, expect, it } from 'vitest'
import { GraphRoutingError } from '../src/index.ts'
import { bootRouting, bootTwo, calls, failureOf, type Said } from './routing-host.ts'

const good = calls('echo_graph', { topic: 'moss' })

describe('the validation chain', () => {
  it('sends each kind of wrong choice back with its reason, and runs the first right one (R104)', async () => {
    const host = await bootRouting([
      calls('ecko_graph', { topic: 'moss' }),
      calls('echo_graph', '{"topic": "mo'),
      calls('echo_graph', { topic: 3 }),
      calls('echo_graph', { topic: 'rock' }),
      good,
    ])
    const requests: unknown[] = []
    host.graph({
      name: 'echo_graph',
      parameters: { topic: { type: 'string', required: true } },
      validate: (input, { request }) => {
        requests.push(request)
        if (Reflect.get(input as object, 'topic') === 'rock') throw new Error('rocks do not echo')
        return true
      },
    })
    const outcome = await host.router({ maxRetries: 4 }).route({ input: 'echo it' })
    expect(outcome).toMatchObject({ tool: 'echo_graph', args: { topic: 'moss' } })
    expect(requests).toEqual(['echo it', 'echo it'])
    expect(outcome.attempts.map(({ outcome: verdict, rejection }) => rejection ?? verdict)).toEqual([
      'UNKNOWN_TOOL',
      'INVALID_JSON',
      'INVALID_ARGS',
      'GRAPH_VALIDATION',
      'ran',
    ])
    expect(host.told(4)).toEqual([
      'Error: tool "ecko_graph" does not exist; did you mean "echo_graph"? choose one of "echo_graph"',
      expect.stringMatching(
        /^Error: the arguments of "echo_graph" are not valid JSON: .*you sent: \{"topic": "mo$/s,
      ),
      expect.stringMatching(/^Error: invalid arguments: .*topic.*string/),
      'Error: rocks do not echo',
    ])
  })

  it('holds against a graph outside the filter as against one that is not there', async () => {
    const host = await bootTwo([good, calls('search_graph')])
    const outcome = await host.router({ filter: { deny: ['echo_graph'] } }).route({ input: 'x' })
    expect(outcome.attempts[0]).toMatchObject({ rejection: 'UNKNOWN_TOOL' })
    expect(host.told(1)[0]).not.toContain('choose one of "echo_graph"')
  })

  it('gives the model its own call and the reason to correct it by (R105)', async () => {
    const host = await bootTwo([
      { reasoning: 'Hm.', text: 'I try.', ...calls('echo_graph', { topic: 1 }) },
      good,
    ])
    await host.router().route({ input: 'x' })
    const [, answer, result] = host.requests[1]?.messages ?? []
    expect(answer).toMatchObject({
      role: 'assistant',
      source: { kind: 'model', provider: 'test', model: 'm' },
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'I try.' },
        { type: 'tool-call', id: 'r0-c0', name: 'echo_graph', arguments: '{"topic":1}' },
      ],
    })
    expect(result?.content).toMatchObject([{ type: 'tool-result', toolCallId: 'r0-c0', isError: true }])
    expect(host.told(1)[0]).toContain('topic')
  })

  it('keeps every earlier attempt in the conversation', async () => {
    const host = await bootTwo([calls('a'), calls('b'), good])
    await host.router().route({ input: 'x' })
    expect(host.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5])
  })

  it('takes arguments that are JSON but no object for a violation of the schema', async () => {
    const host = await bootTwo([
      calls('echo_graph', '[1]'),
      calls('echo_graph', 'null'),
      calls('echo_graph', '"x"'),
      good,
    ])
    const { attempts } = await host.router().route({ input: 'x' })
    expect(attempts.map(({ rejection }) => rejection)).toEqual([
      'INVALID_ARGS',
      'INVALID_ARGS',
      'INVALID_ARGS',
      undefined,
    ])
    expect(host.told(3)[0]).toMatch(/invalid arguments: .*object/)
  })

  it('rejects numbers that JSON text can hold and JSON values cannot', async () => {
    const host = await bootTwo([calls('search_graph', '{"n":1e999}'), calls('search_graph')])
    const { attempts } = await host.router().route({ input: 'x' })
    expect(attempts[0]).toMatchObject({ rejection: 'INVALID_ARGS' })
  })

  it('holds against the schema of a graph that is built only for the call (R104)', async () => {
    const atLeast3 = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          Number(value) >= 3 ? { value: Number(value) } : { issues: [{ message: 'at least 3' }] },
        jsonSchema: { input: () => ({ type: 'integer' }), output: () => ({ type: 'integer' }) },
      },
    }
    const host = await bootRouting([
      calls('count', { n: 1 }),
      calls('count', { n: 2 }),
      calls('count', { n: 3 }),
    ])
    host.graph({
      name: 'count',
      parameters: { n: { type: 'integer', required: true } },
      build: () =>
        new StateGraph(new StateSchema({ n: atLeast3 }))
          .addNode('end', () => ({}))
          .addEdge(START, 'end')
          .addEdge('end', END),
    })
    const { attempts, result } = await host.router().route({ input: 'x' })
    expect(attempts.map(({ rejection }) => rejection)).toEqual(['INVALID_ARGS', 'INVALID_ARGS', undefined])
    expect(host.told(2)).toEqual([
      'Error: invalid arguments: "n": at least 3',
      'Error: invalid arguments: "n": at least 3',
    ])
    expect(result).toEqual({ n: 3 })
  })

  it('refuses reserved overwrite objects as arguments', async () => {
    const host = await bootTwo([calls('search_graph', { log: { __overwrite__: [] } }), calls('search_graph')])
    const { attempts } = await host.router().route({ input: 'x' })
    expect(attempts[0]).toMatchObject({
      rejection: 'INVALID_ARGS',
      reason: expect.stringContaining('log') as string,
    })
  })
})

describe('the number of model calls', () => {
  it('is one more than maxRetries at most: three retries by default, none with 0 (R106)', async () => {
    for (const [maxRetries, expected] of [
      [undefined, 4],
      [0, 1],
      [2, 3],
    ] as const) {
      const host = await bootTwo(() => calls('nope'))
      const router = host.router(maxRetries === undefined ? {} : { maxRetries })
      await expect(router.route({ input: 'x' })).rejects.toThrow(GraphRoutingError)
      expect(host.requests).toHaveLength(expected)
    }
  })

  it('ends in an error with the last reason, all attempts and what they cost (R107)', async () => {
    const usage = { inputTokens: 5, outputTokens: 1 }
    const host = await bootTwo((_request, index) => ({
      ...(index < 2 ? calls('nope') : calls('echo_graph', {})),
      usage,
    }))
    const error = await failureOf(host.router({ maxRetries: 2 }).route({ input: 'x' }))
    expect(error).toBeInstanceOf(GraphRoutingError)
    expect(error).toMatchObject({
      name: 'GraphRoutingError',
      code: 'GRAPH_ROUTING',
      reason: expect.stringMatching(/^invalid arguments: .*topic/) as string,
      message: expect.stringMatching(/3 model calls.*invalid arguments/) as string,
      usage: { inputTokens: 15, outputTokens: 3 },
      cause: expect.objectContaining({ code: 'INVALID_ARGS' }) as object,
    })
    expect((error as GraphRoutingError).attempts).toHaveLength(3)
  })
})

describe('a graph that fails', () => {
  it('ends the routing with its own error and is not tried again (R108)', async () => {
    const failure = new RangeError('the tide came in')
    const host = await bootTwo([calls('failing')])
    host.graph({ name: 'failing', build: () => ({ invoke: () => Promise.reject(failure) }) })
    expect(await failureOf(host.router().route({ input: 'x' }))).toBe(failure)
    expect(host.requests).toHaveLength(1)
  })

  it('fails as itself when a graph inside it refuses its arguments (R108)', async () => {
    const host = await bootTwo([calls('outer'), calls('outer2')])
    host.graph({ name: 'picky', validate: () => 'not mine' })
    const inner = (args: unknown, name: string) => async () => host.graphTools().get(name)?.run(args, {})
    host.graph({ name: 'outer', build: () => ({ invoke: inner({}, 'picky') }) })
    host.graph({ name: 'outer2', build: () => ({ invoke: inner({}, 'echo_graph') }) })
    expect(await failureOf(host.router().route({ input: 'x' }))).toMatchObject({
      code: 'GRAPH_VALIDATION',
      graph: 'picky',
    })
    expect(await failureOf(host.router().route({ input: 'x' }))).toMatchObject({ code: 'INVALID_ARGS' })
    expect(host.requests).toHaveLength(2)
  })

  it('fails as itself whatever it throws (R108)', async () => {
    const hostile = Object.defineProperty(new Error('h'), 'code', {
      get() {
        throw new Error('no code for you')
      },
    })
    for (const thrown of [hostile, undefined, null, 'text', { code: 'INVALID_ARGS' }]) {
      const host = await bootRouting([calls('failing')])
      const reject = (): Promise<never> => Promise.reject(thrown as Error)
      host.graph({ name: 'failing', build: () => ({ invoke: reject }) })
      expect((await failureOf(host.router().route({ input: 'x' }))) === thrown).toBe(true)
    }
  })

  it('times out as itself', async () => {
    const host = await bootTwo([calls('slow')])
    const forever = (_input: unknown, config?: object) =>
      new Promise((_, reject) => {
        const { signal } = config as { signal: AbortSignal }
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      })
    host.graph({ name: 'slow', timeoutMs: 5, build: () => ({ invoke: forever }) })
    expect(await failureOf(host.router().route({ input: 'x' }))).toMatchObject({ code: 'GRAPH_TIMEOUT' })
  })
})

describe('an answer with several calls', () => {
  const both: Said = { calls: [{ name: 'search_graph' }, { name: 'echo_graph', arguments: { topic: 'x' } }] }

  it('runs the first; when that is rejected, every call gets a result (R117)', async () => {
    const wrong: Said = { calls: [{ name: 'nope' }, { name: 'search_graph' }, { name: 'echo_graph' }] }
    const host = await bootTwo([wrong, both])
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({ tool: 'search_graph' })
    expect(outcome.attempts.map((attempt) => attempt.calls)).toEqual([3, 2])
    expect(host.told(1)).toEqual([
      expect.stringContaining('"nope" does not exist'),
      'Error: not run: only one tool per routing round',
      'Error: not run: only one tool per routing round',
    ])
  })

  it('is sent back as a whole where the router says so', async () => {
    const host = await bootTwo([both, calls('search_graph')])
    const outcome = await host.router({ multiple: 'reject' }).route({ input: 'x' })
    expect(outcome.attempts[0]).toMatchObject({ rejection: 'MULTIPLE_CALLS', calls: 2 })
    expect(host.told(1)).toEqual(
      Array(2).fill('Error: call exactly one tool; this answer called 2, and none was run'),
    )
  })
})

describe('a graph that goes away while it is chosen', () => {
  it('does not exist any more for the choice, and the model chooses again (R119)', async () => {
    const host = await bootTwo((_request, index) => {
      if (index > 0) return calls('search_graph')
      host.graphTools().unregister('echo_graph')
      return good
    })
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({ tool: 'search_graph' })
    expect(host.told(1)).toEqual(['Error: tool "echo_graph" does not exist; choose one of "search_graph"'])
    expect(host.requests[1]?.tools?.map(({ name }) => name)).toEqual(['search_graph'])
  })

  it('does not exist any more when the gate took it off (R119)', async () => {
    const host = await bootTwo([good, calls('search_graph')])
    host.ctx.on('graphTools/pre-execute', (_execution, next) => {
      host.graphTools().unregister('echo_graph')
      return next()
    })
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome.attempts[0]).toMatchObject({ rejection: 'UNKNOWN_TOOL' })
  })

  it('ends the routing with the last reason when it was the only one', async () => {
    const host = await bootRouting(() => {
      host.graphTools().unregister('only')
      return calls('only')
    })
    host.graph({ name: 'only' })
    const error = await failureOf(host.router().route({ input: 'x' }))
    expect(error).toMatchObject({
      code: 'GRAPH_ROUTING',
      reason: expect.stringContaining('"only" does not exist') as string,
    })
    expect(host.requests).toHaveLength(1)
  })

  it('leaves a routing with a filter that names it alone', async () => {
    const host = await bootTwo((_request, index) => {
      if (index > 0) return calls('search_graph')
      host.graphTools().unregister('echo_graph')
      return calls('nope')
    })
    const filter = { allow: ['echo_graph', 'search_graph'] }
    expect(await host.router({ filter }).route({ input: 'x' })).toMatchObject({ tool: 'search_graph' })
  })
})

describe('what the model is told of an unknown name', () => {
  it('names the near ones, closest first', async () => {
    const host = await bootRouting([
      calls('weather'),
      calls('weather_foreacst'),
      calls('functions.news'),
      calls(''),
      calls('news'),
    ])
    for (const name of ['weather_forecast', 'weather_history', 'news']) host.graph({ name })
    await host.router({ maxRetries: 5, repair: false }).route({ input: 'x' })
    const told = host.told(4).map((text) => /did you mean ([^?]*)\?/.exec(text)?.[1])
    expect(told).toEqual([
      '"weather_forecast" or "weather_history"',
      '"weather_forecast"',
      '"news"',
      undefined,
    ])
    expect(host.told(4)[3]).toMatch(/^Error: the call names no tool; choose one of "weather_forecast"/)
  })

  it('stays short for many graphs and for a name of any length', async () => {
    const host = await bootRouting([calls('x'.repeat(200_000)), calls('g_1')])
    for (let i = 0; i < 80; i++) host.graph({ name: `g_${i}` })
    await host.router().route({ input: 'x' })
    expect(host.told(1)[0]).toContain('and 30 more')
    expect(host.told(1)[0]?.length).toBeLessThan(1000)
    expect(host.requests[1]?.messages[1]?.content).toMatchObject([{ name: 'x'.repeat(64) }])
  })
})

describe('repairs', () => {
  const tidy = { repair: true }

  it('take a name that can only mean one graph, and tell that they did', async () => {
    const host = await bootTwo([
      calls('functions.Search-Graph'),
      calls('functions.search_graph'),
      calls('search_graph'),
    ])
    const outcome = await host.router(tidy).route({ input: 'x' })
    expect(outcome).toMatchObject({ tool: 'search_graph' })
    expect(outcome.attempts).toMatchObject([{ tool: 'functions.Search-Graph', repaired: ['name'] }])
    const strict = await host.router().route({ input: 'x' })
    expect(strict.attempts[0]).toMatchObject({ rejection: 'UNKNOWN_TOOL', repaired: [] })
  })

  it('leave a name alone that could mean two graphs', async () => {
    const host = await bootTwo([calls('SEARCHGRAPH'), calls('search_graph')])
    host.graph({ name: 'searchGraph' })
    const outcome = await host.router(tidy).route({ input: 'x' })
    expect(outcome.attempts[0]).toMatchObject({ rejection: 'UNKNOWN_TOOL' })
  })

  it('are on for DeepSeek routes and off for others', async () => {
    const host = await bootTwo(() => calls('echo_graph', JSON.stringify(JSON.stringify({ topic: 'x' }))))
    for (const provider of ['deepseek', 'deepseek-official', 'DeepSeek-Mirror']) {
      host.ctx.get('llm')?.registerAdapter([provider], host.model)
      const { args, attempts } = await host.router({ provider }).route({ input: 'x' })
      expect(args).toEqual({ topic: 'x' })
      expect(attempts[0]?.repaired).toEqual(['encoding'])
      const error = await failureOf(
        host.router({ provider, repair: false, maxRetries: 0 }).route({ input: 'x' }),
      )
      expect(error).toMatchObject({ code: 'GRAPH_ROUTING' })
    }
    expect(await failureOf(host.router({ maxRetries: 0 }).route({ input: 'x' }))).toMatchObject({
      code: 'GRAPH_ROUTING',
    })
  })
})

describe('a call that is repeated', () => {
  it('ends the routing at once where the router says so', async () => {
    const host = await bootTwo(() => calls('echo_graph', { topic: 1 }))
    const error = await failureOf(host.router({ stopOnRepeat: true }).route({ input: 'x' }))
    expect(host.requests).toHaveLength(2)
    expect(error).toMatchObject({
      code: 'GRAPH_ROUTING',
      reason: 'invalid arguments: "topic" must be a string',
      attempts: [
        { rejection: 'INVALID_ARGS' },
        { repeated: true, reason: expect.stringContaining('already tried exactly this') as string },
      ],
    })
  })

  it('of several tools is one only when all of them are the same', async () => {
    const more = (topic: number): Said => ({
      calls: [{ name: 'search_graph' }, { name: 'echo_graph', arguments: { topic } }],
    })
    const host = await bootTwo([more(1), more(2), more(2)])
    const router = host.router({ multiple: 'reject', stopOnRepeat: true, maxRetries: 5 })
    await failureOf(router.route({ input: 'x' }))
    expect(host.requests).toHaveLength(3)
  })

  it('is another one when a byte of it differs', async () => {
    const host = await bootTwo((_request, index) => calls('echo_graph', { topic: index }))
    await failureOf(host.router({ stopOnRepeat: true }).route({ input: 'x' }))
    expect(host.requests).toHaveLength(4)
  })
})

describe('a conversation that goes on', () => {
  it('has unique ids where the provider gives none, or the same ones again', async () => {
    const twice: Said = {
      calls: [
        { id: '', name: 'a' },
        { id: '', name: 'b' },
      ],
    }
    const again: Said = {
      calls: [
        { id: 'call_1', name: 'c' },
        { id: 'call', name: 'd' },
      ],
    }
    const host = await bootTwo([twice, again, again, calls('search_graph')])
    await host.router().route({ input: 'x' })
    const ids = host.requests[3]?.messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool-call' ? String(block.id) : [])),
    )
    expect(ids).toEqual(['call_1', 'call_2', 'call_1_1', 'call', 'call_1_2', 'call_3'])
  })

  it('carries no name and no arguments that a provider would refuse', async () => {
    const host = await bootTwo([
      { text: ' ', calls: [{ name: 'über graph', arguments: '{"a":' }] },
      { calls: [{ name: '', arguments: '[]' }] },
      calls('search_graph'),
    ])
    await host.router().route({ input: 'x' })
    const content = host.requests[2]?.messages.flatMap((message) =>
      message.role === 'assistant' ? message.content : [],
    )
    expect(content).toMatchObject([
      { type: 'tool-call', name: '_ber_graph', arguments: '{}' },
      { type: 'tool-call', name: 'unnamed_tool', arguments: '{}' },
    ])
  })

  it('keeps what the adapter needs to replay an answer, unless the answer had to be changed', async () => {
    const replayState = { response: { native: 1 } }
    const wrong = calls('echo_graph', {})
    const host = await bootTwo([
      { ...wrong, replayState },
      { ...calls('a b'), replayState },
      calls('search_graph'),
    ])
    await host.router().route({ input: 'x' })
    const states = host.requests[2]?.messages.flatMap(({ source }) =>
      source.kind === 'model' ? [source.replayState] : [],
    )
    expect(states).toEqual([replayState, undefined])
  })

  it('cuts a reason of any length', async () => {
    const host = await bootTwo([calls('loud'), calls('search_graph')])
    host.graph({ name: 'loud', validate: () => 'no! '.repeat(50_000) })
    await host.router().route({ input: 'x' })
    expect(host.told(1)[0]?.length).toBeLessThan(9000)
  })
})
