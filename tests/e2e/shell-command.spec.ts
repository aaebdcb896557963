/**
 * The shell command beside the real `dsh`: it looks at the database of a headless session while that
 * works and after it has gone, and acts through it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DshBench, DshProcess, Finished } from '../support/dsh-process.ts'
import { DshWeb, type SessionEvent } from '../support/dsh-web.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { speakerOf, supervisingModel, type SupervisingModel } from '../support/supervising-model.ts'

const LOOK_MS = 50
const PATIENCE_MS = 60_000
const ENVIRONMENT = { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin` }

interface Shown {
  readonly graph: { readonly graphId: string; readonly rootSessionId: string; readonly phase: string }
  readonly works: readonly { readonly workId: string; readonly status: string; readonly waitsFor?: string }[]
}

let stage: Stage
let bench: DshBench

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  await bench.plugin('headless', 'add', stage.package('dsh-graph').tarball)
  await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
})

afterAll(() => stage?.[Symbol.asyncDispose]())

/** The command as the profile has it. */
function shell(profile: string, ...args: string[]): Promise<Finished> {
  const file = join(bench.profileDir(profile), 'node_modules', '.bin', 'dsh-graph')
  return finished(
    spawn(file, args, {
      env: { ...ENVIRONMENT, DSH_HOME: bench.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

function finished(child: ChildProcess): Promise<Finished> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stderr, stdout } = await shell('headless', ...args, '--json')
  if (code !== 0) throw new Error(`dsh-graph ${args.join(' ')} ended ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}

async function whenTrue<T>(look: () => Promise<T | undefined>): Promise<T> {
  const latest = Date.now() + PATIENCE_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > latest) throw new Error(`did not come true: ${look.toString()}`)
    await pause(LOOK_MS)
  }
}

function runFiles(): readonly string[] {
  const folder = join(bench.home, 'graph', 'run')
  return existsSync(folder) ? readdirSync(folder) : []
}

describe('beside a headless session', () => {
  const released = Promise.withResolvers<void>()
  const retried = Promise.withResolvers<void>()
  let model: SupervisingModel
  let session: DshProcess
  let graphId: string

  beforeAll(async () => {
    model = supervisingModel()
    stage.llm.play(async (request) => {
      // The join is held back until it was looked at.
      if (speakerOf(request) === 'gamma') await released.promise
      if (speakerOf(request) === 'root' && request.lastSaid.includes('gamma stopped')) {
        // The session would end, having nothing to wait for, if it spoke before the work was retried.
        await retried.promise
        return { text: 'A person stopped the join.' }
      }
      return model.respond(request)
    })
    session = bench.start('--profile', 'headless', 'Gather both halves and join them.')
    graphId = await whenTrue(async () => {
      if (!existsSync(join(bench.home, 'graph', 'log.sqlite'))) return undefined
      const { graphs } = await json<{ graphs: readonly { graphId: string }[] }>('list')
      return graphs[0]?.graphId
    })
    await whenTrue(async () => {
      const { works } = await json<Shown>('show', graphId)
      return works.some(({ status, workId }) => workId === 'gamma' && status === 'running') ? true : undefined
    })
  })

  it('shows what runs, and what each work waits for', async () => {
    const { graph, works } = await json<Shown>('show', graphId)
    expect(graph).toMatchObject({ graphId, phase: 'open' })
    expect(works.map(({ status, waitsFor, workId }) => [workId, status, waitsFor])).toEqual([
      ['alpha', 'completed', undefined],
      ['beta', 'completed', undefined],
      ['gamma', 'running', 'its operator'],
    ])
    const { stdout } = await shell('headless', 'show', graph.rootSessionId)
    expect(stdout).toContain('3 works: 1 running, 2 completed')
    expect(stdout).toContain('übung')
  })

  it('tells of the host by a file for its user only', async () => {
    const [name = ''] = runFiles()
    expect(runFiles()).toHaveLength(1)
    const path = join(bench.home, 'graph', 'run', name)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const { port } = JSON.parse(readFileSync(path, 'utf8')) as { port: number }
    const stranger = await fetch(`http://127.0.0.1:${port}/v1/doctor`, { method: 'POST', body: '{}' })
    expect(stranger.status).toBe(401)
  })

  it('looks through the session itself, when it is told to', async () => {
    const [name = ''] = runFiles()
    const pid = /^\d+/u.exec(name)?.[0] ?? ''
    const straight = await json<Shown>('show', graphId)
    const asked = await json<Shown>('show', graphId, '--host', pid)
    expect(asked.works.map(({ status, workId }) => [workId, status])).toEqual(
      straight.works.map(({ status, workId }) => [workId, status]),
    )
    expect((await shell('headless', 'list', '--host', '1')).code).toBe(5)
  })

  it('folds the graph anew while it runs', async () => {
    expect(await shell('headless', 'replay-check')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('0 bad'),
    })
  })

  it('reports without secrets or homes', async () => {
    const { code, stdout } = await shell('headless', 'doctor')
    expect(stdout).toMatch(/host \d+: services/u)
    expect(stdout).toMatch(/agentLoopHost +found/u)
    expect(stdout).toMatch(/backend +sqlite/u)
    expect(stdout).toMatch(/subagent +1 of 8 active/u)
    expect(stdout).not.toContain(bench.home)
    expect({ code, stdout }).toMatchObject({ code: 0 })
  })

  it('stops and retries a work through the session, which ends well all the same', async () => {
    expect(await shell('headless', 'confirm', graphId, 'gamma')).toMatchObject({ code: 4 })
    const stopped = await shell('headless', 'stop', graphId, 'gamma', '--reason', 'a person wants it anew')
    expect(stopped).toMatchObject({ code: 0, stdout: 'work gamma is stopped\n' })
    await whenTrue(async () =>
      (await shell('headless', 'retry', graphId, 'gamma')).code === 0 ? true : undefined,
    )
    retried.resolve()
    released.resolve()
    const finished = await session.end()
    expect(stage.llm.failures).toEqual([])
    expect(finished.stdout).toBe(`The graph is done. The joined nonce ${model.nonce()} is the answer.\n`)
    expect(finished.code).toBe(0)
  })

  it('reads the database after the session has gone, and no more', async () => {
    expect(runFiles()).toEqual([])
    const { graph, works } = await json<Shown>('show', graphId)
    expect(graph.phase).toBe('closed')
    expect(works.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    const mermaid = await shell('headless', 'export', graphId, '--format', 'mermaid')
    expect(mermaid.stdout).toContain('w1 --> w3')
    const { stdout } = await shell('headless', 'timeline', graphId, '--limit', '200')
    expect(stdout).toContain('a person wants it anew')
    expect(stdout).toContain('schedule finished')
    expect(await json('metrics', graphId)).toMatchObject({
      worksByStatus: { completed: 3 },
      retries: { works: 1 },
    })
    expect((await shell('headless', 'replay-check')).code).toBe(0)
    expect(await shell('headless', 'stop', graphId, 'all')).toMatchObject({ code: 5, stdout: '' })
    expect((await shell('headless', 'show', 'nothing')).code).toBe(3)
  })

  it('ends in peace when its reader has had enough, and says so where there is no home', async () => {
    const command = join(bench.profileDir('headless'), 'node_modules', '.bin', 'dsh-graph')
    const piped = (script: string): Promise<Finished> =>
      finished(spawn('bash', ['--norc', '-c', script], { env: { ...ENVIRONMENT, DSH_HOME: bench.home } }))
    const many = `for i in 1 2 3; do "${command}" export ${graphId} --format json | head -c 10; done`
    expect(await piped(many)).toMatchObject({ code: 0, stderr: '' })
    const counted = await piped(`"${command}" show ${graphId} --all | head -1; echo "\${PIPESTATUS[0]}"`)
    expect(counted).toMatchObject({ stderr: '', stdout: expect.stringMatching(/^agent graph .*\n0\n$/u) })
    const nowhere = await shell('headless', 'list', '--home', join(bench.workspace, 'nowhere'))
    expect(nowhere).toMatchObject({
      code: 6,
      stdout: '',
      stderr: expect.stringContaining('no graph was kept'),
    })
  })
})

describe('beside the web app', () => {
  it('installs a preset whose sessions supervise, where the row lets no others', async () => {
    appendFileSync(
      join(bench.home, 'cordis.patch.yml'),
      '- id: dsh-graph-tool-graph\n  config:\n    sessions: none\n',
    )
    const web = await DshWeb.boot(bench)
    await whenTrue(async () => (runFiles().length === 1 ? true : undefined))
    const installed = await shell('web', 'preset', 'install')
    expect(installed).toMatchObject({ code: 0, stderr: '' })
    expect(await shell('web', 'preset', 'install')).toMatchObject({ code: 4 })
    /** Tools of one prompt's request: all of them, and ours. */
    const toolsOf = async (sessionId: string): Promise<{ all: number; ours: number }> => {
      const turns = (await web.history(sessionId)).filter(({ type }) => type === 'turn/end').length
      stage.llm.play(() => ({ text: 'Hello.' }))
      await web.prompt(sessionId, 'Say hello.')
      const hasEnded = (events: readonly SessionEvent[]) =>
        events.filter(({ type }) => type === 'turn/end').length > turns
      await web.historyWhere(sessionId, hasEnded)
      const names = stage.llm.requests.find(({ toolNames }) => toolNames.length > 0)?.toolNames ?? []
      return { all: names.length, ours: names.filter((name) => name.endsWith('_agent_graph')).length }
    }
    const ordinary = await web.createSession({ cwd: bench.workspace })
    const { all, ours } = await toolsOf(ordinary)
    expect(ours).toBe(0)
    const sessionId = await web.createSession({ cwd: bench.workspace, agentPreset: 'graph' })
    expect(await toolsOf(sessionId)).toEqual({ all: all + 3, ours: 3 })
    expect((await shell('web', 'on', ordinary)).code).toBe(0)
    expect(await toolsOf(ordinary)).toEqual({ all: all + 3, ours: 3 })
    expect((await shell('web', 'off', sessionId)).code).toBe(0)
    expect(await toolsOf(sessionId)).toEqual({ all, ours: 0 })
    await web.stop()
    expect(runFiles()).toEqual([])
  })
})
