/**
 * The doors of the agent-loop host in the real `dsh web`: unary RPC, a WebSocket, the shell command, a
 * slash command.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentCall, agentRpc, type RpcAnswer } from '../support/agent-rpc.ts'
import type { DshBench, Finished } from '../support/dsh-process.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

interface Told {
  readonly type: string
  readonly event?: {
    readonly seq: number
    readonly firstSeq?: number
    readonly stream: string
    readonly runId: string
  }
}

let stage: Stage
let bench: DshBench
let web: DshWeb
let sessionId: string
/** Answers that the model holds back, by a word of the prompt. */
const gates = new Map<string, PromiseWithResolvers<string>>()

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  stage.llm.play(async (request) => {
    for (const [word, { promise }] of gates)
      if (request.lastSaid.includes(word)) return { text: await promise }
    return { text: `You said: ${request.lastSaid}` }
  })
  await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
  web = await DshWeb.boot(bench)
  sessionId = await web.createSession({ cwd: bench.workspace })
})

afterAll(() => stage?.[Symbol.asyncDispose]())

function hold(word: string): (answer: string) => void {
  const gate = Promise.withResolvers<string>()
  gates.set(word, gate)
  return gate.resolve
}

function rpc(method: string, payload: object, headers?: Record<string, string>): Promise<RpcAnswer> {
  return agentRpc(web.url, method, payload, headers)
}

function value<T>(method: string, payload: object): Promise<T> {
  return agentCall<T>(web.url, method, payload)
}

/** The command as the profile has it. */
function shell(...args: string[]): Promise<Finished> {
  const file = join(bench.profileDir('web'), 'node_modules', '.bin', 'dsh-agent')
  const child = spawn(file, args, {
    env: { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`, DSH_HOME: bench.home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}

/** A browser's own client: everything it was told until the socket closed. */
function listen(query: string): {
  readonly told: Told[]
  readonly first: Promise<void>
  readonly closed: Promise<number>
} {
  const socket = new WebSocket(`${web.url.replace('http', 'ws')}/agent-loop/events?${query}`)
  const told: Told[] = []
  const first = Promise.withResolvers<void>()
  socket.addEventListener('message', ({ data }) => {
    told.push(JSON.parse(String(data)) as Told)
    first.resolve()
  })
  const closed = new Promise<number>((resolve) =>
    socket.addEventListener('close', ({ code }) => resolve(code)),
  )
  return { told, first: first.promise, closed }
}

describe('the web server', () => {
  it('accepts a run for the page, tells its events over a WebSocket, and answers how it went', async () => {
    const answer = hold('weather')
    const { runId } = await value<{ runId: string }>('agent', {
      sessionId,
      message: 'What is the weather?',
      idempotencyKey: 'weather',
    })
    const events = listen(`runId=${runId}`)
    await events.first
    expect(await value('agent.wait', { runId, timeoutMs: 0 })).toMatchObject({
      status: 'timeout',
      state: 'running',
    })
    expect(await value('lanes', {})).toMatchObject({
      lanes: [{ sessionId, running: runId }],
      metrics: expect.arrayContaining([expect.objectContaining({ lane: 'main', active: 1 })]),
    })
    answer('Rain, all day.')
    expect(await value('agent.wait', { runId })).toMatchObject({
      status: 'ok',
      reply: 'Rain, all day.',
      result: { payloads: [{ kind: 'answer', text: 'Rain, all day.' }] },
    })
    expect(await events.closed).toBe(1000)
    expect(events.told.at(-1)).toEqual({ type: 'end' })
    const seqs = events.told.flatMap(({ event }) => (event === undefined ? [] : [event]))
    let position = 0
    for (const { firstSeq, seq } of seqs) {
      expect(firstSeq ?? seq).toBe(position + 1)
      position = seq
    }
    expect(seqs.at(-1)?.stream).toBe('lifecycle')
    const again = await rpc('agent', { sessionId, message: 'Something else', idempotencyKey: 'weather' })
    expect(again.result?.error).toMatchObject({ code: 'bad-request', details: { code: 'conflict' } })
  })

  it('takes a change from nobody else, except with the token of the run file', async () => {
    const asked = { sessionId, message: 'Hello from a script.', idempotencyKey: 'script' }
    expect((await rpc('agent', asked, {})).status).toBe(401)
    expect((await rpc('agent', asked, { origin: 'http://evil.example' })).status).toBe(403)
    expect((await rpc('lanes', {}, { host: 'evil.example' })).status).toBe(403)
    const folder = join(bench.home, 'graph', 'run')
    const [name = ''] = existsSync(folder) ? readdirSync(folder) : []
    const { token } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { token: string }
    const { result } = await rpc('agent', asked, { authorization: `Bearer ${token}` })
    expect(result).toMatchObject({ ok: true })
    const { runId } = (result as { value: { runId: string } }).value
    expect(await value('agent.wait', { runId })).toMatchObject({ reply: 'You said: Hello from a script.' })
  })

  it('tells the events of a turn that a person began', async () => {
    const answer = hold('person')
    const events = listen(`sessionId=${sessionId}`)
    await web.prompt(sessionId, 'A person asks.')
    await events.first
    answer('A person is answered.')
    await web.historyWhere(sessionId, (history) => JSON.stringify(history).includes('A person is answered.'))
    const [first] = events.told
    expect(first?.event?.runId).toMatch(/^turn_/u)
    expect(await value('agent.wait', { runId: first?.event?.runId ?? '' }).catch(String)).toContain(
      'run-not-found',
    )
  })
})

describe('a provider that never answers', () => {
  it('holds the session up no longer than the limits of its run, and nobody else', async () => {
    hold('silence')
    const asked = { sessionId, message: 'Listen to the silence.', idempotencyKey: 'silence', timeoutMs: 500 }
    const { runId } = await value<{ runId: string }>('agent', asked)
    const next = await value<{ runId: string }>('agent', {
      sessionId,
      message: 'And now?',
      idempotencyKey: 'after the silence',
    })
    expect(await value('agent.wait', { runId })).toMatchObject({ error: { code: 'run-timeout' } })
    expect(await value('agent.wait', { runId: next.runId, timeoutMs: 40_000 })).toMatchObject({
      reply: 'You said: And now?',
    })
  })
})

describe('the shell command', () => {
  it('accepts, waits, follows and aborts, and always exits with a code that tells how it went', async () => {
    const answer = hold('errand')
    const accepted = await shell('agent', '--session', sessionId, '-m', 'An errand.', '--json')
    expect(accepted.code).toBe(0)
    const { runId } = JSON.parse(accepted.stdout) as { runId: string }
    expect((await shell('wait', runId, '--timeout', '0.2')).code).toBe(124)
    const following = shell('events', runId, '--follow', '--json')
    const lanes = await shell('lanes', '--json')
    expect(JSON.parse(lanes.stdout)).toMatchObject({ lanes: [{ sessionId, running: runId }] })
    answer('Done.')
    expect(await shell('wait', runId)).toMatchObject({ code: 0, stdout: `${runId} ended ok\nDone.\n` })
    const followed = await following
    expect(followed.code).toBe(0)
    expect(JSON.parse(followed.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      data: { phase: 'end' },
    })
    hold('tedious')
    const open = (await shell('agent', '--session', sessionId, '-m', 'A tedious matter.')).stdout.trim()
    expect(await shell('abort', open)).toMatchObject({ code: 0, stdout: `aborted ${open}\n` })
    expect((await shell('wait', open)).code).toBe(1)
    // What was left unanswered is said again with the next message.
    gates.delete('tedious')
    expect((await shell('wait', 'nobody')).code).toBe(3)
    expect((await shell('dance')).code).toBe(2)
  })
})

describe('the slash command', () => {
  it('sets the queue of the session, which the shell shows', async () => {
    const typed = { agentId: sessionId, line: '/queue collect cap:7', images: [] }
    expect(await web.call('commands/execute', { args: typed })).toMatchObject({
      result: { kind: 'success', text: expect.stringContaining('at most 7 wait') },
    })
    const shown = await shell('queue', sessionId)
    expect(shown.stdout).toContain('"collect"')
    expect(shown.stdout).toContain('at most 7 wait')
    expect(await value('settings', { sessionId })).toMatchObject({ queue: { mode: 'collect', cap: 7 } })
  })
})

describe('after the end of dsh', () => {
  it('the shell reads what is kept, and nothing answers', async () => {
    const { runId } = await value<{ runId: string }>('agent', {
      sessionId,
      message: 'The last one.',
      idempotencyKey: 'last',
    })
    expect(await value('agent.wait', { runId })).toMatchObject({ status: 'ok' })
    expect(await web.stop()).toMatchObject({ code: 0 })
    expect(await shell('wait', runId)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The last one.'),
    })
    expect((await shell('lanes')).code).toBe(5)
    expect((await shell('agent', '--session', sessionId, '-m', 'hello')).code).toBe(5)
  })
})
