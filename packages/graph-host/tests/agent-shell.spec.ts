/** `dsh-agent` against a host in this process, and against what one has left behind. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { AgentEvent } from 'dsh-agent-loop-host'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AGENT_EXIT, main } from '../src/agent-shell.ts'
import { runFolder, runningHosts } from '../src/door/run-file.ts'
import { Host, temporaryFolder, until } from './host.ts'

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

class Shell {
  readonly home: string
  readonly host: Host
  private readonly undo: () => void

  private constructor(home: string, host: Host, undo: () => void) {
    this.home = home
    this.host = host
    this.undo = undo
  }

  /** A home with a host that has its door open, and one session. */
  static async open(): Promise<Shell> {
    const home = await temporaryFolder()
    const before = process.env['DSH_HOME']
    process.env['DSH_HOME'] = home
    const undo = (): void => {
      if (before === undefined) delete process.env['DSH_HOME']
      else process.env['DSH_HOME'] = before
    }
    onTestFinished(undo)
    const folder = join(home, 'graph')
    mkdirSync(folder)
    const host = await Host.boot({ folder, config: { door: true } })
    await until(() => runningHosts(runFolder(folder)).length === 1)
    await host.root('s')
    return new Shell(home, host, undo)
  }

  async run(...argv: string[]): Promise<Ran> {
    return await this.follow(new AbortController().signal, () => undefined, ...argv)
  }

  async follow(signal: AbortSignal, onLine: (out: string) => void, ...argv: string[]): Promise<Ran> {
    let out = ''
    let err = ''
    const stdout = {
      write: (text: string) => {
        out += text
        onLine(out)
      },
    }
    const environment = { DSH_HOME: this.home, PATH: '' }
    const code = await main(argv, { stdout, stderr: { write: (text) => (err += text) }, environment }, signal)
    return { code, out, err }
  }

  async json<T>(...argv: string[]): Promise<T> {
    return JSON.parse((await this.run(...argv, '--json')).out) as T
  }

  async accepted(message: string, ...more: string[]): Promise<string> {
    return (await this.run('agent', '--session', 's', '-m', message, ...more)).out.trim()
  }

  /** The process ends; what it kept stays. */
  async leave(): Promise<void> {
    await this.host.dispose()
    this.undo()
  }
}

describe('dsh-agent with a running DSH', () => {
  it('accepts a run, waits for it, and tells ok, error and timeout apart by its code', async () => {
    const shell = await Shell.open()
    const good = await shell.run('agent', '--session', 's', '-m', 'hi', '--wait', '--json')
    expect(good.code).toBe(AGENT_EXIT.ok)
    expect(JSON.parse(good.out)).toMatchObject({
      status: 'accepted',
      outcome: { status: 'ok', reply: 'hello' },
    })
    const runId = await shell.accepted('never answer')
    const late = await shell.run('wait', runId, '--timeout', '0.05')
    expect(late).toMatchObject({ code: AGENT_EXIT.timeout, out: `${runId} is running\n`, err: '' })
    expect(await shell.run('abort', runId, '--cause', 'enough')).toMatchObject({
      code: AGENT_EXIT.ok,
      out: `aborted ${runId}\n`,
    })
    expect(await shell.run('wait', runId)).toMatchObject({ code: AGENT_EXIT.runFailed })
    expect(await shell.run('abort', '--session', 's')).toMatchObject({ code: 0, out: 'nothing was open\n' })
    const bad = await shell.run('agent', '--session', 's', '-m', 'break down', '--wait')
    expect(bad).toMatchObject({ code: AGENT_EXIT.runFailed, out: expect.stringContaining('no money left') })
    expect(new Set(Object.values(AGENT_EXIT)).size).toBe(Object.keys(AGENT_EXIT).length - 1)
  })

  it('sends every field of a request, and the same key twice is one run', async () => {
    const shell = await Shell.open()
    const asked = ['--id', 'k', '--lane', 'cron', '--deadline', '60', '--option', 'supersedeKey="weather"']
    const one = await shell.accepted('hi', ...asked)
    expect(await shell.accepted('hi', ...asked)).toBe(one)
    expect(await shell.run('agent', '--session', 's', '-m', 'other', '--id', 'k')).toMatchObject({
      code: AGENT_EXIT.refused,
      err: expect.stringContaining('idempotency key'),
    })
    const [entry] = await shell.host.entries('run/s')
    expect(entry?.data).toMatchObject({
      key: 'k',
      request: { lane: 'cron', timeoutMs: 60_000, supersedeKey: 'weather', provenance: { kind: 'user' } },
    })
  })

  it('reads a message from a file', async () => {
    const shell = await Shell.open()
    const file = join(shell.home, 'message.txt')
    writeFileSync(file, 'hi there')
    const { code } = await shell.run('agent', '--session', 's', '--file', file, '--wait')
    expect(code).toBe(0)
    expect(JSON.stringify(await shell.host.entries('run/s'))).toContain('hi there')
  })

  it('shows the lanes with their metrics, and the queue as /queue does', async () => {
    const shell = await Shell.open()
    const running = await shell.accepted('never answer')
    const queued = await shell.accepted('and this')
    await until(async () => (await shell.run('lanes')).out.includes('1 of 4 active  1 waiting'))
    expect(await shell.json('lanes')).toMatchObject({
      lanes: [{ sessionId: 's', running, queued: [queued] }],
      metrics: expect.arrayContaining([expect.objectContaining({ lane: 'main', active: 1, depth: 1 })]),
    })
    expect((await shell.run('queue', 's', 'collect', 'cap:7')).out).toContain('"collect"')
    expect(await shell.json('queue', 's')).toMatchObject([{ runId: queued, status: 'queued' }])
    expect((await shell.run('queue', 's', 'clear')).out).toContain(queued)
    expect(await shell.run('queue', 's', 'dance')).toMatchObject({ code: AGENT_EXIT.refused })
    await shell.run('abort', running)
  })

  it('follows the events of a run to its end, and of a session until it is told to stop', async () => {
    const shell = await Shell.open()
    const runId = await shell.accepted('hi')
    const { code, out } = await shell.run('events', runId, '--follow', '--json')
    expect(code).toBe(0)
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AgentEvent)
    expect(events.at(-1)).toMatchObject({ runId, stream: 'lifecycle', data: { phase: 'end', state: 'ok' } })
    const end = new AbortController()
    const following = shell.follow(
      end.signal,
      (told) => {
        if (told.includes('ended ok')) end.abort()
      },
      'events',
      '--session',
      's',
      '--follow',
    )
    await until(async () => (await shell.run('lanes')).code === 0)
    await shell.accepted('hi again')
    const told = await following
    expect(told).toMatchObject({ code: 0, err: '' })
    expect(told.out).toContain('hello')
  })

  it('tells what there is without following, and goes on behind an event', async () => {
    const shell = await Shell.open()
    const runId = await shell.accepted('never answer')
    await until(async () => (await shell.run('wait', runId, '--timeout', '0')).out.includes('running'))
    const now = await shell.run('events', runId)
    expect(now).toMatchObject({ code: 0, out: `${runId} 1  attempt 1 began\n` })
    await shell.run('abort', runId)
    await shell.run('wait', runId)
    const after = await shell.run('events', runId, '--after', '1', '--json')
    expect(JSON.parse(after.out.trim().split('\n')[0] ?? '')).toMatchObject({ seq: 2 })
  })

  it.each([
    [['agent', '-m', 'hi'], AGENT_EXIT.usage],
    [['agent', '--session', 's'], AGENT_EXIT.usage],
    [['agent', '--session', 's', '-m', 'a', '--file', 'b'], AGENT_EXIT.usage],
    [['agent', '--session', 's', '--file', '/nowhere'], AGENT_EXIT.usage],
    [['agent', '--session', 's', '-m', 'a', '--option', 'lane'], AGENT_EXIT.usage],
    [['agent', '--session', 's', '-m', 'a', '--option', 'nothing=1'], AGENT_EXIT.refused],
    [['agent', '--session', 's', '-m', 'a', '--lane', 'undeclared'], AGENT_EXIT.refused],
    [['wait'], AGENT_EXIT.usage],
    [['wait', 'nobody'], AGENT_EXIT.missing],
    [['wait', 'nobody', '--timeout', 'soon'], AGENT_EXIT.usage],
    [['abort'], AGENT_EXIT.usage],
    [['abort', 'a', '--session', 's'], AGENT_EXIT.usage],
    [['events'], AGENT_EXIT.usage],
    [['events', 'nobody'], AGENT_EXIT.missing],
    [['lanes', 'all'], AGENT_EXIT.usage],
    [['wait', 'run_x', '--follow'], AGENT_EXIT.usage],
    [['lanes', '--host', '1'], AGENT_EXIT.noHost],
    [['queue'], AGENT_EXIT.usage],
    [['dance'], AGENT_EXIT.usage],
    [[], AGENT_EXIT.usage],
    [['wait', 'a', '--dance'], AGENT_EXIT.usage],
  ])('%j ends with its code and says why, also as JSON', async (argv, code) => {
    const shell = await Shell.open()
    const ran = await shell.run(...argv, '--json')
    expect(ran.code).toBe(code)
    expect(JSON.parse(ran.out)).toMatchObject({ error: { code: expect.any(String) } })
    expect(ran.err).toMatch(/^dsh-agent: /u)
    expect(await shell.host.entries('run/s')).toEqual([])
  })

  it('makes what a model wrote harmless', async () => {
    const { outcomeLines } = await import('../src/agent-shell/lines.ts')
    const said = '\u001b[2Jgone\u202e\nline'
    expect(
      outcomeLines('r', {
        status: 'ok',
        state: 'ok',
        result: { payloads: [{ kind: 'answer', text: said }], durationMs: 1, stopReason: 'completed' },
      }),
    ).toEqual(['r ended ok', 'gone', 'line'])
  })
})

describe('dsh-agent where no DSH runs', () => {
  it('reads how a run went and what it told, and says that nobody runs anything', async () => {
    const shell = await Shell.open()
    const done = await shell.accepted('hi')
    await shell.run('wait', done)
    const open = await shell.accepted('never answer')
    await until(async () => (await shell.run('wait', open, '--timeout', '0')).out.includes('running'))
    await shell.leave()
    expect(await shell.json('wait', done)).toMatchObject({ status: 'ok', reply: 'hello' })
    expect(await shell.run('wait', open)).toMatchObject({
      code: AGENT_EXIT.noHost,
      err: expect.stringContaining('is running, and no DSH runs here'),
    })
    const told = await shell.run('events', done)
    expect(told).toMatchObject({ code: 0, out: expect.stringContaining('ended ok') })
    for (const argv of [
      ['agent', '--session', 's', '-m', 'hi'],
      ['abort', open],
      ['lanes'],
      ['events', '--session', 's'],
    ]) {
      expect(await shell.run(...argv)).toMatchObject({ code: AGENT_EXIT.noHost })
    }
    expect(await shell.run('wait', 'nobody')).toMatchObject({ code: AGENT_EXIT.missing })
  })

  it('says so on a home that nobody ever used', async () => {
    const home = await temporaryFolder()
    let err = ''
    const streams = { stdout: { write: () => true }, stderr: { write: (text: string) => (err += text) } }
    const environment = { DSH_HOME: home, PATH: '' }
    expect(await main(['wait', 'r'], { ...streams, environment })).toBe(AGENT_EXIT.noHost)
    expect(err).toContain('there is no database')
  })

  it('always exits, with the code, as a process of its own', async () => {
    const home = await temporaryFolder()
    const file = resolve(import.meta.dirname, '../dist/dsh-agent.js')
    const child = spawn(process.execPath, [file, 'lanes'], { env: { DSH_HOME: home } })
    const code = await new Promise((done) => child.on('close', done))
    expect(code).toBe(AGENT_EXIT.noHost)
  })
})
