/**
 * The life of an install in the headless profile: add, boot, supervise, restart, remove, add again.
 * The real `dsh` process; everything is read from its output, from the wire, or from the disk.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WireRequest } from '../support/chat-wire.ts'
import type { DshBench, Finished } from '../support/dsh-process.ts'
import { readLog, streamsOf, type LoggedEntry } from '../support/graph-log.ts'
import { installedIn, pathsUnder, profileFiles, tracesOf } from '../support/profile-files.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { ALPHA, BETA, GAMMA, speakerOf, supervisingModel } from '../support/supervising-model.ts'

const TOOLS = ['update_agent_graph', 'view_agent_graph', 'yield_agent_graph']
const MEMBERS = [
  'dsh-agent-loop-host',
  'dsh-durable-log',
  'dsh-graph-control',
  'dsh-graph-host',
  'dsh-graph-runtime',
  'dsh-tool-graph',
]
const OURS = /dsh-(?:graph|agent-loop-host|durable-log|tool-graph|llm-scripted)/u
const TASK = 'Gather both halves and join them.'

let stage: Stage
let bench: DshBench
let profile: string
let logPath: string

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  profile = bench.profileDir('headless')
  logPath = join(bench.home, 'graph', 'log.sqlite')
})

afterAll(() => stage?.[Symbol.asyncDispose]())

function graphToolsOf(request: WireRequest): string[] {
  return request.toolNames.filter((name) => name.endsWith('_agent_graph')).sort()
}

/** One supervised task from prompt to answer. */
async function supervise(): Promise<{ finished: Finished; requests: readonly WireRequest[]; nonce: string }> {
  const model = supervisingModel()
  stage.llm.play(model.respond)
  const finished = await bench.run('--profile', 'headless', TASK)
  return { finished, requests: stage.llm.requests, nonce: model.nonce() ?? 'no operator made one' }
}

function graphStreams(entries: readonly LoggedEntry[]): (readonly LoggedEntry[])[] {
  return [...streamsOf(entries)].flatMap(([stream, own]) => (stream.startsWith('graph/') ? [own] : []))
}

/** How many deliveries of wakes ended like this. */
function deliveries(graph: readonly LoggedEntry[], status: string): number {
  return graph.filter(({ type, data }) => type === 'wake-settled' && data['status'] === status).length
}

describe('a profile that has another package already', () => {
  let before: Readonly<Record<string, string>>
  let first: Awaited<ReturnType<typeof supervise>>
  let afterFirst: readonly LoggedEntry[]
  let afterSecond: readonly LoggedEntry[]

  beforeAll(async () => {
    await bench.plugin('headless', 'add', 'yaml')
    before = profileFiles(profile)
    stage.registry.forget()
  })

  it('takes the packed meta bundle and its members', async () => {
    const { tarball } = stage.package('dsh-graph')
    await bench.plugin('headless', 'add', tarball)
    const manifest = JSON.parse(readFileSync(join(profile, 'package.json'), 'utf8'))
    expect(manifest.dependencies).toEqual({ yaml: expect.any(String), 'dsh-graph': `file:${tarball}` })
    expect(manifest.dsh.profile.bundles).toEqual([
      '@deepseek-ai/dsh-base',
      '@deepseek-ai/dsh-headless',
      'dsh-graph',
    ])
    expect(installedIn(profile)).toEqual(expect.arrayContaining(['dsh-graph', ...MEMBERS]))
  })

  it('gets no copy of a host package, and none is asked for', () => {
    expect(pathsUnder(profile).filter((path) => path.includes('@deepseek-ai'))).toEqual([])
    expect(stage.registry.asked).toEqual(expect.arrayContaining(MEMBERS))
    expect(stage.registry.asked.filter((name) => name.startsWith('@deepseek-ai/'))).toEqual([])
    expect(stage.registry.refused).toEqual([])
  })

  it('shows the layer and its rows in the composed configuration', async () => {
    const { stdout } = await bench.succeed('--profile', 'headless', '--dump-config')
    const [, layer = ''] = stdout.split(/^# == dsh-graph$/mu)
    const rows = parse(layer) as { id: string; name: string }[]
    expect(rows.map(({ name }) => name).sort()).toEqual(['dsh-graph', ...MEMBERS].sort())
    expect(rows.filter(({ id }) => !id.startsWith('dsh-graph'))).toEqual([])
  })

  it('supervises a graph from prompt to answer', async () => {
    first = await supervise()
    expect(stage.llm.failures).toEqual([])
    expect(first.finished).toMatchObject({ code: 0, stderr: '' })
    expect(first.nonce).toMatch(/^[0-9a-f]{24}$/u)
    expect(first.finished.stdout).toBe(`The graph is done. The joined nonce ${first.nonce} is the answer.\n`)
  })

  it('offers tools and section to the root session', () => {
    const roots = first.requests.filter((request) => speakerOf(request) === 'root')
    expect(roots.length).toBeGreaterThanOrEqual(4)
    for (const request of roots) {
      expect(graphToolsOf(request)).toEqual(TOOLS)
      expect(request.system).toContain('You can supervise an agent graph')
    }
  })

  it('runs operators as conversations of their own, without the tools', () => {
    const operators = first.requests.filter((request) =>
      ['alpha', 'beta', 'gamma'].includes(speakerOf(request)),
    )
    expect(operators.map(speakerOf).sort()).toEqual(['alpha', 'beta', 'gamma'])
    for (const request of operators) {
      expect(graphToolsOf(request)).toEqual([])
      expect(request.toolNames).toContain('bash')
      expect(request.system).not.toContain('You can supervise an agent graph')
      expect(request.userTexts.join('\n')).not.toContain(TASK)
    }
  })

  it('hands the results of its inputs to the third work as data', () => {
    const gamma = first.requests.find((request) => speakerOf(request) === 'gamma')
    const prompt = gamma?.userTexts.find((text) => text.includes(GAMMA)) ?? ''
    expect(prompt).toMatch(
      new RegExp(
        `<input work="alpha" record="graph_record_[0-9a-f]{32}"[^>]*>\\s*The first half is nonce ${first.nonce}\\.\\s*</input>`,
        'u',
      ),
    )
    expect(prompt).toContain('The second half is &lt;plain&gt; &amp; simple.')
    expect(prompt).not.toContain(ALPHA)
    expect(prompt).not.toContain(BETA)
  })

  it('wakes the root with a message of its own, not with a repeated prompt', () => {
    const woken = first.requests.filter(
      (request) => speakerOf(request) === 'root' && request.last?.role === 'user' && request.index > 0,
    )
    expect(woken.length).toBeGreaterThanOrEqual(1)
    for (const request of woken) expect(request.lastSaid).toMatch(/^Agent graph agent_graph_[0-9a-f]{32}: /u)
    expect(woken.at(-1)?.lastSaid).toContain('3/3 works ended, 0 pending')
  })

  it('keeps every transition of the graph in the durable log', () => {
    afterFirst = readLog(logPath)
    for (const own of streamsOf(afterFirst).values())
      expect(own.map(({ seq }) => seq)).toEqual(own.map((_, index) => index + 1))
    const [graph = [], ...others] = graphStreams(afterFirst)
    expect(others).toEqual([])
    const count = (type: string) => graph.filter((entry) => entry.type === type).length
    expect(graph[0]?.type).toBe('graph/opened')
    expect({
      update: count('update'),
      provision: count('provision'),
      claim: count('claim'),
      begin: count('begin'),
      retry: count('retry'),
      settle: count('settle'),
    }).toEqual({ update: 2, provision: 3, claim: 3, begin: 3, retry: 0, settle: 3 })
    const settled = graph.filter(({ type }) => type === 'settle')
    expect(settled.map(({ data }) => data['outcome'])).toEqual(['completed', 'completed', 'completed'])
    const wakes = graph.filter(({ type }) => type === 'wake-settled')
    expect(['exhausted', 'retryable_failed'].filter((status) => deliveries(graph, status) > 0)).toEqual([])
    expect(wakes.at(-1)?.data['status']).toBe('delivered')
  })

  it('has begun both inputs before either ended, and the third only after both', () => {
    const [graph = []] = graphStreams(afterFirst)
    const steps = graph.flatMap(({ type }) => (type === 'begin' || type === 'settle' ? [type] : []))
    expect(steps).toEqual(['begin', 'begin', 'settle', 'settle', 'begin', 'settle'])
  })

  it('finishes with the record whose stored result carries the nonce', () => {
    const [graph = []] = graphStreams(afterFirst)
    const finish = graph
      .filter(({ type }) => type === 'update')
      .map(({ data }) => (data['update'] as { finish?: { resultIds: string[] } }).finish)
      .find((found) => found !== undefined)
    const [recordId = ''] = finish?.resultIds ?? []
    const prefix = `${(graph[0]?.stream ?? '').replace(/^graph/u, 'result')}/${recordId}/`
    const stored = [...streamsOf(afterFirst)].filter(([stream]) => stream.startsWith(prefix))
    expect(stored).toHaveLength(1)
    const text = stored
      .flatMap(([, entries]) => entries)
      .filter(({ type }) => type === 'chunk')
      .map(({ data }) => data['text'])
      .join('')
    expect(text).toBe(`Joined: nonce ${first.nonce}.`)
  })

  it('settles one run for each operator and each wake', () => {
    const runs = [...streamsOf(afterFirst)].filter(([stream]) => stream.startsWith('run/'))
    const [graph = []] = graphStreams(afterFirst)
    const settled = runs.flatMap(([, own]) => own.filter(({ type }) => type === 'run/settled'))
    expect(settled.map(({ data }) => data['state'])).toEqual(settled.map(() => 'ok'))
    expect(settled).toHaveLength(3 + deliveries(graph, 'delivered'))
  })

  it('lets nobody else read the log', () => {
    expect(statSync(logPath).mode & 0o777).toBe(0o600)
    expect(statSync(join(bench.home, 'graph')).mode & 0o777).toBe(0o700)
  })

  it('boots again beside its data and leaves it as it is', async () => {
    stage.llm.play(() => ({ text: 'Nothing to supervise.' }))
    const { stdout } = await bench.succeed('--profile', 'headless', 'Say something.')
    expect(stdout).toBe('Nothing to supervise.\n')
    const now = readLog(logPath)
    expect(now.slice(0, afterFirst.length)).toEqual(afterFirst)
    // Of the new session there is what happened in its one turn, and nothing else.
    const added = now.slice(afterFirst.length).map(({ stream }) => stream)
    expect(new Set(added.map((stream) => stream.replace(/_session-.*$/u, '')))).toEqual(
      new Set(['run-events/turn']),
    )
    afterSecond = now
  })

  it('is as before when the bundle is removed', async () => {
    await bench.plugin('headless', 'remove', 'dsh-graph')
    expect(profileFiles(profile)).toEqual(before)
    expect(tracesOf(OURS, profile)).toEqual([])
    expect(installedIn(profile)).toEqual(['yaml'])
  })

  it('boots without the tools then, and the data stays', async () => {
    stage.llm.play(() => ({ text: 'No graphs here.' }))
    const { stdout } = await bench.succeed('--profile', 'headless', 'Say something.')
    expect(stdout).toBe('No graphs here.\n')
    expect(stage.llm.requests.flatMap(graphToolsOf)).toEqual([])
    expect(readLog(logPath)).toEqual(afterSecond)
  })

  it('takes the bundle by name, finds the data, and goes on beside it', async () => {
    await bench.plugin('headless', 'add', `dsh-graph@${stage.package('dsh-graph').version}`)
    const { finished, nonce } = await supervise()
    expect(stage.llm.failures).toEqual([])
    expect(finished).toMatchObject({ code: 0 })
    expect(finished.stdout).toContain(nonce)
    const now = readLog(logPath)
    expect(now.slice(0, afterFirst.length)).toEqual(afterFirst)
    expect(graphStreams(now)).toHaveLength(2)
  })
})

describe('a fresh profile', () => {
  it('keeps nothing of the bundle but what the package manager makes of an empty list', async () => {
    const fresh = stage.bench()
    const dir = fresh.profileDir('headless')
    await fresh.plugin('headless', 'install')
    const before = profileFiles(dir)
    await fresh.plugin('headless', 'add', stage.package('dsh-graph').tarball)
    await fresh.plugin('headless', 'remove', 'dsh-graph')
    const after = profileFiles(dir)
    expect(after['cordis.patch.yml']).toBe(before['cordis.patch.yml'])
    expect(after['pnpm-workspace.yaml']).toBe(before['pnpm-workspace.yaml'])
    const manifest = (text: string | undefined) => ({ dependencies: {}, ...JSON.parse(text ?? '') })
    expect(manifest(after['package.json'])).toEqual(manifest(before['package.json']))
    expect(tracesOf(OURS, dir)).toEqual([])
    expect(existsSync(join(fresh.home, 'graph'))).toBe(false)
  })
})
