/**
 * Faults that users of graph libraries reported in public, as abstract cases. The tag at the end of a
 * title is the report's row in the project's notes; most of them have their tests beside the feature.
 */
import { EventEmitter, getEventListeners } from 'node:events'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { JsonSchemaNode, ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { Annotation, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import {
  createGraphDefinition,
  createGraphTool,
  type GraphDefinitionOptions,
  type GraphLike,
} from '../src/index.ts'
import { echoBuilder, endingWith, topicOnly } from './graphs.ts'
import { bootGraphs, define, errorOf, valueOf } from './host.ts'
import { graphOver, keeping, z, z3 } from './zod.ts'

const turnOfLoop = () => new Promise<void>((done) => setImmediate(done))

async function mounted(build: () => GraphLike, options: Partial<GraphDefinitionOptions> = {}) {
  const host = await bootGraphs()
  const definition = createGraphDefinition({
    name: 'g',
    description: 'd',
    parameters: { input: { type: 'json' } },
    asTool: true,
    build,
    ...options,
  })
  const entry = host.graphTools().mount(definition, host.ctx)
  return {
    host,
    entry,
    call: (input: unknown = 1, signal?: AbortSignal) => host.call('g', { input }, signal && { signal }),
  }
}

/** Every object schema within a schema. */
function objectsIn(schema: JsonSchemaNode): JsonSchemaNode[] {
  const below = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.oneOf ?? []),
    ...(schema.items ? [schema.items] : []),
  ]
  return [...(schema.type === 'object' ? [schema] : []), ...below.flatMap(objectsIn)]
}

describe('abort, timeout, listeners', () => {
  it('keep what an aborted node writes afterwards out of every result (4.1 row 4)', async () => {
    const saver = new MemorySaver()
    let release = (): void => undefined
    const gate = new Promise<void>((done) => (release = done))
    const controller = new AbortController()
    const State = Annotation.Root({
      input: Annotation<unknown>,
      log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
    })
    const build = () =>
      new StateGraph(State)
        .addNode('slow', async ({ input }) => {
          if (input === 'abort') {
            controller.abort(new Error('enough'))
            await gate
          }
          return { log: [String(input)] }
        })
        .addEdge(START, 'slow')
        .compile({ checkpointer: saver })
    const { call } = await mounted(build, { threadId: 'one' })
    expect((await call('abort', controller.signal)).isError).toBe(true)
    release()
    await turnOfLoop()
    expect(valueOf(await call('next'))).toEqual({ input: 'next', log: ['next'] })
  })

  it('leave no listener and no warning of the process after a thousand calls with one signal (4.1 row 5)', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    const { signal } = new AbortController()
    const { call } = await mounted(() =>
      endingWith((input) => (input === 0 ? Promise.reject(new Error('no')) : input)),
    )
    for (let i = 0; i < 1000; i++) await call(i % 5, signal)
    await turnOfLoop()
    process.off('warning', note)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([])
  })

  it('end a node that never ends when the budget is spent, and not much later (4.1 row 8)', async () => {
    const never = () =>
      endingWith(
        (_input, signal) =>
          new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      )
    const { call } = await mounted(never, { timeoutMs: 50 })
    const start = performance.now()
    expect(errorOf(await call()).code).toBe('GRAPH_TIMEOUT')
    expect(performance.now() - start).toBeGreaterThanOrEqual(45)
    expect(performance.now() - start).toBeLessThan(2000)
  })

  it('are not hidden by a higher limit of listeners, with twelve nodes at a time either (4.1 row 11)', async () => {
    const State = Annotation.Root({
      input: Annotation<unknown>,
      log: Annotation<number[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
    })
    const build = () => {
      let builder = new StateGraph(State) as unknown as ReturnType<typeof graphOver>
      for (let i = 0; i < 12; i++)
        builder = builder.addNode(`n${i}`, () => ({ log: [i] })).addEdge(START, `n${i}`)
      return builder as unknown as GraphLike
    }
    const { call } = await mounted(build)
    expect((valueOf(await call()) as { log: number[] }).log).toHaveLength(12)
    // Node’s own.
    expect(EventEmitter.defaultMaxListeners).toBe(10)
  })
})

describe('state', () => {
  it('with a toJSON that throws is refused by its place, and toJSON is not called (4.2 row 16)', async () => {
    const toJSON = vi.fn(() => {
      throw new Error('not for you')
    })
    const { call } = await mounted(() => endingWith(() => ({ deep: [{ toJSON }] })))
    expect(errorOf(await call()).message).toContain('result.out.deep[0].toJSON is a function')
    expect(toJSON).not.toHaveBeenCalled()
  })

  it('that a node writes to is not the caller’s, frozen or not (4.2 row 19)', async () => {
    const { entry } = await mounted(() =>
      endingWith((input) => ((input as { list: number[] }).list.push(2), input)),
    )
    const frozen = Object.freeze({ input: Object.freeze({ list: Object.freeze([1]) }) })
    expect(await entry.run(frozen, {})).toMatchObject({ out: { list: [1, 2] } })
    expect(frozen.input.list).toEqual([1])
  })

  it.each([
    ['a text', 'no luck', 'threw the string "no luck", which'],
    ['a number', 7, 'threw the number "7", which'],
    ['null', null, 'threw null, which'],
    ['undefined', undefined, 'threw undefined, which'],
    ['a frozen Error', Object.freeze(new Error('frozen')), 'threw a frozen object or Error, which'],
  ])('of a node that threw %s: the failure is put into words (4.2 row 22)', async (_, thrown, text) => {
    const { call, entry } = await mounted(() =>
      endingWith(() => {
        throw thrown
      }),
    )
    const { code, message } = errorOf(await call())
    expect([code, message]).toEqual(['GRAPH_FAILURE', expect.stringContaining(text)])
    expect(message).toContain('throw an Error that is not frozen')
    await expect(entry.run({ input: 1 }, {})).rejects.toMatchObject({ cause: expect.any(TypeError) })
  })

  it.each([[{ code: 7 }], [new TypeError('pregel')]])(
    'of a node that threw %s: it passes as it is (4.2 row 22) (R73)',
    async (thrown) => {
      const { entry } = await mounted(() =>
        endingWith(() => {
          throw thrown
        }),
      )
      await expect(entry.run({ input: 1 }, {})).rejects.toBe(thrown)
    },
  )
})

describe('limits', () => {
  const looping = () =>
    graphOver(Annotation.Root({ input: Annotation<unknown> }))
      .addNode('a', () => ({}))
      .addEdge(START, 'a')
      .addConditionalEdges('a', () => 'a', { a: 'a' })

  it('bound to the graph hold, and the definition’s own goes before them (4.4 row 32)', async () => {
    const bound = () => looping().compile().withConfig({ recursionLimit: 3 }) as unknown as GraphLike
    expect(errorOf(await (await mounted(bound)).call()).message).toContain('Recursion limit of 3')
    expect(errorOf(await (await mounted(bound, { recursionLimit: 5 })).call()).message).toContain(
      'Recursion limit of 5',
    )
  })
})

describe('schemas', () => {
  it('never show the insides of zod to a model (4.6 row 44)', async () => {
    for (const zod of [z, z3]) {
      const tool = createGraphTool(
        keeping(zod.object({ a: zod.object({ b: zod.array(zod.string()) }) })) as unknown as GraphLike,
        { name: 'g' },
      )
      const text = JSON.stringify(tool.parameters)
      expect(text).toContain('"properties":{"b":{"type":"array"')
      for (const inside of ['"def"', '_def', '_zod', 'typeName', '$schema', '~standard'])
        expect(text).not.toContain(inside)
    }
  })

  it('of the state blame the arguments for a bad input and the graph for a bad write (4.6 row 46)', async () => {
    const state = z.object({ n: z.number().max(10) })
    const build = () =>
      graphOver(state)
        .addNode('grow', ({ n }) => ({ n: Number(n) * 4 }))
        .addEdge(START, 'grow') as unknown as GraphLike
    const { host } = await mounted(build, { parameters: 'auto' })
    expect(errorOf(await host.call('g', { n: 11 })).code).toBe('INVALID_ARGS')
    const written = errorOf(await host.call('g', { n: 3 }))
    expect(written.code).toBeUndefined()
    expect(written.message).toContain('10')
    expect(valueOf(await host.call('g', { n: 2 }))).toEqual({ n: 8 })
  })

  it.each<[string, Partial<GraphDefinitionOptions>, () => GraphLike]>([
    ['no parameters', { parameters: {} }, echoBuilder],
    ['one input', {}, echoBuilder],
    ['declared ones', { parameters: topicOnly }, echoBuilder],
    [
      'open objects in declared ones',
      {
        parameters: {
          a: { type: 'object', additionalProperties: true },
          b: {
            type: 'array',
            items: { oneOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }] },
          },
        } satisfies ParameterSchemaSpec,
      },
      echoBuilder,
    ],
    [
      'derived ones',
      {},
      () => keeping(z.object({ a: z.record(z.string(), z.any()), b: z.object({}) })) as unknown as GraphLike,
    ],
  ])(
    'have an object with properties at the root and wherever there is an object: %s (4.6 row 47)',
    (_, options, build) => {
      const tool = createGraphTool(createGraphDefinition({ name: 'g', build, ...options }))
      const root = tool.parameters as JsonSchemaNode
      expect(root.type).toBe('object')
      for (const object of objectsIn(root)) expect(object.properties).toBeTypeOf('object')
    },
  )

  it('come under names that providers take, and a bad one has its cure in the warning (4.6 row 50)', async () => {
    const host = await bootGraphs()
    define({ name: 'Echo Graph', build: echoBuilder })
    expect(host.warnings()).toEqual([expect.stringContaining('use for example "echo_graph"')])
  })
})

describe('the package', () => {
  it('pulls in nothing that is built on the user’s machine (4.8 row 68)', () => {
    interface Manifest {
      readonly gypfile?: boolean
      readonly scripts?: Record<string, string>
      readonly dependencies?: Record<string, string>
    }
    const seen = new Set<string>()
    const native: string[] = []
    const find = (from: string, name: string): string | undefined => {
      for (let dir = from; dir !== dirname(dir); dir = dirname(dir)) {
        const candidate = join(dir, 'node_modules', name, 'package.json')
        if (existsSync(candidate)) return dirname(realpathSync(candidate))
      }
      return undefined
    }
    const visit = (dir: string): void => {
      if (seen.has(dir)) return
      seen.add(dir)
      const manifest = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest
      const builds = ['preinstall', 'install', 'postinstall'].some(
        (script) => manifest.scripts?.[script] !== undefined,
      )
      if (manifest.gypfile === true || existsSync(join(dir, 'binding.gyp')) || builds) native.push(dir)
      for (const name of Object.keys(manifest.dependencies ?? {})) {
        const found = find(dir, name)
        if (found !== undefined) visit(found)
      }
    }
    visit(resolve(import.meta.dirname, '..'))
    expect(seen.size).toBeGreaterThan(5)
    expect(native).toEqual([])
  })
})
