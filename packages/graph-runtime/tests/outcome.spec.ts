import { runInNewContext } from 'node:vm'
import { isJsonValue } from '@deepseek-ai/dsh-session'
import { Annotation, entrypoint, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import {
  createGraphDefinition,
  GraphResultError,
  type GraphDefinitionOptions,
  type GraphLike,
} from '../src/index.ts'
import { findLossy } from '../src/lossless.ts'
import { echoBuilder, endingWith, topicOnly } from './graphs.ts'
import { bootGraphs, define, errorOf, valueOf } from './host.ts'

async function outcome(build: () => GraphLike, options: Partial<GraphDefinitionOptions> = {}) {
  const host = await bootGraphs()
  const parameters = { input: { type: 'json' } } as const
  const definition = createGraphDefinition({
    name: 'g',
    description: 'd',
    parameters,
    build,
    asTool: true,
    ...options,
  })
  host.graphTools().mount(definition, host.ctx)
  return host.call('g', { input: 1 })
}

const endsWith = (value: unknown) => outcome(() => endingWith(() => value))

const shared = { a: { b: 1 } }

/** No JSON, and none of the kinds that have a test of their own. */
class Point {
  readonly x = 1
}

const throwing = Object.defineProperty({}, 'x', {
  enumerable: true,
  get: () => {
    throw new Error('shut')
  },
})
const cycle: { self?: unknown } = {}
cycle.self = { back: cycle }

/** Arrays long enough to be judged by their outline. */
const long = (extra: (array: unknown[]) => unknown) => extra(Array.from({ length: 100 }, (_, i) => i))

const LOSSLESS: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['scalars', [true, 'text', 0, -1.5, Number.MAX_VALUE]],
  ['a null-prototype object', Object.assign(Object.create(null) as object, { a: 1 })],
  ['an object of another realm', runInNewContext('({ a: [1, { b: 2 }] })')],
  ['an own __proto__ key', JSON.parse('{"__proto__":1}')],
  ['empty containers', [[], {}]],
  ['a long array', long((array) => array)],
  ['an accessor that answers', Object.defineProperty({}, 'x', { enumerable: true, get: () => 1 })],
]

const LOSSY: readonly (readonly [string, unknown, string, string])[] = [
  ['undefined', { a: [undefined] }, 'result.a[0]', 'undefined'],
  ['an undefined property', { a: undefined }, 'result.a', 'undefined'],
  ['a BigInt', { n: 10n }, 'result.n', 'a BigInt'],
  ['a function', { f: () => 1 }, 'result.f', 'a function'],
  ['a symbol', [Symbol('s')], 'result[0]', 'a symbol'],
  ['a symbol key', { a: { [Symbol('s')]: 1 } }, 'result.a', 'an object with the symbol key Symbol(s)'],
  ['NaN', [[Number.NaN]], 'result[0][0]', 'NaN'],
  ['Infinity', [-Infinity], 'result[0]', '-Infinity'],
  ['negative zero', { a: -0 }, 'result.a', 'negative zero'],
  ['a Date', { 'made at': new Date(0) }, 'result["made at"]', 'an instance of Date'],
  ['a Map', [new Map()], 'result[0]', 'an instance of Map'],
  ['a Set', [new Set()], 'result[0]', 'an instance of Set'],
  ['a RegExp', [/x/], 'result[0]', 'an instance of RegExp'],
  ['a typed array', [new Uint8Array(1)], 'result[0]', 'an instance of Uint8Array'],
  ['a class instance', [new Point()], 'result[0]', 'an instance of Point'],
  [
    'an anonymous instance',
    [Object.create(Object.create(null) as object)],
    'result[0]',
    'an object with a prototype of its own',
  ],
  ['a boxed number', [Object(1)], 'result[0]', 'an instance of Number'],
  ['an array subclass', [new (class List extends Array {})()], 'result[0]', 'an instance of List'],
  ['a sparse array', [[1, , 3]], 'result[0][1]', 'a hole of a sparse array'], // oxlint-disable-line no-sparse-arrays
  [
    'an array with a property',
    [Object.assign([1], { x: 2 })],
    'result[0]',
    'an array with the extra property "x"',
  ],
  ['a match array', ['ab'.match(/a/)], 'result[0]', 'an array with the extra property "index"'],
  [
    'a long array with a property',
    [long((a) => Object.assign(a, { x: 1 }))],
    'result[0]',
    'an array with the extra property "x"',
  ],
  [
    'a long array with a hidden property',
    [long((a) => Object.defineProperty(a, 'raw', { value: 1 }))],
    'result[0]',
    'an array with the extra property "raw"',
  ],
  [
    'a long array with a symbol key',
    [long((a) => Object.assign(a, { [Symbol('s')]: 1 }))],
    'result[0]',
    'an array with the symbol key Symbol(s)',
  ],
  ['a long array with a hole', [long((a) => (delete a[50], a))], 'result[0][50]', 'a hole of a sparse array'],
  [
    'a hidden property',
    [Object.defineProperty({}, 'h', { value: 1 })],
    'result[0]',
    'an object with the non-enumerable property "h"',
  ],
  ['an accessor that throws', { a: throwing }, 'result.a.x', 'unreadable (shut)'],
  ['a cycle', { top: cycle }, 'result.top.self.back', 'a cycle back to result.top'],
]

describe('the lossless check', () => {
  /** What a tool call makes of a graph that ends with the value. */
  const endingIn = (value: unknown) => outcome(() => ({ invoke: async () => value }))
  /** What the error of such a call says about place and kind. */
  const refusal = async (value: unknown) => {
    const { code, message } = errorOf(await endingIn(value))
    expect(code).toBe('GRAPH_RESULT')
    return message
  }

  it.each(LOSSLESS)('passes %s, as the check of DSH does (R80)', async (_, value) => {
    expect(isJsonValue(value)).toBe(true)
    expect(valueOf(await endingIn(value))).toEqual(JSON.parse(JSON.stringify(value)))
  })

  it('passes a reference that is there more than once, and no cycle (4.2 row 13) (R82)', async () => {
    const again = { shared }
    expect(valueOf(await endingIn([shared, shared, again, [again]]))).toEqual([
      { a: { b: 1 } },
      { a: { b: 1 } },
      { shared: { a: { b: 1 } } },
      [{ shared: { a: { b: 1 } } }],
    ])
    expect(await refusal({ top: cycle })).toContain('result.top.self.back is a cycle back to result.top; ')
  })

  it.each(LOSSY)(
    'names place and kind of %s (4.2 row 14) (4.2 row 17) (R81)',
    async (_, value, path, kind) => {
      expect(await refusal(value)).toContain(`is not lossless JSON: ${path} is ${kind}; `)
    },
  )

  it('takes toJSON for the function it is and never calls it (R83)', async () => {
    const toJSON = vi.fn(() => 1)
    expect(await refusal({ a: { toJSON } })).toContain(': result.a.toJSON is a function; ')
    const heir: unknown = Object.create({ toJSON })
    expect(await refusal([heir])).toContain(': result[0] is an instance of Object; ')
    expect(toJSON).not.toHaveBeenCalled()
  })

  it('gives a verdict at any depth (R84)', async () => {
    const nest = (bottom: unknown) => {
      let value = bottom
      for (let i = 0; i < 100_000; i++) value = i % 2 === 0 ? [value] : { a: value }
      return value
    }
    expect((await endingIn(nest(1))).isError).toBe(false)
    expect(await refusal(nest(1n))).toMatch(/: result\.a\[0\].*…\(99976 more\)….*\[0\] is a BigInt; /)
  })

  it('finds a cycle below the depth that is scanned', () => {
    const nest = (value: unknown): unknown => {
      for (let i = 0; i < 20; i++) value = [value]
      return value
    }
    const ring: unknown[] = []
    ring.push(nest(ring))
    const place = (depth: number) => `result${'[0]'.repeat(depth)}`
    const lossy = findLossy(nest(ring))
    expect(lossy?.path).toBe(`${place(12)}…(17 more)…${'[0]'.repeat(12)}`)
    expect(lossy?.kind).toBe(`a cycle back to ${place(20)}`)
  })

  it('survives proxies that refuse to be looked at', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(findLossy({ a: proxy })?.kind).toMatch(/^unreadable/)
    expect(findLossy(new Proxy([], { ownKeys: () => ['length', 'x'] }))?.kind).toMatch(
      /^an array with|^unreadable/,
    )
  })
})

describe('the final state', () => {
  it('is refused with place, kind and cure when it is not lossless (R74) (R81)', async () => {
    expect(errorOf(await endsWith({ when: [new Date(0)] }))).toEqual({
      code: 'GRAPH_RESULT',
      message:
        'graph "g" ended with a value that is not lossless JSON: result.out.when[0] is an instance of Date; convert it to plain JSON before the graph ends, or make the result with output',
    })
    expect(errorOf(await endsWith({ a: undefined })).message).toContain('set undefinedValues to "omit"')
  })

  it('of undefined is refused by name (R85)', async () => {
    const { code, message } = errorOf(await outcome(() => entrypoint('none', async () => undefined)))
    expect([code, message]).toEqual([
      'GRAPH_RESULT',
      expect.stringContaining('end with a value, null if there is none'),
    ])
    expect(valueOf(await outcome(() => entrypoint('five', async () => 5)))).toBe(5)
  })

  it('may have its undefined properties left out, but nothing else (4.2 row 20) (R81)', async () => {
    const omit = (value: unknown) => outcome(() => endingWith(() => value), { undefinedValues: 'omit' })
    expect(valueOf(await omit({ a: undefined, b: [{ c: undefined, d: null }] }))).toEqual({
      input: 1,
      out: { b: [{ d: null }] },
    })
    // A channel that was set to undefined is a key of its own.
    expect(errorOf(await endsWith(undefined)).message).toContain('result.out is undefined; return null, drop')
    expect(valueOf(await omit(undefined))).toEqual({ input: 1 })
    expect(errorOf(await omit([undefined])).message).toContain('result.out[0] is undefined')
    expect(errorOf(await omit({ a: undefined, b: 1n })).message).toContain('result.out.b is a BigInt')
  })

  it('error tells path and kind to programs (R74)', async () => {
    const host = await bootGraphs()
    const entry = host.graphTools().register({ invoke: async () => ({ n: 1n }) }, host.ctx, { name: 'g' })
    const error = await entry.run({ input: 1 }, {}).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GraphResultError)
    expect(error).toMatchObject({ graph: 'g', path: 'result.n', kind: 'a BigInt' })
  })
})

describe('an interrupted graph', () => {
  const State = Annotation.Root({ input: Annotation<unknown>, answer: Annotation<unknown> })
  const asking = (question: unknown) =>
    new StateGraph(State).addNode('ask', () => ({ answer: interrupt(question) })).addEdge(START, 'ask')
  const saver = () => ({ checkpointer: new MemorySaver() })

  it('is an error that carries the question, never a result', async () => {
    const build = () => asking({ question: 'Sail on?' }).compile(saver())
    const { code, message } = errorOf(await outcome(build, { threadId: 't' }))
    expect(code).toBe('GRAPH_INTERRUPTED')
    expect(message).toMatch(/^graph "g" stopped to ask and did not finish: \{"question":"Sail on\?"\}; /)
    const host = await bootGraphs()
    define({ name: 'asks', build: () => asking(() => 1).compile(saver()), threadId: 't' })
    await expect(
      host
        .graphTools()
        .get('asks')
        ?.run({ input: { input: 1 } }, {}),
    ).rejects.toMatchObject({
      interrupts: [{ id: expect.any(String), value: expect.stringContaining('=>') }],
    })
  })

  it('is told from one without a checkpointer, whose own error passes (R73)', async () => {
    expect(errorOf(await outcome(() => asking('hm'))).message).toContain('No checkpointer set')
  })

  it.each([
    ['before, without a checkpointer', { interruptBefore: ['two' as const] }],
    ['after, without a checkpointer', { interruptAfter: ['one' as const] }],
    ['before, with one', { interruptBefore: ['two' as const], ...saver() }],
    ['after the last node', { interruptAfter: ['two' as const] }],
  ])('is one at a breakpoint %s (4.5 row 38)', async (_, options) => {
    const build = () =>
      new StateGraph(State)
        .addNode('one', () => ({ answer: 1 }))
        .addNode('two', () => ({ answer: 2 }))
        .addEdge(START, 'one')
        .addEdge('one', 'two')
        .compile(options)
    const { code, message } = errorOf(await outcome(build, { threadId: 't' }))
    expect(code).toBe('GRAPH_INTERRUPTED')
    expect(message).toContain('compile it without interruptBefore and interruptAfter')
  })

  it('is one for an entrypoint too', async () => {
    const flow = entrypoint({ name: 'flow', ...saver() }, async () => interrupt('well?'))
    const { message } = errorOf(await outcome(() => flow, { threadId: 't' }))
    expect(message).toContain('did not finish: well?')
  })
})

describe('a graph inside another graph’s node', () => {
  const nested = async (inherit: boolean) => {
    const host = await bootGraphs()
    const seen: Record<string, unknown>[] = []
    const saver = new MemorySaver()
    const inner = echoBuilder()
      .addNode('peek', (_state, config) => {
        seen.push({ ...config.configurable })
        return {}
      })
      .addEdge('echo', 'peek')
      .compile({ checkpointer: saver })
    define({
      name: 'inner',
      parameters: topicOnly,
      asTool: true,
      threadId: 'inner-thread',
      inherit,
      build: () => inner,
    })
    const outer = endingWith(async () => valueOf(await host.call('inner', { topic: 'x' })))
    define({
      name: 'outer',
      parameters: { input: { type: 'json' } },
      asTool: true,
      threadId: 'outer-thread',
      configurable: { secret: 'outer' },
      build: () => outer.compile({ checkpointer: new MemorySaver() }),
    })
    expect(valueOf(await host.call('outer', { input: 1 }))).toMatchObject({ out: { log: ['seen:x'] } })
    return { threads: Object.keys(saver.storage), configurable: seen[0] }
  }

  it('keeps its own thread and checkpointer and sees no secrets (4.3 row 26)', async () => {
    const { threads, configurable } = await nested(false)
    expect(threads).toEqual(['inner-thread'])
    expect(configurable).not.toHaveProperty('secret')
  })

  it('takes over the outer config when the author wants that', async () => {
    const { threads, configurable } = await nested(true)
    expect(threads).toEqual([])
    expect(configurable).toMatchObject({ secret: 'outer' })
  })
})
