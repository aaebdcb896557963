import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { supervises } from 'dsh-tool-graph'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runningHosts } from '../src/door/run-file.ts'
import { EXIT, main } from '../src/shell.ts'
import { addWorks, claimWork, settleWork } from './graph-deeds.ts'
import { Host, temporaryFolder, until } from './host.ts'

const ESC = '\u001B'

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** A home with a database, and the shell command on it. */
class Home {
  readonly path: string
  readonly database: string

  private constructor(path: string) {
    this.path = path
    this.database = join(path, 'graph', 'log.sqlite')
  }

  static async make(): Promise<Home> {
    return new Home(await temporaryFolder())
  }

  async run(...argv: string[]): Promise<Ran> {
    return this.show({}, ...argv)
  }

  async show(terminal: { isTTY?: boolean; columns?: number }, ...argv: string[]): Promise<Ran> {
    let out = ''
    let err = ''
    const environment = { DSH_HOME: this.path, TERM: 'xterm', PATH: '' }
    const stdout = { ...terminal, write: (text: string) => (out += text) }
    const code = await main(argv, { stdout, stderr: { write: (text) => (err += text) }, environment })
    return { code, out, err }
  }

  async json<T>(...argv: string[]): Promise<T> {
    return JSON.parse((await this.run(...argv, '--json')).out) as T
  }

  /** What somebody does to the file, who is gone afterwards. */
  async write<T>(deed: (store: GraphControlStore) => Promise<T>): Promise<T> {
    const log = sqliteLog({ path: this.database })
    const store = await GraphControlStore.open(log)
    try {
      return await deed(store)
    } finally {
      await store.close()
      await log.close()
    }
  }

  /** One work done, one at work, one that waits for both. */
  some(): Promise<string> {
    return this.write(async (store) => {
      const graphId = await addWorks(store, 'root', [
        { workId: 'done', title: 'A "title" \\ with [all] of | it; 测量' },
        { workId: 'busy' },
        { workId: 'join', inputIds: ['done', 'busy'] },
      ])
      await claimWork(store, graphId, 'done')
      const usage = { inputTokens: 20, outputTokens: 5 }
      await settleWork(store, graphId, 'done', { outcome: 'completed', conclusion: 'all well', usage })
      await claimWork(store, graphId, 'busy')
      return graphId
    })
  }
}

describe('looking at a home that nobody runs on', () => {
  it('lists graphs and shows one, by id, by session, or by the beginning of its id', async () => {
    const home = await Home.make()
    const graphId = await home.some()
    await home.write((store) => addWorks(store, 'other', [{ workId: 'x' }]))
    expect((await home.run('list')).out.trim().split('\n')).toHaveLength(2)
    expect((await home.run('list', '--root', 'other')).out.trim().split('\n')).toHaveLength(1)
    for (const meant of [graphId, 'root', graphId.slice(0, -4)]) {
      const { code, out } = await home.run('show', meant)
      expect(code).toBe(EXIT.ok)
      expect(out).toContain('3 works: 1 running, 1 waiting, 1 completed')
      expect(out).toMatch(/join +waiting +waits for busy/u)
    }
    const { works } = await home.json<{ works: { workId: string; waitsFor?: string }[] }>('show', 'root')
    expect(works.map(({ waitsFor, workId }) => [workId, waitsFor])).toEqual([
      ['done', undefined],
      ['busy', 'its operator'],
      ['join', 'busy'],
    ])
  })

  it('colours on a terminal only, and keeps to its width', async () => {
    const home = await Home.make()
    await home.some()
    expect((await home.run('show', 'root')).out).not.toContain(ESC)
    const { out } = await home.show({ isTTY: true, columns: 60 }, 'show', 'root', '--all')
    expect(out).toContain(ESC)
    // oxlint-disable-next-line no-control-regex
    for (const line of out.replaceAll(/\u001b\[[0-9;]*m/gu, '').split('\n'))
      expect(line.length).toBeLessThan(60)
  })

  it('tells the history in pages', async () => {
    const home = await Home.make()
    await home.some()
    const first = await home.json<{ events: { seq: number }[]; omittedBefore: number }>(
      'timeline',
      'root',
      '--limit',
      '3',
    )
    expect(first.events).toHaveLength(3)
    expect(first.omittedBefore).toBe((first.events.at(-1)?.seq ?? 0) - 1)
    const { out } = await home.run('timeline', 'root', '--before', '3')
    expect(out).toContain('graph opened')
    expect(out.trim().split('\n')).toHaveLength(2)
  })

  it('exports JSON, Mermaid and DOT in which no title means anything', async () => {
    const home = await Home.make()
    const graphId = await home.some()
    const { graph, works } = JSON.parse((await home.run('export', 'root', '--format', 'json')).out)
    expect({ graphId: graph.graphId, works: works.length }).toEqual({ graphId, works: 3 })
    const mermaid = (await home.run('export', 'root', '--format', 'mermaid')).out
    expect(mermaid).toContain('w1 --> w3')
    expect(mermaid).toContain('w2 --> w3')
    expect(mermaid).toContain(
      'w1["done A #34;title#34; #92; with #91;all#93; of #124; it#59; 测量<br/>completed"]:::completed',
    )
    const dot = (await home.run('export', 'root', '--format', 'dot')).out
    expect(dot).toContain(String.raw`w1 [label="done A \"title\" \\ with [all] of | it; 测量\ncompleted"];`)
    expect(dot).toContain('w1 -> w3;')
    expect(await home.run('export', 'root', '--format', 'png')).toMatchObject({ code: EXIT.usage, out: '' })
  })

  it('tells numbers of one graph and of all', async () => {
    const home = await Home.make()
    await home.some()
    await home.write((store) => addWorks(store, 'other', [{ workId: 'x' }]))
    const one = await home.json<{ graphs: number; tokens: object; runTime: { count: number } }>(
      'metrics',
      'root',
    )
    expect(one).toMatchObject({
      graphs: 1,
      tokens: { inputTokens: 20, outputTokens: 5 },
      runTime: { count: 1 },
    })
    expect(await home.json('metrics')).toMatchObject({ graphs: 2, worksByStatus: { completed: 1, ready: 1 } })
  })

  it('changes nothing on the disk', async () => {
    const home = await Home.make()
    await home.some()
    const before = { bytes: readFileSync(home.database), at: statSync(home.database).mtimeMs }
    for (const command of ['list', 'show', 'timeline', 'export', 'metrics', 'replay-check', 'doctor'])
      await home.run(command, ...(['list', 'doctor', 'metrics'].includes(command) ? [] : ['root']))
    expect({ bytes: readFileSync(home.database), at: statSync(home.database).mtimeMs }).toEqual(before)
    // SQLite's own companions of a file that is read; nothing stands in them.
    const names = readdirSync(join(home.path, 'graph'))
    expect(names.filter((name) => !/^log\.sqlite(?:-shm|-wal)?$/u.test(name))).toEqual([])
    expect(statSync(`${home.database}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  })
})

describe('the exit code and the text', () => {
  it.each([
    ['no command', [], EXIT.usage],
    ['an unknown command', ['dance'], EXIT.usage],
    ['an unknown option', ['list', '--loud'], EXIT.usage],
    ['a number that is none', ['timeline', 'root', '--limit', '-3'], EXIT.usage],
    ['no graph', ['show'], EXIT.usage],
    ['two graphs', ['show', 'a', 'b'], EXIT.usage],
    ['an option of another command', ['list', '--format', 'dot'], EXIT.usage],
    ['words that mean nothing', ['list', 'root'], EXIT.usage],
    ['a graph that is not there', ['show', 'nothing'], EXIT.missing],
    ['an act without a host', ['stop', 'root', 'all'], EXIT.noHost],
    ['a switch without a host', ['off', 'root'], EXIT.noHost],
    ['a work that is not there', ['stop', 'root', 'nothing', '--write'], EXIT.missing],
    ['what the store refuses', ['retry', 'root', 'done', '--write'], EXIT.refused],
    ['what is not held', ['confirm', 'root', 'busy', '--write'], EXIT.refused],
  ] as const)('tell of %s', async (_title, argv, exitCode) => {
    const home = await Home.make()
    await home.some()
    const { code, err, out } = await home.run(...argv)
    expect({ code, out }).toEqual({ code: exitCode, out: '' })
    expect(err).toMatch(/^dsh-graph: .+\n$/u)
    const told = await home.run(...argv, '--json')
    expect(told.code).toBe(exitCode)
    expect(JSON.parse(told.out)).toEqual({ error: { code: expect.any(String), message: expect.any(String) } })
  })

  it('tell of a database that is not there, or is none', async () => {
    const home = await Home.make()
    expect((await home.run('list')).code).toBe(EXIT.database)
    expect(existsSync(join(home.path, 'graph'))).toBe(false)
    mkdirSync(join(home.path, 'graph'))
    writeFileSync(home.database, 'this is not a database, it is a text of some length')
    expect((await home.run('list')).code).toBe(EXIT.database)
  })

  it('are help and version on demand', async () => {
    const home = await Home.make()
    expect(await home.run('--help')).toMatchObject({
      code: EXIT.ok,
      out: expect.stringContaining('replay-check'),
    })
    expect(await home.run('--version')).toMatchObject({
      code: EXIT.ok,
      out: expect.stringMatching(/^\d+\.\d+\.\d+/u),
    })
  })
})

describe('replay-check', () => {
  /** A finished graph, which the store keeps a snapshot of. */
  async function finished(home: Home): Promise<string> {
    return home.write(async (store) => {
      const graphId = await addWorks(
        store,
        'root',
        Array.from({ length: 24 }, (_, at) => ({ workId: `w${at}` })),
      )
      // As a host does, which drives under a lease.
      const lease = { rootSessionId: 'root', epoch: 1, holderId: 'h', assertHeld: () => undefined }
      await store.leased(lease).takeGraph(graphId)
      for (let at = 0; at < 24; at += 1) {
        await claimWork(store, graphId, `w${at}`)
        await settleWork(store, graphId, `w${at}`, { outcome: 'completed', conclusion: `result ${at}` })
      }
      const source = { sessionId: 'root', runId: 'r', turnId: 't', toolCallId: 'finish' }
      const finish = { resultIds: [], reason: 'enough' }
      const request = { schemaVersion: 1, graphId, source, addWork: [], stop: [], finish } as const
      await store.commitScheduleUpdate({ ...request, updateId: 'u-finish', updateFingerprint: 'f-finish' })
      return graphId
    })
  }

  it('finds nothing where snapshot and log agree', async () => {
    const home = await Home.make()
    const graphId = await finished(home)
    const { code, out } = await home.run('replay-check')
    expect(out).toMatch(new RegExp(`same +${graphId} seq \\d+, snapshot at \\d+`, 'u'))
    expect(code).toBe(EXIT.ok)
  })

  it('finds a snapshot that says something else than the log', async () => {
    const home = await Home.make()
    const graphId = await finished(home)
    const log = sqliteLog({ path: home.database })
    const saved = await log.loadSnapshot(`graph/${graphId}`)
    if (saved === undefined) throw new Error('there is no snapshot')
    const forged = JSON.parse(JSON.stringify(saved.snapshot).replaceAll('"enough"', '"forged"'))
    await log.saveSnapshot(`graph/${graphId}`, saved.seq, forged)
    await log.close()
    const found = await home.json<{ bad: number; findings: object[] }>('replay-check', 'root')
    expect(found).toMatchObject({ bad: 1, findings: [{ graphId, verdict: 'different', detail: 'finish' }] })
    expect((await home.run('replay-check')).code).toBe(EXIT.found)
  })

  it('finds a graph that cannot be read, and goes on with the others', async () => {
    const home = await Home.make()
    await home.some()
    const log = sqliteLog({ path: home.database })
    await log.append('graph/broken', 0, [{ type: 'nonsense', data: {} }])
    await log.close()
    const { code, out } = await home.run('replay-check')
    expect(out).toMatch(/unreadable broken/u)
    expect(out).toContain('2 graphs checked, 1 bad')
    expect(code).toBe(EXIT.found)
    expect((await home.run('list')).out).toContain('unreadable')
  })
})

describe('acting', () => {
  /** A host with a door on this home. */
  async function running(home: Home, log?: { readonly backend: 'memory' }): Promise<Host> {
    const before = process.env['DSH_HOME']
    process.env['DSH_HOME'] = home.path
    onTestFinished(() => {
      if (before === undefined) delete process.env['DSH_HOME']
      else process.env['DSH_HOME'] = before
    })
    mkdirSync(join(home.path, 'graph'), { recursive: true, mode: 0o700 })
    const place = log === undefined ? { folder: join(home.path, 'graph') } : {}
    const host = await Host.boot({ ...place, config: { door: true } })
    await until(() => runningHosts(join(home.path, 'graph', 'run')).length === 1)
    return host
  }

  it('shows what a work waits for in the process that drives it: a lane that all graphs share', async () => {
    const home = await Home.make()
    const host = await running(home)
    const [root, other] = [await host.root(), await host.root('other')]
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    await host.add(other, ...names.map((name) => ({ workId: name, instruction: `stand at gate ${name}` })))
    for (const name of names) await host.gates.reached(name)
    await host.add(root, { workId: 'late', instruction: 'stand at gate late' })
    await until(async () => (await host.work('late')).status === 'running')
    const wait = 'a slot of lane subagent: all 8 are taken, 1 in line'
    await until(async () => (await home.run('show', 'root')).out.includes(`waits for ${wait}`))
    const { works } = await home.json<{ works: { waitsFor?: string }[] }>('show', 'root')
    expect(works.map(({ waitsFor }) => waitsFor)).toEqual([wait])
    const through = await home.run('show', 'root', '--host', String(process.pid))
    expect(through.out).toContain(`waits for ${wait}`)
    for (const name of [...names, 'late']) host.gates.open(name)
    await host.whenWork('late', 'completed')
  })

  it('goes through the host that runs: stop, retry, confirm, off, on', async () => {
    const home = await Home.make()
    const host = await running(home)
    const root = await host.root()
    await host.add(
      root,
      { workId: 'a', instruction: 'stand at gate a' },
      { workId: 'b', instruction: 'stand at gate b' },
    )
    await host.gates.reached('a')
    await host.gates.reached('b')
    expect((await home.run('show', 'root')).out).toContain('2 running')
    expect(await home.run('stop', 'root', 'a', '--reason', 'too late')).toEqual({
      code: EXIT.ok,
      out: 'work a is stopped\n',
      err: '',
    })
    expect(await host.work('a')).toMatchObject({ status: 'stopped', reason: 'too late' })
    await until(() => host.gates.cancelled.includes('a'))
    await until(async () => (await host.graph()).live.claims.size === 1)
    host.gates.open('a')
    expect((await home.run('retry', 'root', 'a')).code).toBe(EXIT.ok)
    await host.whenWork('a', 'completed')

    const { claimId = '' } = await host.work('b')
    const { graphId } = await host.graph()
    await host.ctx.graphControl.holdActivation({
      graphId,
      claimId,
      attempt: 1,
      kind: 'person',
      reason: 'sure?',
    })
    host.gates.open('b')
    expect((await home.run('confirm', graphId, 'b')).out).toBe('work b goes on with attempt 2\n')
    await host.whenWork('b', 'completed')
    expect(await home.run('confirm', graphId, 'b')).toMatchObject({
      code: EXIT.refused,
      err: expect.stringContaining('waits for nobody'),
    })
    expect((await home.run('stop', graphId, 'nothing')).code).toBe(EXIT.missing)

    expect((await home.run('off', 'root')).code).toBe(EXIT.ok)
    expect(supervises(root)).toBe(false)
    expect((await home.run('on', 'root')).code).toBe(EXIT.ok)
    expect(supervises(root)).toBe(true)
  })

  it('looks through the host where no file holds the graphs, or where its process is named', async () => {
    const home = await Home.make()
    const host = await running(home, { backend: 'memory' })
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    expect(existsSync(home.database)).toBe(false)
    const { graphId } = await host.graph()
    expect(await home.run('list')).toMatchObject({ code: EXIT.ok, out: expect.stringContaining(graphId) })
    expect((await home.run('show', 'root')).out).toContain('1 work: 1 running')
    expect(await home.json('show', graphId.slice(0, 20))).toMatchObject({
      graph: { graphId, phase: 'open' },
      works: [{ workId: 'a', waitsFor: 'its operator' }],
    })
    expect((await home.run('timeline', 'root', '--limit', '1')).out).toContain('earlier: --before')
    expect((await home.run('export', 'root', '--format', 'mermaid')).out).toContain('flowchart')
    expect((await home.run('replay-check')).out).toContain('1 graphs checked, 0 bad')
    expect((await home.show({ isTTY: true, columns: 30 }, 'show', 'root')).out).toContain(ESC)
    expect((await home.run('show', 'nothing')).code).toBe(EXIT.missing)
    expect((await home.run('export', 'root', '--format', 'png')).code).toBe(EXIT.usage)
    const pid = String(process.pid)
    expect((await home.run('show', 'root', '--host', pid)).code).toBe(EXIT.ok)
    expect((await home.run('show', 'root', '--host', '1')).code).toBe(EXIT.noHost)
    expect((await home.run('show', 'root', '--db', home.database)).code).toBe(EXIT.database)
    const [{ port, token } = { port: 0, token: '' }] = runningHosts(join(home.path, 'graph', 'run'))
    const ask = async (body: object) => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/look`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return (await response.json()) as { readonly ok: boolean; readonly error?: { readonly code: string } }
    }
    const look = { columns: 80, rows: 24 }
    for (const wrong of [
      {},
      { command: 'stop', words: ['root'], look },
      { command: '__proto__', words: [], look },
      { command: 'show', words: 'root', look },
      { command: 'show', words: ['root'], look: { columns: 1e9, rows: 1 } },
      { command: 'show', words: ['x'.repeat(5_000)], look },
      { command: 'timeline', words: ['root'], before: -1, look },
    ])
      expect(await ask(wrong)).toMatchObject({ ok: false, error: { code: 'invalid-request' } })
  })

  it('reports the host with its services, caps and last errors, without secrets', async () => {
    const home = await Home.make()
    const host = await running(home)
    await host.root()
    host.ctx.logger('dsh-graph-host').warn('%s', `cannot read ${home.path}/x: Bearer abcdefghijkl`)
    const { code, out } = await home.run('doctor')
    expect(out).toMatch(/host \d+: services/u)
    expect(out).toMatch(/maxNewActivations +8/u)
    expect(out).toMatch(/limits\.maxOperators +10000/u)
    expect(out).toMatch(/subagent +0 of 8 active, 0 waiting/u)
    expect(out).toMatch(/backend +sqlite/u)
    expect(out).toContain('cannot read $DSH_HOME/x: Bearer ***')
    expect(out).not.toContain(home.path)
    expect(out).not.toContain('abcdefghijkl')
    expect(code).toBe(EXIT.ok)
  })

  it('writes to the database with --write where no host runs, and whoever runs next obeys', async () => {
    const home = await Home.make()
    const graphId = await home.some()
    expect((await home.run('stop', 'root', 'all', '--write')).code).toBe(EXIT.ok)
    expect((await home.run('off', 'root', '--write')).code).toBe(EXIT.ok)
    const host = await running(home)
    const root = await host.root()
    expect(supervises(root)).toBe(false)
    await until(async () => (await host.graph()).live.claims.size === 0)
    const { counts, graphId: same } = await host.graph()
    expect({ same, pending: counts.pending }).toEqual({ same: graphId, pending: 0 })
  })

  it('goes to no host that is dead', async () => {
    const home = await Home.make()
    await home.some()
    const host = await running(home)
    const folder = join(home.path, 'graph', 'run')
    const [name = ''] = readdirSync(folder)
    const file = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { process: { startedAt: string } }
    await host.unmount('graph-host')
    const dead = { ...file, process: { ...file.process, startedAt: '1' } }
    writeFileSync(join(folder, name), JSON.stringify(dead), { mode: 0o600 })
    expect((await home.run('stop', 'root', 'all')).code).toBe(EXIT.noHost)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('preset install', () => {
  const STANDARD = '- id: persona\n  name: some-persona\n'

  it('adds the graph tools to another preset, in a folder of its own, once', async () => {
    const home = await Home.make()
    const source = join(home.path, '.agent-presets', 'mine')
    mkdirSync(source, { recursive: true })
    writeFileSync(join(source, 'agent.cordis.yml'), STANDARD)
    expect((await home.run('preset', 'install')).code).toBe(EXIT.missing)
    const { folder } = await home.json<{ folder: string }>('preset', 'install', '--from', 'mine')
    expect(folder).toBe(join(home.path, '.agent-presets', 'graph'))
    const text = readFileSync(join(folder, 'agent.cordis.yml'), 'utf8')
    expect(text.startsWith(STANDARD)).toBe(true)
    expect(text).toMatch(/^- id: graph-tools\n {2}name: dsh-tool-graph\n/mu)
    expect(readFileSync(join(source, 'agent.cordis.yml'), 'utf8')).toBe(STANDARD)
    expect((await home.run('preset', 'install', '--from', 'mine')).code).toBe(EXIT.refused)
    expect((await home.run('preset', 'install', '--from', source, '--force')).code).toBe(EXIT.ok)
    expect(readdirSync(join(home.path, '.agent-presets')).sort()).toEqual(['graph', 'mine'])
  })

  it.each(['../secrets', 'a/b', ''])('does not follow "%s" out of the preset folder', async (from) => {
    const home = await Home.make()
    expect((await home.run('preset', 'install', '--from', from)).code).toBe(EXIT.usage)
    expect(existsSync(join(home.path, '.agent-presets'))).toBe(false)
  })
})

it('is a command that always ends, with its code, whoever reads', async () => {
  const home = await Home.make()
  await home.some()
  const file = resolve(import.meta.dirname, '..', 'dist', 'dsh-graph.js')
  const run = (argv: readonly string[], closeEarly: boolean): Promise<{ code: number | null; out: string }> =>
    new Promise((ended) => {
      const child = spawn(process.execPath, [file, ...argv], { env: { ...process.env, DSH_HOME: home.path } })
      let out = ''
      if (closeEarly) child.stdout.destroy()
      else child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
      child.on('close', (code) => ended({ code, out }))
    })
  expect(await run(['show', 'root', '--json'], false)).toMatchObject({
    code: 0,
    out: expect.stringContaining('"busy"'),
  })
  expect(await run(['stop', 'root', 'all'], false)).toMatchObject({ code: EXIT.noHost })
  expect((await run(['show', 'root', '--all'], true)).code).toBe(0)
})
