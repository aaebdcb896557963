import { createScope } from '@deepseek-ai/dsh-scope'
import { describe, expect, it, vi } from 'vitest'
import {
  createGraphDefinition,
  createGraphTool,
  GraphDefinitionError,
  GraphDuplicateError,
  type GraphDefinition,
  type GraphLike,
} from '../src/index.ts'
import { echoBuilder, topicOnly } from './graphs.ts'
import { bootAgents, bootGraphs, createAgent, define, errorOf, valueOf } from './host.ts'

const options = { build: echoBuilder, parameters: topicOnly, description: 'd' } as const
const tool = (name: string, more: object = {}): GraphDefinition =>
  createGraphDefinition({ ...options, name, asTool: true, ...more })

describe('mount', () => {
  it('registers as the definition declares and returns the entry (R31) (R32) (R86) (R93)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    const both = graphs.mount(tool('both'), host.ctx)
    const listed = graphs.mount(tool('listed', { asTool: false }), host.ctx)
    const hidden = graphs.mount(tool('hidden', { asGraphTool: false }), host.ctx)
    expect(host.toolNames()).toEqual(['both', 'hidden'])
    expect(graphs.list()).toEqual([both, listed])
    expect(graphs.get('both')).toBe(both)
    expect(graphs.get('hidden')).toBeUndefined()
    expect(graphs.get('nobody')).toBeUndefined()
    expect(hidden).toMatchObject({
      name: 'hidden',
      description: 'd',
      parameters: { properties: { topic: {} } },
    })
    expect(Object.isFrozen(both)).toBe(true)
  })

  it('offers and lists a graph under its name, letter for letter (R22)', async () => {
    const host = await bootGraphs()
    host.graphTools().mount(tool('Echo-1_b'), host.ctx)
    expect([host.toolNames(), host.graphTools().get('Echo-1_b')?.name]).toEqual([['Echo-1_b'], 'Echo-1_b'])
    expect(host.graphTools().get('echo-1_b')).toBeUndefined()
    expect(valueOf(await host.call('Echo-1_b', { topic: 'x' }))).toMatchObject({ topic: 'x' })
  })

  it('is all that mounts what createGraphDefinition made (R97)', async () => {
    const host = await bootGraphs()
    const definition = tool('by_hand')
    expect([host.toolNames(), host.graphTools().list()]).toEqual([[], []])
    host.graphTools().mount(definition, host.ctx)
    expect(host.toolNames()).toEqual(['by_hand'])
    expect(host.warnings()).toEqual([])
  })

  it('warns once about a graph that nobody can reach (R34)', async () => {
    const host = await bootGraphs()
    host.graphTools().mount(tool('inert', { asTool: false, asGraphTool: false }), host.ctx)
    expect(host.warnings()).toEqual([expect.stringContaining('graph "inert" can be reached by nobody')])
    expect(host.graphTools().list()).toEqual([])
  })

  it('leaves ctx.tools alone without asTool (R33)', async () => {
    const host = await bootGraphs()
    const ctx = host.ctx.extend()
    const get = vi.fn((name: string, strict?: boolean): unknown => host.ctx.get(name, strict))
    Object.defineProperty(ctx, 'get', { value: get })
    host.graphTools().mount(tool('quiet', { asTool: false }), ctx)
    await host.graphTools().get('quiet')?.run({ topic: 'x' }, {})
    expect(get.mock.calls.filter(([name]) => name === 'tools')).toEqual([])
  })

  it('ends with the context that owns it, in both registries (R86) (R89)', async () => {
    const host = await bootGraphs()
    const owner = host.ctx.plugin({
      name: 'owner',
      inject: ['graphTools'],
      apply: (ctx) => void ctx.graphTools.mount(tool('owned'), ctx),
    })
    await owner
    expect([host.toolNames(), host.graphTools().get('owned')?.name]).toEqual([['owned'], 'owned'])
    await owner.dispose()
    expect([host.toolNames(), host.graphTools().list()]).toEqual([[], []])
  })

  it('ends by its own handle, and the name is free at once (R89)', async () => {
    const host = await bootGraphs()
    const entry = host.graphTools().mount(tool('echo'), host.ctx)
    const gone = entry.dispose()
    expect([host.toolNames(), host.graphTools().list()]).toEqual([[], []])
    host.graphTools().mount(tool('echo'), host.ctx)
    await gone
    await entry.dispose()
    expect(host.toolNames()).toEqual(['echo'])
  })

  it('throws on a taken name and leaves nothing half done (R90) (R94)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    graphs.mount(tool('echo'), host.ctx)
    const build = vi.fn(echoBuilder)
    const twin = createGraphDefinition({ name: 'echo', build })
    expect(() => graphs.mount(twin, host.ctx)).toThrow(GraphDuplicateError)
    expect(() => graphs.register(echoBuilder(), host.ctx, { name: 'echo' })).toThrow(GraphDuplicateError)
    expect(build).not.toHaveBeenCalled()

    host.ctx.get('tools')?.register(createGraphTool(echoBuilder(), { name: 'native' }))
    expect(() => graphs.mount(tool('native'), host.ctx)).toThrow(/refused by ctx.tools.*choose another name/)
    expect(graphs.get('native')).toBeUndefined()
    expect(host.warnings()).toEqual([])
  })

  it('throws on what is no valid definition (R90) (R59)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    const broken = define({ ...options, name: 'a b' })
    expect(() => graphs.mount(broken, host.ctx)).toThrow('use for example "a_b"')
    expect(() => graphs.mount(echoBuilder() as unknown as GraphDefinition, host.ctx)).toThrow('use register')
    expect(() => graphs.mount({ ...tool('copied') }, host.ctx)).toThrow('what createGraphDefinition returned')
    expect(() => graphs.mount(tool('echo'), undefined as never)).toThrow(
      'needs the context that owns the graph',
    )
    expect(() => graphs.mount(undefined as never, host.ctx)).toThrow(GraphDefinitionError)
  })

  it('says so when there is no ctx.tools for a tool', async () => {
    const host = await bootGraphs()
    const ctx = host.ctx.isolate('tools')
    expect(() => host.graphTools().mount(tool('echo'), ctx)).toThrow('there is no ctx.tools')
    expect(host.graphTools().list()).toEqual([])
  })
})

describe('layers', () => {
  it('show a graph mounted for one agent to that agent only, over the global one (R87) (R88)', async () => {
    const host = await bootAgents()
    const [mine, other] = [await createAgent(host.ctx), await createAgent(host.ctx)]
    define({ ...options, name: 'echo', asTool: true })
    const scoped = host.graphTools().mount(tool('echo', { description: 'mine' }), mine.ctx)
    host.graphTools().mount(tool('private'), mine.ctx)
    expect(host.toolNames(other)).toEqual(['echo'])
    expect(host.toolNames(mine)).toEqual(['echo', 'private'])
    expect(host.ctx.get('tools')?.get('echo', mine)).toBe(scoped.tool)
    expect(host.ctx.get('tools')?.get('echo', other)?.description).toBe('d')
    expect(valueOf(await host.call('private', { topic: 'x' }, { agent: mine }))).toMatchObject({ topic: 'x' })
    expect(errorOf(await host.call('private', { topic: 'x' }, { agent: other })).code).toBe('UNKNOWN_TOOL')
  })

  it('resolve names nearest first, and to the global layer without a scope (R93) (R94)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    const [team, member] = [{}, {}]
    const outer = createScope(host.ctx, team)
    const inner = createScope(host.ctx, member, { parent: team })
    const inGlobal = graphs.mount(tool('echo', { asTool: false }), host.ctx)
    const inTeam = graphs.mount(tool('echo', { asTool: false }), outer.ctx)
    const inMember = graphs.mount(tool('own', { asTool: false }), inner.ctx)
    const nearest = graphs.mount(tool('both', { asTool: false }), inner.ctx)
    graphs.mount(tool('both', { asTool: false }), outer.ctx)
    expect(graphs.get('both', member)).toBe(nearest)
    await nearest.dispose()
    expect(graphs.get('both', member)).toBe(graphs.get('both', team))
    await graphs.get('both', team)?.dispose()
    expect([graphs.get('echo'), graphs.get('echo', team), graphs.get('echo', member)]).toEqual([
      inGlobal,
      inTeam,
      inTeam,
    ])
    expect(graphs.list()).toEqual([inGlobal])
    expect(graphs.list(member)).toEqual([inTeam, inMember])
    expect(() => graphs.mount(tool('echo', { asTool: false }), outer.ctx)).toThrow('for this scope')
    expect(graphs.unregister('own')).toBe(false)
    expect(graphs.unregister('own', member)).toBe(true)
    await outer.dispose()
    expect(graphs.get('echo', member)).toBe(inGlobal)
    expect(Object.isFrozen(graphs.list())).toBe(true)
  })
})

describe('unregister', () => {
  it('takes a graph off the registry, is idempotent, and leaves the tool (R95) (R96)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    const entry = graphs.mount(tool('echo'), host.ctx)
    const other = graphs.mount(tool('other', { asTool: false }), host.ctx)
    expect([graphs.unregister('echo'), graphs.unregister('echo'), graphs.unregister(entry)]).toEqual([
      true,
      false,
      false,
    ])
    expect(graphs.list()).toEqual([other])
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toMatchObject({ topic: 'x' })
    await entry.dispose()
    expect(host.toolNames()).toEqual([])
  })

  it('by a stale entry does not touch its successor (R95)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    const old = graphs.register(echoBuilder(), host.ctx, { name: 'echo' })
    graphs.unregister(old)
    const next = graphs.register(echoBuilder(), host.ctx, { name: 'echo' })
    expect(graphs.unregister(old)).toBe(false)
    await old.dispose()
    expect(graphs.get('echo')).toBe(next)
  })
})

describe('register', () => {
  it('lists a compiled graph, a builder or an invocable under its name, without a tool (R91) (R98) (R99)', async () => {
    const host = await bootGraphs()
    const graphs = host.graphTools()
    const named = graphs.register(echoBuilder().compile({ name: 'compiled', description: 'own' }), host.ctx)
    graphs.register(echoBuilder(), host.ctx, { name: 'builder', parameters: topicOnly })
    graphs.register({ invoke: async (input) => ({ got: input }) }, host.ctx, { name: 'custom' })
    expect(named).toMatchObject({ name: 'compiled', description: 'own' })
    expect(named.definition).toBeUndefined()
    expect(graphs.list().map((entry) => entry.name)).toEqual(['compiled', 'builder', 'custom'])
    expect(host.toolNames()).toEqual([])
    await expect(graphs.get('custom')?.run({ input: 7 }, {})).resolves.toEqual({ got: 7 })
    await expect(graphs.get('builder')?.run({ topic: 'x' }, {})).resolves.toMatchObject({ log: ['seen:x'] })
  })

  it('needs a name from somewhere, and "LangGraph" is none (R98) (R99)', async () => {
    const host = await bootGraphs()
    const register = (graph: GraphLike) => () => host.graphTools().register(graph, host.ctx)
    expect(register({ invoke: async () => 1 })).toThrow('the graph has no name; pass { name }')
    expect(register(echoBuilder().compile())).toThrow('the graph has no name')
    expect(register(Object.assign(echoBuilder().compile(), { name: 'LangGraph' }))).toThrow('has no name')
    expect(register(echoBuilder().compile({ name: 'Echo Graph' }))).toThrow('use for example "echo_graph"')
    expect(register({} as GraphLike)).toThrow('must have invoke')
  })

  it('sends a definition to mount (R91)', async () => {
    const host = await bootGraphs()
    const definition = tool('echo') as unknown as GraphLike
    expect(() => host.graphTools().register(definition, host.ctx)).toThrow('use mount(definition, ctx)')
  })
})

describe('create', () => {
  it('converts without registering, the same as createGraphTool (R92)', async () => {
    const host = await bootGraphs()
    const compiled = echoBuilder().compile({ name: 'echo', description: 'own' })
    const made = host.graphTools().create(compiled, { parameters: topicOnly })
    const same = createGraphTool(compiled, { parameters: topicOnly })
    const shape = ({ name, description, parameters, output: { schema } }: typeof made) => ({
      name,
      description,
      parameters,
      schema,
    })
    expect(shape(made)).toEqual(shape(same))
    expect(Object.keys(made)).toEqual(Object.keys(same))
    expect([host.toolNames(), host.graphTools().list()]).toEqual([[], []])
    host.ctx.get('tools')?.register(made)
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toEqual({ topic: 'x', log: ['seen:x'] })
  })

  it('takes a definition too, with its own declaration', () => {
    expect(createGraphTool(tool('echo', { timeoutMs: 50, concurrencySafe: true }))).toMatchObject({
      name: 'echo',
      description: 'd',
      timeoutMs: 50,
    })
    expect(() => createGraphTool(define({ ...options, name: 'a b' }))).toThrow('a_b')
  })
})
