import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { systemProcesses } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { callHost } from '../src/door/door-client.ts'
import { openDoor, type Door, type DoorOperations } from '../src/door/door-server.ts'
import { runFolder, runningHosts, writeRunFile, type RunningHost } from '../src/door/run-file.ts'
import { Host, temporaryFolder, until } from './host.ts'

const TOKEN = 'a'.repeat(64)

function hostOn(port: number, change: Partial<RunningHost> = {}): RunningHost {
  return { process: systemProcesses().self, port, token: TOKEN, startedAt: 1, version: '0', ...change }
}

async function opened(operations: DoorOperations): Promise<Door> {
  const door = await openDoor(operations)
  onTestFinished(() => door.close())
  return door
}

interface Raw {
  readonly status: number
  readonly body: { readonly ok: boolean; readonly error?: { readonly code: string } }
}

function post(
  door: Door,
  options: { path?: string; method?: string; body?: string; headers?: Record<string, string> },
): Promise<Raw> {
  const { body = '{}', headers = {}, method = 'POST', path = '/v1/echo' } = options
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: door.port,
        path,
        method,
        agent: false,
        headers: { authorization: `Bearer ${door.token}`, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (more: string) => (text += more))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Raw['body'] }),
        )
      },
    )
    call.on('error', reject)
    call.end(body)
  })
}

const ECHO: DoorOperations = { echo: async (args) => args }

describe('the door', () => {
  it('answers whoever shows its token', async () => {
    const door = await opened(ECHO)
    const host = hostOn(door.port, { token: door.token })
    expect(await callHost(host, 'echo', { a: [1, '图'] })).toEqual({ ok: true, value: { a: [1, '图'] } })
  })

  it.each([
    ['a wrong token', { headers: { authorization: `Bearer ${TOKEN}` } }, 401, 'unauthorized'],
    ['no token', { headers: { authorization: '' } }, 401, 'unauthorized'],
    ['a page of the web', { headers: { origin: 'http://127.0.0.1:3000' } }, 403, 'foreign-origin'],
    ['a page without an origin', { headers: { 'sec-fetch-site': 'same-origin' } }, 403, 'foreign-origin'],
    ['a name that was made to lead here', { headers: { host: 'evil.example:80' } }, 403, 'foreign-host'],
    ['a look', { method: 'GET' }, 405, 'invalid'],
    ['a form', { headers: { 'content-type': 'text/plain' } }, 415, 'invalid'],
    ['no JSON', { body: '{' }, 400, 'invalid'],
    ['a list', { body: '[]' }, 400, 'invalid'],
    ['too much', { body: JSON.stringify({ a: 'x'.repeat(70_000) }) }, 400, 'invalid'],
    ['an unknown operation', { path: '/v1/dance' }, 404, 'unknown-operation'],
    ['an operation of every object', { path: '/v1/constructor' }, 404, 'unknown-operation'],
    ['another path', { path: '/../v1/echo' }, 404, 'unknown-operation'],
  ])('refuses %s', async (_title, options, status, code) => {
    const door = await opened(ECHO)
    const { body, status: got } = await post(door, options as never)
    expect({ status: got, code: body.error?.code }).toEqual({ status, code })
  })

  it('tells a refusal with its code, and a defect without its stack', async () => {
    const door = await opened({
      refuse: () => Promise.reject(Object.assign(new Error('not now'), { code: 'work-conflict' })),
      fail: () => Promise.reject(new Error('it broke')),
    })
    const host = hostOn(door.port, { token: door.token })
    expect(await callHost(host, 'refuse', {})).toEqual({
      ok: false,
      error: { code: 'work-conflict', message: 'not now' },
    })
    expect(await callHost(host, 'fail', {})).toEqual({
      ok: false,
      error: { code: 'internal', message: 'it broke' },
    })
  })

  it('listens on the loopback only, and answers what is under way before it is closed', async () => {
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const door = await openDoor({
      slow: async () => {
        begun.resolve()
        await finish.promise
        return 'done'
      },
    })
    const silent = connect(door.port, '127.0.0.1')
    silent.on('error', () => undefined)
    const host = hostOn(door.port, { token: door.token })
    const answer = callHost(host, 'slow', {})
    await begun.promise
    const closed = door.close()
    finish.resolve()
    expect(await answer).toEqual({ ok: true, value: 'done' })
    await closed
    await expect(callHost(host, 'slow', {})).rejects.toThrow(/ECONNREFUSED/u)
  })
})

describe('run files', () => {
  it('are for their user only, and go when they are taken away', async () => {
    const folder = runFolder(join(await temporaryFolder(), 'graph'))
    const remove = writeRunFile(folder, hostOn(1234))
    const path = join(folder, `${process.pid}.json`)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(runningHosts(folder)).toEqual([hostOn(1234)])
    remove()
    remove()
    expect(readdirSync(folder)).toEqual([])
  })

  it('of two hosts in one process stand beside each other', async () => {
    const folder = runFolder(await temporaryFolder())
    const first = writeRunFile(folder, hostOn(1, { startedAt: 1 }))
    const second = writeRunFile(folder, hostOn(2, { startedAt: 2, token: 'b'.repeat(64) }))
    expect(runningHosts(folder).map(({ port }) => port)).toEqual([2, 1])
    first()
    expect(runningHosts(folder).map(({ port }) => port)).toEqual([2])
    second()
    expect(readdirSync(folder)).toEqual([])
  })

  it('of dead processes are ignored and removed, also one in the place of a new host', async () => {
    const folder = runFolder(await temporaryFolder())
    const dead = { ...systemProcesses().self, startedAt: '1' }
    mkdirSync(folder, { recursive: true })
    for (const name of ['77.json', `${process.pid}.json`])
      writeFileSync(join(folder, name), JSON.stringify({ v: 1, ...hostOn(5, { process: dead }) }), {
        mode: 0o600,
      })
    const remove = writeRunFile(folder, hostOn(9))
    expect(runningHosts(folder).map(({ port }) => port)).toEqual([9])
    expect(readdirSync(folder)).toEqual([`${process.pid}.json`])
    remove()
  })

  it('that others could read or write, or that are none, are not believed', async () => {
    const folder = runFolder(await temporaryFolder())
    mkdirSync(folder, { recursive: true })
    const good = { v: 1, ...hostOn(5) }
    const texts: readonly (readonly [string, unknown, number])[] = [
      ['1.json', good, 0o644],
      ['2.json', { ...good, v: 2 }, 0o600],
      ['3.json', { ...good, port: 70_000 }, 0o600],
      ['4.json', { ...good, token: '../x' }, 0o600],
      ['5.json', { ...good, process: { pid: 1 } }, 0o600],
      ['6.json', null, 0o600],
      ['x.json', good, 0o600],
    ]
    for (const [name, value, mode] of texts)
      writeFileSync(join(folder, name), JSON.stringify(value), { mode })
    writeFileSync(join(folder, '8.json'), 'no json', { mode: 0o600 })
    expect(runningHosts(folder)).toEqual([])
    expect(readdirSync(folder)).toHaveLength(8)
  })

  it('of other machines are left alone', async () => {
    const folder = runFolder(await temporaryFolder())
    const elsewhere = { ...systemProcesses().self, machineId: 'another' }
    writeRunFile(folder, hostOn(5, { process: elsewhere }))
    expect(runningHosts(folder)).toEqual([])
    expect(readdirSync(folder)).toHaveLength(1)
  })
})

describe('a host', () => {
  async function homeOf(): Promise<string> {
    const home = await temporaryFolder()
    const before = process.env['DSH_HOME']
    process.env['DSH_HOME'] = home
    onTestFinished(() => {
      if (before === undefined) delete process.env['DSH_HOME']
      else process.env['DSH_HOME'] = before
    })
    return join(home, 'graph', 'run')
  }

  it('opens a door while its row is there, and leaves no file, server or listener behind', async () => {
    const folder = await homeOf()
    const host = await Host.boot({ config: { door: true } })
    const listeners = process.listenerCount('exit')
    for (let round = 0; round < 5; round += 1) {
      await until(() => runningHosts(folder).length === 1)
      const [running] = runningHosts(folder)
      if (running === undefined) throw new Error('no run file')
      expect(await callHost(running, 'doctor', {})).toMatchObject({
        ok: true,
        value: { problems: expect.any(Array) },
      })
      await host.unmount('graph-host')
      expect(readdirSync(folder)).toEqual([])
      await expect(callHost(running, 'doctor', {})).rejects.toThrow(/ECONNREFUSED/u)
      await host.mount('graph-host')
    }
    await host.unmount('graph-host')
    expect(process.listenerCount('exit')).toBeLessThanOrEqual(listeners)
    expect(host.warnings()).toEqual([])
  })

  it('that goes while its door is being opened leaves nothing either', async () => {
    const folder = await homeOf()
    const host = await Host.boot({ config: { door: true } })
    await host.unmount('graph-host')
    const mounting = host.mount('graph-host')
    await host.unmount('graph-host')
    await mounting
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([])
  })

  it('works without a door where none can be opened, and says so', async () => {
    const folder = await homeOf()
    mkdirSync(join(folder, '..'), { recursive: true })
    writeFileSync(folder, 'a file in the way')
    const host = await Host.boot({ config: { door: true } })
    await until(() => host.warnings().length > 0)
    expect(host.warnings()[0]).toContain('dsh-graph cannot act through this host')
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await host.whenWork('a', 'completed')
    expect(readFileSync(folder, 'utf8')).toBe('a file in the way')
  })

  it('checks what a shell asks for', async () => {
    const folder = await homeOf()
    await Host.boot({ config: { door: true } })
    await until(() => runningHosts(folder).length === 1)
    const [running] = runningHosts(folder)
    if (running === undefined) throw new Error('no run file')
    for (const [operation, args] of [
      ['stop', {}],
      ['stop', { graphId: 7, target: 'a' }],
      ['retry', { graphId: 'g' }],
      ['confirm', { graphId: 'g', target: 'x'.repeat(5_000) }],
      ['supervise', { sessionId: 's' }],
      ['supervise', { supervised: true }],
      ['preset-text', { id: 'standard' }],
    ] as const)
      expect(await callHost(running, operation, args)).toMatchObject({
        ok: false,
        error: { code: 'invalid-request' },
      })
    expect(await callHost(running, 'stop', { graphId: 'g', target: 'all' })).toMatchObject({
      ok: false,
      error: { code: 'unknown-graph' },
    })
  })
})
