import { createGraphDefinition, createGraphTool, GraphDefinitionError } from '../src/index.ts'
import type { GraphDefinitionOptions } from '../src/index.ts'
import { describe, expect, it } from 'vitest'
import { bootGraphs, define } from './host.ts'
import { echoBuilder, topicOnly } from './graphs.ts'

const valid = { name: 'ok', build: echoBuilder, parameters: topicOnly } satisfies GraphDefinitionOptions

function problemsOf(options: unknown): readonly string[] {
  try {
    createGraphDefinition(options as GraphDefinitionOptions)
  } catch (error) {
    if (error instanceof GraphDefinitionError) return error.problems
    throw error
  }
  return []
}

describe('a declaration', () => {
  it('comes back as a definition with its fields and defaults (R10) (R31) (R32) (R97)', () => {
    const validate = () => true
    const definition = createGraphDefinition({ ...valid, validate, threadId: 't', timeoutMs: 5 })
    expect(definition).toMatchObject({
      name: 'ok',
      build: echoBuilder,
      parameters: topicOnly,
      validate,
      threadId: 't',
      timeoutMs: 5,
      asTool: false,
      asGraphTool: true,
    })
    expect(Object.isFrozen(definition)).toBe(true)
  })

  it('needs a name that is a legal function name (R22) (R24)', () => {
    expect(problemsOf({ build: echoBuilder })).toEqual(['name must be a non-empty string'])
    expect(problemsOf({ ...valid, name: '' })).toEqual(['name must be a non-empty string'])
    expect(problemsOf({ ...valid, name: 7 })).toEqual(['name must be a non-empty string'])
    expect(problemsOf({ ...valid, name: 'Echo Graph' })[0]).toContain('use for example "echo_graph"')
    expect(problemsOf({ ...valid, name: 'Größe.µ' })[0]).toContain('must be 1 to 64 letters')
    expect(problemsOf({ ...valid, name: 'x'.repeat(65) })).toHaveLength(1)
    expect(problemsOf({ ...valid, name: 'x'.repeat(64) })).toEqual([])
  })

  it.each(['run_code', 'graph_routing_fallback'])('may not take the reserved name %s (R23)', async (name) => {
    expect(problemsOf({ ...valid, name })).toEqual([`name "${name}" is reserved; choose another one`])
    expect(() => createGraphTool(echoBuilder(), { name })).toThrow('is reserved')
    const host = await bootGraphs()
    expect(() => host.graphTools().create(echoBuilder(), { name })).toThrow('is reserved')
    expect(() => host.graphTools().register(echoBuilder(), host.ctx, { name })).toThrow('is reserved')
    const published = define({ ...valid, name })
    expect(() => host.graphTools().mount(published, host.ctx)).toThrow('is reserved')
    expect(host.warnings()).toEqual([expect.stringContaining(`graph "${name}"`)])
    expect(host.graphTools().list()).toEqual([])
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5'])(
    'refuses a timeoutMs of %s (R49)',
    (timeoutMs) => {
      expect(problemsOf({ ...valid, timeoutMs })).toEqual([
        'timeoutMs must be a positive finite number of milliseconds',
      ])
    },
  )

  it.each([0, -1, 1.5, Number.NaN, '3'])('refuses a recursionLimit of %s (4.4 row 35)', (recursionLimit) => {
    expect(problemsOf({ ...valid, recursionLimit })).toEqual([
      'recursionLimit must be a whole number of at least 1',
    ])
  })

  it('refuses parameters outside the subset of DSH (R53) (R59)', () => {
    const of = (parameters: unknown) => problemsOf({ ...valid, parameters })[0]
    expect(of({ a: { type: 'date' } })).toContain('parameters.a.type must be')
    expect(of({ a: { type: 'string', required: false } })).toContain('required must be true')
    expect(of({ a: { oneOf: [{ type: 'string' }] } })).toContain('at least two')
    expect(of({ a: { type: 'string', enum: [1] } })).toContain('enum must be')
    expect(of({ a: { type: 'object' } })).toContain('additionalProperties must be explicitly')
    expect(of('topic')).toContain('must be an object')
  })

  it('has all its faults listed in one error', () => {
    expect(
      problemsOf({
        name: 'a b',
        build: 1,
        description: 3,
        validate: 'yes',
        threadId: 9,
        configurable: new Map(),
        asTool: 'yes',
        inherit: 1,
        undefinedValues: 'keep',
      }).map((problem) => problem.split(' ')[0]),
    ).toEqual([
      'name',
      'build',
      'configurable',
      'description',
      'validate',
      'threadId',
      'inherit',
      'undefinedValues',
      'asTool',
    ])
    expect(problemsOf(undefined)).toEqual(['pass an object with name and build'])
  })

  it('never throws out of defineGraph and says why in one warning (R14) (R59)', async () => {
    const host = await bootGraphs()
    const hostile = Object.defineProperty({ build: echoBuilder }, 'name', {
      get: () => {
        throw new Error('no name for you')
      },
    })
    for (const options of [undefined, 3, {}, { ...valid, parameters: { a: 1 } }, hostile]) {
      define(options as unknown as GraphDefinitionOptions)
    }
    expect(host.warnings()).toEqual([
      expect.stringMatching(
        /graph "\(unnamed\)" \(defined at .*host\.ts:\d+:\d+\) is skipped: .*pass an object/,
      ),
      expect.stringContaining('pass an object'),
      expect.stringContaining('name must be a non-empty string'),
      expect.stringMatching(/graph "ok" .*parameters: .*parameters\.a must be/),
      expect.stringContaining('no name for you'),
    ])
    expect(host.graphTools().list()).toEqual([])
  })

  it('that throws wherever it is read breaks no other graph, and nothing is said at length (R14) (R15)', async () => {
    const host = await bootGraphs()
    const keys = ['build', 'asTool', 'parameters', 'configurable', 'replace', 'of_no_interest']
    for (const key of keys) {
      const hostile = Object.defineProperty({ ...valid }, key, {
        enumerable: true,
        get: () => {
          throw new Error(`no ${key} for you`)
        },
      })
      define(hostile)
    }
    const { proxy, revoke } = Proxy.revocable({ ...valid }, {})
    revoke()
    define(proxy)
    define({ ...valid, name: 'x'.repeat(1_000_000) })
    const unprintable = { toString: () => JSON.parse('{') as string }
    const build = () => {
      throw unprintable as unknown as Error
    }
    define({ name: 'throws', build })
    const thenable = new Proxy({}, { get: build })
    define({ name: 'thenable', build: () => thenable as never })
    define({ ...valid, name: 'last' })
    expect(
      host
        .graphTools()
        .list()
        .map(({ name }) => name),
    ).toEqual(['throws', 'thenable', 'last'])
    const skipped = host.warnings().filter((text) => text.includes('is skipped'))
    expect(skipped.slice(0, keys.length)).toEqual(
      keys.map((key) => expect.stringContaining(`no ${key} for you`)),
    )
    expect(skipped).toHaveLength(keys.length + 2)
    for (const text of host.warnings()) expect(text.length).toBeLessThan(600)
    expect(await host.graphTools().get('last')?.run({ topic: 'x' }, {})).toMatchObject({ topic: 'x' })
  })

  it('keeps a copy of configurable, so that later writes change nothing', async () => {
    const host = await bootGraphs()
    const configurable = { tenant: 'a' }
    const seen: unknown[] = []
    const definition = createGraphDefinition({
      name: 'tenant',
      parameters: {},
      configurable,
      build: () => ({
        invoke: async (_input, config) => {
          seen.push(Reflect.get(config ?? {}, 'configurable'))
          return {}
        },
      }),
    })
    configurable.tenant = 'b'
    await host.graphTools().mount(definition, host.ctx).run({}, {})
    expect(seen).toEqual([{ tenant: 'a' }])
  })
})
