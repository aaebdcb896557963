import { describe, expect, it } from 'vitest'
import type { AcceptedRun, LaneMetrics, RunOutcome } from '../../src/index.ts'
import { isGapless, outline } from '../support/scripted.ts'
import { settleDown, until } from '../support/until.ts'
import { WebWorld, type Listener } from './web-world.ts'

const REQUEST = { sessionId: 's', message: 'hi', idempotencyKey: 'k' }

describe('the web door', () => {
  it('accepts a run, tells its events over a socket, and answers how it went', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const { runId, status } = await web.value<AcceptedRun>('agent', REQUEST)
    expect(status).toBe('accepted')
    const listener = web.listen(`runId=${runId}`, { origin: web.origin })
    const waiting = web.value<RunOutcome>('agent.wait', { runId, timeoutMs: 60_000 })
    const call = await web.world.model.call(0)
    await until(() => listener.events.length === 1)
    call.reply('hello')
    expect(await waiting).toMatchObject({ status: 'ok', state: 'ok', reply: 'hello' })
    expect(await listener.closed).toBe(1000)
    expect(outline(listener.events).at(-1)).toBe('lifecycle/end')
    expect(isGapless(listener.events)).toBe(true)
    expect(listener.frames.at(-1)).toEqual({ type: 'end' })
    expect(await web.value('agent.read', { runId })).toMatchObject({ runId, state: 'ok' })
  })

  it('takes the same request twice as one run', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const [one, two] = await Promise.all([web.value('agent', REQUEST), web.value('agent', REQUEST)])
    expect(two).toEqual(one)
    const other = await web.call('agent', { ...REQUEST, message: 'something else' })
    expect(other.body.result?.error).toMatchObject({ code: 'bad-request', details: { code: 'conflict' } })
  })

  it('answers a wait that passes with where the run is, and aborts it', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const { runId } = await web.value<AcceptedRun>('agent', REQUEST)
    await web.world.model.call(0)
    expect(await web.value('agent.wait', { runId, timeoutMs: 0 })).toMatchObject({
      status: 'timeout',
      state: 'running',
    })
    expect(await web.value('agent.abort', { runId, cause: 'enough' })).toEqual({
      aborted: true,
      runIds: [runId],
    })
    expect(await web.value('agent.wait', { runId })).toMatchObject({ status: 'error', state: 'aborted' })
  })

  it('tells the lanes with their metrics, and the queue by id', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const ids: string[] = []
    for (const message of ['a', 'b', 'c']) {
      ids.push(
        (await web.value<AcceptedRun>('agent', { ...REQUEST, message, idempotencyKey: message })).runId,
      )
    }
    await web.world.model.call(0)
    const [running, b, c] = ids
    const told = await web.value<{ lanes: object[]; metrics: LaneMetrics[]; text: string }>('lanes', {})
    expect(told.lanes).toEqual([{ sessionId: 's', running, queued: [b, c] }])
    expect(told.metrics).toContainEqual(expect.objectContaining({ lane: 'main', active: 1, depth: 2 }))
    expect(told.text).toMatch(/main +1 of 4 active +2 waiting/u)
    expect(await web.value('queue.move', { runId: c, before: b })).toBe(true)
    expect(await web.value('queue.list', { sessionId: 's' })).toMatchObject([{ runId: c }, { runId: b }])
    expect(await web.value('queue.cancel', { runId: c })).toBe(true)
    expect(await web.value('queue.clear', { sessionId: 's' })).toEqual([b])
    const changed = await web.value('configure', { sessionId: 's', changes: { queue: { mode: 'collect' } } })
    expect(changed).toMatchObject({ queue: { mode: 'collect' } })
    expect(await web.value('settings', { sessionId: 's' })).toEqual(changed)
  })

  it('names every problem of a request, and each refusal has our code beside one that DSH knows', async () => {
    const web = await WebWorld.boot({ config: { lanes: { main: { width: 1, maxQueued: 1 } } } })
    await web.world.createAgent('s')
    const invalid = await web.call('agent', { message: '', idempotencyKey: '' })
    expect(invalid.body.result?.error).toMatchObject({ code: 'bad-request', details: { code: 'invalid' } })
    expect(invalid.body.result?.error?.message).toMatch(/message.*idempotencyKey/s)
    const unknown = await web.call('agent.wait', { runId: 'nobody' })
    expect(unknown.body.result?.error).toMatchObject({
      code: 'bad-request',
      details: { code: 'run-not-found', issues: [] },
    })
    for (const message of ['a', 'b'])
      await web.value('agent', { ...REQUEST, message, idempotencyKey: message })
    await web.world.model.call(0)
    const busy = await web.call('agent', { ...REQUEST, message: 'c', idempotencyKey: 'c' })
    expect(busy.body.result?.error).toMatchObject({
      code: 'agent-busy',
      details: { code: 'busy', retryAfterMs: expect.any(Number) },
    })
  })

  it('lets a program look, and change things with the token only', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    web.world.model.auto = () => 'ok'
    expect((await web.call('lanes', {}, { headers: {} })).status).toBe(200)
    const changes = ['agent', 'agent.abort', 'queue.clear', 'queue.command', 'configure']
    const answers = await Promise.all(changes.map((name) => web.call(name, REQUEST, { headers: {} })))
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 401))
    expect(web.world.host.lanes()).toEqual([])
    const accepted = await web.call('agent', REQUEST, { headers: web.token })
    expect(accepted.body.result).toMatchObject({ ok: true })
  })

  it.each([
    ['a foreign page', { headers: { origin: 'http://evil.example' } }, 403],
    ['a name that was made to lead here', { headers: { host: 'evil.example' } }, 403],
    ['a look', { method: 'GET', body: '' }, 404],
    ['an unknown call', { path: '/agent-loop/constructor' }, 404],
    ['a stream as a call', { path: '/agent-loop/events' }, 404],
    ['no JSON', { body: '{' }, 400],
    ['another envelope', { body: '{}' }, 400],
    ['another method than the path', { path: '/agent-loop/agent' }, 400],
    ['a form', { headers: { 'content-type': 'text/plain' } }, 415],
    ['too much', { body: ' '.repeat(8 * 1024 * 1024 + 1) }, 413],
  ])('refuses %s', async (_title, options, status) => {
    const web = await WebWorld.boot()
    expect((await web.call('lanes', {}, options)).status).toBe(status)
  })

  it('ends what is under way when the host goes, and comes back with it', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const { runId } = await web.value<AcceptedRun>('agent', REQUEST)
    await web.world.model.call(0)
    const waiting = web.call('agent.wait', { runId, timeoutMs: 60_000 })
    const listener = web.listen(`runId=${runId}`)
    await until(() => listener.events.length === 1)
    await web.world.unload()
    expect((await waiting).body.result).toMatchObject({ ok: false })
    await listener.closed
    expect((await web.call('lanes', {})).status).toBe(404)
    await web.world.mount()
    expect(await web.value('agent.wait', { runId, timeoutMs: 0 })).toMatchObject({ state: 'running' })
  })

  it('is not there where somebody else has its path, and the host works all the same', async () => {
    const web = await WebWorld.boot({ config: { webDoor: false } })
    const server = web.world.ctx.get('webServer') as unknown as {
      register(route: object): () => void
    }
    const undo = server.register({
      kind: 'prefix',
      path: '/agent-loop',
      handler: (_request: unknown, response: { end(text: string): void }) => response.end('{"error":"mine"}'),
    })
    await web.world.unload()
    await web.world.mount({ webDoor: true })
    expect((await web.call('lanes', {})).body).toEqual({ error: 'mine' })
    expect(web.world.host.lanes()).toEqual([])
    undo()
  })

  it('is not there when the profile says so', async () => {
    const web = await WebWorld.boot({ config: { webDoor: false } })
    expect((await web.call('lanes', {})).status).toBe(404)
  })
})

describe('events over a socket', () => {
  it('go on behind the event that the reader has', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    web.world.model.auto = () => 'ok'
    const runId = await web.world.accept('s', 'hi')
    await web.world.host.wait({ runId })
    const listener = web.listen(`runId=${runId}&afterSeq=2`)
    await listener.closed
    expect(listener.events[0]?.seq).toBe(3)
  })

  it('of a session are those of each of its runs, also of turns that nobody accepted', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    web.world.model.auto = () => 'ok'
    const listener = web.listen('sessionId=s')
    await new Promise((resolve) => listener.socket.once('open', resolve))
    await settleDown()
    for (const text of ['a', 'b']) await web.world.host.wait({ runId: await web.world.accept('s', text) })
    const isEnd = ({ stream, data }: { stream: string; data: object }) =>
      stream === 'lifecycle' && 'phase' in data && data.phase === 'end'
    await until(() => listener.events.filter(isEnd).length === 2)
    listener.socket.close()
    await listener.closed
    expect(web.world.host.lanes()).toEqual([])
  })

  it.each([
    ['an unknown run', 'runId=nobody', 'run-not-found'],
    ['nothing', '', 'invalid'],
    ['a number that is none', 'runId=a&afterSeq=x', 'invalid'],
    ['something else', 'runId=a&token=b', 'invalid'],
  ])('tell the refusal of %s', async (_title, query, code) => {
    const web = await WebWorld.boot()
    const listener = web.listen(query)
    expect(await listener.closed).toBe(1008)
    expect(listener.frames).toEqual([{ type: 'error', error: { code, message: expect.any(String) } }])
  })

  it.each([
    ['a foreign page', { origin: 'http://evil.example' }],
    ['a foreign name', { host: 'evil.example' }],
  ])('are not for %s', async (_title, headers) => {
    const web = await WebWorld.boot()
    expect(await web.listen('sessionId=s', headers).closed).toBe(403)
  })

  it('hold nothing for a reader that is gone', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const runId = await web.world.accept('s', 'hi')
    await web.world.model.call(0)
    const listener = web.listen(`runId=${runId}`)
    await until(() => listener.events.length === 1)
    listener.socket.terminate()
    await until(() => web.world.streams.held.waiting === 0)
    expect(web.world.host.lanes()).toMatchObject([{ running: runId }])
  })

  it('end with an error for a message that is too large', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const runId = await web.world.accept('s', 'hi')
    await web.world.model.call(0)
    const listener = web.listen(`runId=${runId}`)
    await until(() => listener.events.length === 1)
    listener.socket.send('x'.repeat(5_000))
    expect(await listener.closed).toBe(1009)
    await until(() => web.world.streams.held.waiting === 0)
  })
})

describe('lanes over a socket', () => {
  interface News {
    readonly lanes: readonly { readonly running?: string; readonly queued: readonly string[] }[]
    readonly metrics: readonly { readonly lane: string; readonly active: number }[]
    readonly queues: readonly { readonly items: readonly { readonly preview: string }[] }[]
  }
  const newsOf = (listener: Listener) => listener.events as unknown as readonly News[]

  it('are told at once, and each time they have moved', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const listener = web.listen('sessionId=s', { origin: web.origin }, 'lanes')
    await until(() => newsOf(listener).length === 1)
    expect(newsOf(listener)[0]?.lanes).toEqual([])
    const first = await web.world.accept('s', 'first')
    await web.world.model.call(0)
    await web.world.accept('s', 'second')
    await until(() => newsOf(listener).at(-1)?.lanes[0]?.queued.length === 1)
    const last = newsOf(listener).at(-1)
    expect(last?.lanes[0]?.running).toBe(first)
    expect(last?.queues[0]?.items).toMatchObject([{ preview: 'second', status: 'queued' }])
    expect(last?.metrics.find(({ lane }) => lane === 'main')?.active).toBe(1)
  })

  it('say nothing while nothing moves', async () => {
    const web = await WebWorld.boot()
    await web.world.createAgent('s')
    const listener = web.listen('', {}, 'lanes')
    await until(() => newsOf(listener).length === 1)
    await settleDown()
    expect(listener.frames).toHaveLength(1)
  })

  it.each([
    ['a foreign page', { origin: 'http://evil.example' }],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a foreign name', { host: 'evil.example' }],
  ])('are not for %s', async (_title, headers) => {
    const web = await WebWorld.boot()
    expect(await web.listen('', headers, 'lanes').closed).toBe(403)
  })

  it('end with the host, and with whoever reads', async () => {
    const web = await WebWorld.boot()
    const [one, other] = [web.listen('', {}, 'lanes'), web.listen('', {}, 'lanes')]
    await until(() => [one, other].every((listener) => listener.frames.length === 1))
    one.socket.terminate()
    await one.closed
    await web.world.unload()
    expect(await other.closed).toBeGreaterThanOrEqual(1000)
  })
})
