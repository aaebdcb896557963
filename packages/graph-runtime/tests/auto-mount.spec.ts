import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StateGraph } from '@langchain/langgraph'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createGraphDefinition, defineGraph, type PublishedGraphDefinition } from '../src/index.ts'
import { echoBuilder, topicOnly } from './graphs.ts'
import { bootGraphs, bootTools, define, errorOf, published, valueOf } from './host.ts'

/** Cordis' state of a fiber that runs. */
const ACTIVE = 2

const tool = { build: echoBuilder, parameters: topicOnly, asTool: true } as const

describe('defineGraph', () => {
  it('queues without a plugin and mounts in order when it loads (R11) (R12) (R20)', async () => {
    for (const name of ['c', 'a', 'b']) define({ ...tool, name })
    const host = await bootTools()
    expect(host.ctx.get('graphTools')).toBeUndefined()
    await host.load()
    expect(host.toolNames()).toEqual(['c', 'a', 'b'])
    expect(
      host
        .graphTools()
        .list()
        .map((entry) => entry.name),
    ).toEqual(['c', 'a', 'b'])
    expect(host.warnings()).toEqual([])
  })

  it('mounts on the spot while the plugin is live (R10) (R13) (R20)', async () => {
    const host = await bootGraphs()
    const definition = define({ ...tool, name: 'echo' })
    expect(host.toolNames()).toEqual(['echo'])
    expect(host.graphTools().get('echo')?.definition).toBe(definition)
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toEqual({ topic: 'x', log: ['seen:x'] })
  })

  it('needs nothing but an import of the module (R19)', async () => {
    const host = await bootGraphs()
    const { one } = await import('./fixtures/one.ts')
    published(one)
    expect(valueOf(await host.call('from_two_files', { topic: 'x' }))).toMatchObject({ log: ['seen:x'] })
  })

  it('takes everything away with the plugin and queues again (R9) (R16) (R17)', async () => {
    const host = await bootTools()
    const plugin = await host.load()
    define({ ...tool, name: 'before' })
    await plugin.dispose()
    expect(host.toolNames()).toEqual([])
    expect(host.ctx.get('graphTools')).toBeUndefined()
    expect(errorOf(await host.call('before', { topic: 'x' })).code).toBe('UNKNOWN_TOOL')
    define({ ...tool, name: 'meanwhile' })
    await host.load()
    expect(host.toolNames()).toEqual(['before', 'meanwhile'])
  })

  it('ends its running calls when the plugin unloads, and the unload waits for them (R17)', async () => {
    const host = await bootTools()
    const plugin = await host.load()
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const ended = vi.fn()
    define({
      ...tool,
      name: 'waits',
      build: () => ({
        invoke: (_input, config) =>
          new Promise((_, reject) => {
            const { signal } = config as { signal: AbortSignal }
            signal.addEventListener('abort', () => setImmediate(() => (ended(), reject(signal.reason))))
            begin()
          }),
      }),
    })
    const call = host.graphTools().get('waits')?.run({ topic: 'x' }, {})
    const failure = call?.catch((error: unknown) => error)
    await begun
    await plugin.dispose()
    expect(ended).toHaveBeenCalledTimes(1)
    expect(await failure).toMatchObject({ code: 'GRAPH_UNMOUNTED' })
  })

  it('gives the same tools after fifty rounds of dispose and apply (R18)', async () => {
    const host = await bootTools()
    const build = vi.fn(echoBuilder)
    for (const name of ['a', 'b', 'c']) define({ ...tool, name, build, description: 'd' })
    define({ name: 'listed', build: echoBuilder })
    for (let round = 0; round < 50; round++) {
      const plugin = await host.load()
      expect(host.toolNames()).toEqual(['a', 'b', 'c'])
      expect(host.graphTools().list()).toHaveLength(4)
      if (round % 10 === 0) valueOf(await host.call('a', { topic: 'x' }))
      await plugin.dispose()
      expect(host.toolNames()).toEqual([])
    }
    expect(build).toHaveBeenCalledTimes(1)
    expect(host.log).toEqual([])
  })

  it('comes back when the tool runtime itself restarts (R18)', async () => {
    const { SystemPrompt } = await import('@deepseek-ai/dsh-system-prompt')
    const { ToolRuntime } = await import('@deepseek-ai/dsh-tools')
    const { Context } = await import('@deepseek-ai/cordis')
    const graphRuntime = await import('../src/index.ts')
    define({ ...tool, name: 'echo' })
    const ctx = new Context()
    await ctx.plugin(SystemPrompt, {})
    const runtime = ctx.plugin(ToolRuntime, {})
    await runtime
    await ctx.plugin(graphRuntime, {})
    await runtime.dispose()
    expect(ctx.get('graphTools')).toBeUndefined()
    await ctx.plugin(ToolRuntime, {})
    await vi.waitFor(() => expect(ctx.get('tools')?.get('echo')).toBeDefined())
    await ctx.fiber.dispose()
  })

  it('skips what cannot be mounted with one warning and goes on (R14) (R15) (R21)', async () => {
    define({ ...tool, name: 'first' })
    define({ ...tool, name: 'first', description: 'second of that name' })
    define({ ...tool, name: 'bad name' })
    define({ ...tool, name: 'last' })
    const host = await bootGraphs()
    expect(host.toolNames()).toEqual(['first', 'last'])
    expect(host.warnings()).toEqual([
      expect.stringMatching(/^graph "first" \(defined at .*\) is skipped: .*already listed/),
      expect.stringMatching(/^graph "bad name" .* is skipped: .*use for example "bad_name"/),
    ])
    expect(host.graphTools().get('first')?.description).not.toBe('second of that name')
  })

  it('skips a graph whose tool name DSH has already, and keeps it out of the registry (R14)', async () => {
    const host = await bootTools()
    const { createGraphTool } = await import('../src/index.ts')
    host.ctx.get('tools')?.register(createGraphTool(echoBuilder(), { name: 'taken', parameters: topicOnly }))
    await host.load()
    define({ ...tool, name: 'taken' })
    expect(host.warnings()).toEqual([expect.stringContaining('refused by ctx.tools')])
    expect(host.graphTools().get('taken')).toBeUndefined()
  })

  it('leaves a definition that was taken back out of every later life', async () => {
    const host = await bootTools()
    const plugin = await host.load()
    const definition = define({ ...tool, name: 'gone' })
    definition.dispose()
    definition.dispose()
    expect(host.toolNames()).toEqual([])
    await plugin.dispose()
    await host.load()
    expect(host.graphTools().list()).toEqual([])
  })

  it('made while the plugin unloads waits for the next load, without a warning (R16)', async () => {
    const host = await bootTools()
    const plugin = await host.load()
    const between = vi.fn(() => define({ ...tool, name: 'between' }))
    // Told in the very moment in which the fiber stops taking effects.
    const off = host.ctx.on('internal/status', (fiber, before) => {
      if (fiber.name === 'dsh-graph-runtime:live' && before === ACTIVE) between()
    })
    await plugin.dispose()
    off()
    expect(between).toHaveBeenCalledTimes(1)
    expect(host.toolNames()).toEqual([])
    await host.load()
    expect(host.toolNames()).toEqual(['between'])
    expect(host.log).toEqual([])
  })

  it('mounts each graph in every root of the process', async () => {
    const first = await bootGraphs()
    const second = await bootGraphs()
    define({ ...tool, name: 'echo' })
    expect([first.toolNames(), second.toolNames()]).toEqual([['echo'], ['echo']])
  })

  it('reaches the plugin from another copy of the package', async () => {
    const host = await bootGraphs()
    vi.resetModules()
    const copy = await import('../src/index.ts')
    expect(copy.defineGraph).not.toBe(defineGraph)
    published(copy.defineGraph({ ...tool, name: 'from_copy' }))
    expect(valueOf(await host.call('from_copy', { topic: 'x' }))).toMatchObject({ log: ['seen:x'] })
    const dynamic = copy.createGraphDefinition({ ...tool, name: 'by_hand' })
    host.graphTools().mount(dynamic, host.ctx)
    expect(host.toolNames()).toEqual(['from_copy', 'by_hand'])
  })

  it('mounts what a factory defines while its own graph is mounted', async () => {
    const outer = () => {
      define({ ...tool, name: 'inner' })
      return echoBuilder()
    }
    define({ name: 'outer', build: outer })
    const host = await bootGraphs()
    expect(
      host
        .graphTools()
        .list()
        .map((entry) => entry.name)
        .toSorted(),
    ).toEqual(['inner', 'outer'])
    expect(host.warnings()).toEqual([])
  })
})

describe('a name that is defined again', () => {
  it('stays with the first file and warns about the second (R21)', async () => {
    const host = await bootGraphs()
    vi.resetModules()
    const { one } = await import('./fixtures/one.ts')
    const { two } = await import('./fixtures/two.ts')
    published(one)
    published(two)
    expect(host.graphTools().get('from_two_files')?.description).toBe('defined in one.ts')
    expect(host.warnings()).toEqual([expect.stringMatching(/defined at .*two\.ts:\d+:\d+\) is skipped/)])
  })

  it.each(['graphs (copy) of me', 'plain', 'at (:1:2) x'])(
    'goes to the newer module in a folder called "%s", module or script',
    async (folder) => {
      const host = await bootGraphs()
      const dir = mkdtempSync(join(tmpdir(), 'graphs-'))
      onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
      const file = (name: string) => join(dir, folder, name)
      mkdirSync(join(dir, folder))
      const options = `{ name: 'edited', description: String(version), parameters: {}, build: () => ({ invoke: async () => ({}) }) }`
      writeFileSync(file('graphs.mjs'), `export const make = (define, version) => define(${options})\n`)
      writeFileSync(file('top.cjs'), `module.exports = (define, version) => define(${options})\n`)
      const module = (await import(/* @vite-ignore */ pathToFileURL(file('graphs.mjs')).href)) as {
        make: (define: unknown, version: number) => PublishedGraphDefinition
      }
      const script = createRequire(import.meta.url)(file('top.cjs')) as typeof module.make
      for (const make of [module.make, script]) {
        const first = make(defineGraph, 1)
        await Promise.resolve()
        const second = published(make(defineGraph, 2))
        expect(host.graphTools().get('edited')?.description).toBe('2')
        second.dispose()
        first.dispose()
      }
      expect(host.warnings()).toEqual([])
    },
  )

  it('goes to the newer module when the same file is evaluated again', async () => {
    const host = await bootGraphs()
    const evaluate = async () => {
      vi.resetModules()
      return published((await import('./fixtures/one.ts')).one)
    }
    const first = await evaluate()
    expect(host.graphTools().get('from_two_files')?.definition).toBe(first)
    const second = await evaluate()
    expect(host.graphTools().get('from_two_files')?.definition).toBe(second)
    expect(host.toolNames()).toEqual(['from_two_files'])
    expect(host.log).toEqual([
      { type: 'info', text: expect.stringContaining('is replaced by its newer definition') },
    ])
    first.dispose()
    expect(host.toolNames()).toEqual(['from_two_files'])
  })

  it('keeps the older graph when the newer module is broken, and forgets the broken one once it is mended', async () => {
    const host = await bootTools()
    let plugin = await host.load()
    const evaluate = (parameters: object) =>
      define({ ...tool, name: 'edited', parameters: parameters as never })
    const older = evaluate(topicOnly)
    await Promise.resolve()
    evaluate({ topic: 'string' })
    expect(host.graphTools().get('edited')?.definition).toBe(older)
    expect(host.warnings()).toHaveLength(1)
    await Promise.resolve()
    const mended = evaluate(topicOnly)
    expect(host.graphTools().get('edited')?.definition).toBe(mended)
    await plugin.dispose()
    plugin = await host.load()
    expect(host.graphTools().get('edited')?.definition).toBe(mended)
    expect(host.warnings()).toHaveLength(1)
  })

  it('stays with the first where no stack tells the files', async () => {
    const host = await bootGraphs()
    const capture = vi.spyOn(Error, 'captureStackTrace').mockImplementation(() => {
      throw new Error('locked')
    })
    const first = define({ ...tool, name: 'echo' })
    await Promise.resolve()
    define({ ...tool, name: 'echo' })
    capture.mockRestore()
    expect(host.graphTools().get('echo')?.definition).toBe(first)
    expect(host.warnings()).toEqual([expect.stringMatching(/^graph "echo" is skipped: /)])
  })

  it('goes to a definition from elsewhere that asks for it', async () => {
    const host = await bootGraphs()
    vi.resetModules()
    const { one } = await import('./fixtures/one.ts')
    published(one)
    const newer = define({ ...tool, name: 'from_two_files', replace: true })
    expect(host.graphTools().get('from_two_files')?.definition).toBe(newer)
    expect(host.warnings()).toEqual([])
  })

  it('is a duplicate for mount while its own definition is mounted (R100)', async () => {
    const host = await bootGraphs()
    const definition = define({ ...tool, name: 'echo' })
    expect(() => host.graphTools().mount(definition, host.ctx)).toThrow(
      /already listed.*use createGraphDefinition/,
    )
    host.graphTools().mount(createGraphDefinition({ ...tool, name: 'other' }), host.ctx)
    expect(host.toolNames()).toEqual(['echo', 'other'])
  })
})

it('registers without compiling anything (R62)', async () => {
  const compile = vi.spyOn(StateGraph.prototype, 'compile')
  const host = await bootGraphs()
  define({ name: 'described', build: echoBuilder, asTool: true })
  host.graphTools().register(echoBuilder(), host.ctx, { name: 'registered' })
  host.graphTools().create(echoBuilder(), { name: 'converted' })
  host.graphTools().get('described')
  host.graphTools().list()
  expect(compile).not.toHaveBeenCalled()
  compile.mockRestore()
})
