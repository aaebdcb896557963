import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import * as graphRuntime from '../src/index.ts'
import { echoBuilder, topicOnly } from './graphs.ts'
import { bootGraphs, bootTools, define, valueOf } from './host.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(resolve(root, file), 'utf8')

describe('the package', () => {
  const manifest = JSON.parse(read('package.json')) as {
    name: string
    files: string[]
    dsh: { bundle: { patch: string } }
    dependencies: Record<string, string>
  }

  it('is a bundle whose patch inserts one row (R1) (R2)', () => {
    expect(manifest.name).toBe('dsh-graph-runtime')
    expect(manifest.dsh.bundle.patch).toBe('./cordis.patch.yml')
    expect(parse(read('cordis.patch.yml'))).toEqual([
      { insert: [{ id: 'graph-runtime', name: 'dsh-graph-runtime' }] },
    ])
  })

  it('ships built code, its patch and its texts, and nothing native (R6)', () => {
    for (const file of ['cordis.patch.yml', 'LICENSE', 'icon.svg', 'locale/en.json', 'locale/zh.json']) {
      expect(existsSync(resolve(root, file))).toBe(true)
    }
    expect(manifest.files).toEqual(expect.arrayContaining(['dist', 'locale', 'icon.svg', 'cordis.patch.yml']))
    expect(Object.keys(manifest.dependencies)).toEqual([
      '@langchain/core',
      '@langchain/langgraph',
      'string-width',
    ])
    expect(Object.keys(JSON.parse(read('locale/zh.json')) as object)).toEqual(['meta'])
  })

  it('has a module that a row can name, without a default export (R3) (R7)', () => {
    expect(graphRuntime).toMatchObject({ name: 'graph-runtime', inject: ['tools'] })
    expect(graphRuntime).not.toHaveProperty('default')
    expect(Object.keys(graphRuntime).toSorted()).toEqual([
      'Config',
      'GraphDefinitionError',
      'GraphDuplicateError',
      'GraphError',
      'GraphInterruptedError',
      'GraphOutputError',
      'GraphResultError',
      'GraphRoutingAgent',
      'GraphRoutingConfigError',
      'GraphRoutingError',
      'GraphRoutingModelError',
      'GraphThreadError',
      'GraphTimeoutError',
      'GraphUnmountedError',
      'GraphValidationError',
      'apply',
      'createGraphDefinition',
      'createGraphTool',
      'defineGraph',
      'inject',
      'name',
    ])
  })

  it('loads no LangChain module and starts nothing when it is imported (R8)', () => {
    const script = `
      import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ resolve: (spec, context, next) => {
        const found = next(spec, context)
        seen.push(found.url)
        return found
      } })
      const runtime = await import(${JSON.stringify(resolve(root, 'src/index.ts'))})
      runtime.defineGraph({ name: 'early', build: () => { throw new Error('not yet') } })
      const { Context } = await import('@deepseek-ai/cordis')
      console.log(JSON.stringify({
        langchain: seen.filter((url) => /langchain|langsmith/.test(url)),
        own: seen.filter((url) => url.includes('/graph-runtime/src/')).length,
        service: new Context().get('graphTools') ?? null,
      }))`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
    const seen = JSON.parse(stdout) as Record<string, unknown>
    expect(seen).toMatchObject({ langchain: [], service: null })
    expect(seen['own']).toBeGreaterThan(10)
  })
})

it('loads LangGraph when a graph first goes on from an answer, and not before', () => {
  const script = resolve(root, 'tests/fixtures/resume-process.ts')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', script], {
    encoding: 'utf8',
    timeout: 20_000,
  })
  expect([status, stderr]).toEqual([0, ''])
  const seen = JSON.parse(stdout) as Record<string, unknown>
  expect(seen).toMatchObject({ imported: [], plain: {}, afterCall: [] })
  expect(seen['resumed']).toEqual({ answer: { one: 'aye' } })
  expect(seen['afterResume']).toContainEqual(expect.stringMatching(/@langchain\/langgraph\/dist\/index\.js$/))
})

describe('the row', () => {
  it('boots without configuration on a host with tools only (R3) (R5) (R9)', async () => {
    const host = await bootTools()
    expect(host.ctx.get('graphTools')).toBeUndefined()
    await host.load()
    expect(host.graphTools().list()).toEqual([])
  })

  it('waits for ctx.tools', async () => {
    const { Context } = await import('@deepseek-ai/cordis')
    const ctx = new Context()
    void ctx.plugin(graphRuntime, {})
    await new Promise((done) => setImmediate(done))
    expect(ctx.get('graphTools')).toBeUndefined()
    await ctx.fiber.dispose()
  })

  it('given twice is live once, and the other takes over (4.8 row 65) (R4)', async () => {
    const host = await bootTools()
    define({ name: 'echo', build: echoBuilder, parameters: topicOnly, asTool: true })
    const [first] = await Promise.all([host.load(), host.load()])
    expect(host.toolNames()).toEqual(['echo'])
    await first.dispose()
    expect(host.toolNames()).toEqual(['echo'])
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toMatchObject({ log: ['seen:x'] })
    expect(host.warnings()).toEqual([])
  })

  it('is typed on the context of its dependants', async () => {
    const host = await bootGraphs()
    let names: readonly string[] | undefined
    await host.ctx.plugin({
      name: 'reader',
      inject: ['graphTools'],
      apply: (ctx) => void (names = ctx.graphTools.list().map((entry) => entry.name)),
    })
    expect(names).toEqual([])
  })
})
