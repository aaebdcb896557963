import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Context } from '@deepseek-ai/cordis'
import { memoryLog } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hostOperations } from '../src/door/host-operations.ts'
import { LogProbe, unreadyReasons } from '../src/health.ts'
import { Host, settleDown, temporaryFolder, until } from './host.ts'

/** Serves what is registered, as DSH's web server does for exact paths. */
async function webServer(taken: readonly string[] = []) {
  const routes = new Map<string, RequestListener>()
  const server = createServer((request, response) => {
    const handler = routes.get(request.url ?? '')
    if (handler === undefined) response.writeHead(404).end()
    else handler(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const register = ({ path, handler }: { path: string; handler: RequestListener }) => {
    if (taken.includes(path)) throw new Error(`${path} is taken`)
    routes.set(path, handler)
    return () => void routes.delete(path)
  }
  return {
    provide: (ctx: Context) => {
      ctx.provide('webServer', { register, registerUpgrade: () => () => undefined })
    },
    ask: async (path: string, method = 'GET') => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method })
      const text = await response.text()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      return { status: response.status, body }
    },
  }
}

const READY = { status: 200, body: { ready: true, reasons: [] } }

describe('health and readiness', () => {
  it('are told by a host that takes work, to looks only', async () => {
    const web = await webServer()
    const host = await Host.boot({ prepare: web.provide })
    expect(await web.ask('/graph-host/health')).toEqual({ status: 200, body: { status: 'ok' } })
    expect(await web.ask('/graph-host/ready')).toEqual(READY)
    expect(await web.ask('/graph-host/ready', 'HEAD')).toEqual({ status: 200, body: undefined })
    expect(await web.ask('/graph-host/ready', 'POST')).toMatchObject({ status: 405 })
    await host.unmount('graph-host')
    expect(await web.ask('/graph-host/health')).toMatchObject({ status: 404 })
  })

  it('leave a host as it is where a path is taken', async () => {
    const web = await webServer(['/graph-host/ready'])
    const host = await Host.boot({ prepare: web.provide })
    expect(host.warnings().join()).toContain('there is no /graph-host/ready in the web server')
    expect(host.ctx.get('agentGraphController')).toBeDefined()
  })

  it('say no while the host drains, and yes to being alive', async () => {
    const web = await webServer()
    const host = await Host.boot({ prepare: web.provide })
    expect(await host.ctx.agentLoopHost.drain()).toEqual({ left: [] })
    expect(await web.ask('/graph-host/ready')).toEqual({
      status: 503,
      body: { ready: false, reasons: ['draining'] },
    })
    expect(await web.ask('/graph-host/health')).toMatchObject({ status: 200 })
  })

  it('say no when the log is closed', async () => {
    const log = memoryLog()
    const probe = new LogProbe(() => log, { keptMs: 0 })
    expect(await unreadyReasons({ isDraining: () => false }, probe)).toEqual([])
    await log.close()
    expect(await unreadyReasons({ isDraining: () => true }, probe)).toEqual(['draining', 'log-away'])
    expect(await new LogProbe(() => undefined).isThere()).toBe(false)
  })

  it('do not wait for a log that hangs, and ask it once however many ask', async () => {
    const answer = Promise.withResolvers<void>()
    const inner = memoryLog()
    let looks = 0
    const hanging = {
      list: async () => {
        looks += 1
        await answer.promise
        return inner.list()
      },
    }
    const probe = new LogProbe(() => hanging, { patienceMs: 1 })
    expect(await Promise.all(Array.from({ length: 50 }, () => probe.isThere()))).not.toContain(true)
    expect(looks).toBe(1)
    answer.resolve()
    await until(() => probe.isThere())
    expect(looks).toBe(1)
  })

  it('come back when the log does', async () => {
    const log = faultyLog(memoryLog(), [{ at: 'before-list', fault: 'fail', times: 1 }])
    const probe = new LogProbe(() => log, { keptMs: 0 })
    expect([await probe.isThere(), await probe.isThere()]).toEqual([false, true])
  })
})

describe('a host that drains', () => {
  it.each([undefined, -1, 1.5, '10', 3_600_001, Number.NaN])('refuses a limit of %s', async (limitMs) => {
    const { ctx } = await Host.boot()
    const { drain } = hostOperations({
      ctx,
      store: ctx.graphControl,
      loop: ctx.agentLoopHost,
      slots: () => 8,
      doctor: () => Promise.reject(new Error('not asked')),
    })
    const never = new AbortController().signal
    await expect(drain?.({ limitMs }, never)).rejects.toMatchObject({ code: 'invalid-request' })
    expect(ctx.agentLoopHost.isDraining()).toBe(false)
    expect(await drain?.({ limitMs: 0 }, never)).toEqual({ left: [] })
    expect(ctx.agentLoopHost.isDraining()).toBe(true)
  })

  it('lets what runs finish, fails nothing that came up meanwhile, and the next host goes on', async () => {
    const folder = await temporaryFolder()
    const host = await Host.boot({ folder })
    const root = await host.keptRoot()
    await host.add(
      root,
      { workId: 'open', instruction: 'stand at gate open' },
      { workId: 'next', instruction: 'the word is pear', inputIds: ['open'] },
    )
    await host.gates.reached('open')
    const drained = host.ctx.agentLoopHost.drain()
    host.gates.open('open')
    expect(await drained).toEqual({ left: [] })
    await host.whenWork('open', 'completed')
    await settleDown()
    expect((await host.work('next')).status).not.toMatch(/completed|failed/u)
    const wakes = async () => [...(await host.graph()).wakes.values()]
    await until(async () => (await wakes()).some(({ attempts }) => attempts > 0))
    await settleDown()
    // The attempt is neither lost nor spent: the next host makes it.
    expect((await wakes()).map(({ attempts, status }) => `${status} ${attempts}`)).toEqual(['running 1'])
    const later = await Host.boot({ folder: await host.remains() })
    await later.root('root', { resume: true })
    await later.whenWork('next', 'completed')
    expect((await later.work('open')).status).toBe('completed')
    await until(async () =>
      [...(await later.graph()).wakes.values()].every(({ status }) => status === 'delivered'),
    )
  })
})
