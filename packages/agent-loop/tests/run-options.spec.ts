import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { sessionIdOfKey } from '../src/request.ts'
import { settleDown, until } from './support/until.ts'
import { temporaryFolder, typed, World } from './support/world.ts'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('a run with a model of its own', () => {
  it('uses it, and the turn after it goes back to that of the session', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    world.model.auto = () => 'ok'
    const model = { provider: 'gate', model: 'other' }
    await world.host.wait({ runId: await world.accept('s', 'plain') })
    const run = await world.accept('s', 'with a model', { model, effort: 'high' })
    expect(await world.host.wait({ runId: run })).toMatchObject({
      result: { prompt: { model, effort: 'high' } },
    })
    await world.host.wait({ runId: await world.accept('s', 'plain again') })
    agent.followup(typed('mine'))
    await until(() => world.model.calls.length === 4)
    expect(world.model.calls.map((call) => [call.model, call.effort])).toEqual([
      ['m', undefined],
      ['other', 'high'],
      ['m', undefined],
      ['m', undefined],
    ])
  })

  it('takes the defaults of its session, and what it says for itself wins', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    await world.host.configure('s', { model: { provider: 'gate', model: 'usual' }, thinking: 'low' })
    await world.host.wait({ runId: await world.accept('s', 'one') })
    await world.host.wait({ runId: await world.accept('s', 'two', { thinking: 'high' }) })
    await world.host.wait({ runId: await world.accept('s', 'three', { thinking: 'off' }) })
    await world.host.wait({ runId: await world.accept('s', 'four', { thinking: 'minimal' }) })
    expect(world.model.calls.map((call) => [call.model, call.effort])).toEqual([
      ['usual', 'low'],
      ['usual', 'high'],
      ['usual', undefined],
      ['usual', undefined],
    ])
  })
})

describe('instructions of a run', () => {
  it('stand before its message, for the model to see, and not before another one', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    world.model.auto = () => 'ok'
    const extraSystemPrompt = 'Answer in {{one}} word.'
    const runId = await world.accept('s', 'one', { extraSystemPrompt })
    expect(await world.host.wait({ runId })).toMatchObject({
      status: 'ok',
      result: { prompt: { extraSystemPrompt: extraSystemPrompt.length, joined: 1, message: 3 } },
    })
    expect(world.model.calls[0]?.prompts).toEqual([extraSystemPrompt, 'one'])
    await world.host.wait({ runId: await world.accept('s', 'two') })
    const sources = agent.session.events.flatMap((event) =>
      event.type === 'user/message' ? event.data.source : [],
    )
    expect(sources).toEqual([
      { kind: 'plugin', plugin: 'dsh-agent-loop-host', form: 'instructions' },
      { kind: 'user' },
      { kind: 'user' },
    ])
  })
})

describe('attachments', () => {
  const attachments = [{ kind: 'image', mediaType: 'image/png', data: PIXEL, name: 'dot.png' }]

  it('are stored by the attachment service and told with the message', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const saved: unknown[] = []
    const ref = { attachmentId: 'a1', mediaType: 'image/png', bytes: 70, width: 1, height: 1 }
    world.ctx.provide('attachments', {
      saveImages: async (images: readonly { data: Uint8Array; name?: string }[]) => {
        saved.push(...images.map(({ data, name }) => [data.length, name]))
        return images.map(() => ref)
      },
    })
    world.model.auto = () => 'ok'
    const runId = await world.accept('s', 'look', { attachments })
    expect(await world.host.wait({ runId })).toMatchObject({
      status: 'ok',
      result: { prompt: { attachments: 1 } },
    })
    expect(saved).toEqual([[70, 'dot.png']])
    const sent = agent.session.events.find((event) => event.type === 'user/message')
    expect(sent?.data).toMatchObject({
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', attachment: ref },
      ],
    })
  })

  it('end the run with a code where nothing stores them', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'look', { attachments })
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'error',
      error: { code: 'attachment-failed' },
    })
    expect(world.model.calls).toHaveLength(0)
  })

  it.each([
    ['no base64', [{ kind: 'image', mediaType: 'image/png', data: 'not base64!' }]],
    ['another type', [{ kind: 'image', mediaType: 'text/html', data: PIXEL }]],
    ['nothing', []],
    ['more than fits', [{ kind: 'image', mediaType: 'image/png', data: 'A'.repeat(2_800_004) }]],
    [
      'more together than fits',
      Array.from({ length: 2 }, () => ({ ...attachments[0], data: 'A'.repeat(2_000_000) })),
    ],
  ])('are refused with %s', async (_case, bad) => {
    const world = await World.boot()
    await expect(world.accept('s', 'look', { attachments: bad })).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('a working directory', () => {
  it('that is not that of the session ends the run before anything is sent', async () => {
    const world = await World.boot()
    await world.ctx.agents.create({
      sessionId: SessionId('s'),
      agentOptions: { provider: 'gate', model: 'm' },
      meta: { cwd: '/here' },
    })
    const wrong = await world.accept('s', 'one', { cwd: '/there' })
    expect(await world.host.wait({ runId: wrong })).toMatchObject({ error: { code: 'cwd-mismatch' } })
    const right = await world.accept('s', 'two', { cwd: '/here' })
    ;(await world.model.call(0)).reply('ok')
    expect(await world.host.wait({ runId: right })).toMatchObject({ status: 'ok' })
  })

  it('that is not absolute is refused', async () => {
    const world = await World.boot()
    await expect(world.accept('s', 'x', { cwd: 'here' })).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('a session key', () => {
  const request = { sessionKey: 'mail:someone', message: 'hello', idempotencyKey: 'k' }
  const model = { provider: 'gate', model: 'm' }

  it('means one session, which is made when it does not exist and resumed when it does', async () => {
    const sessions = await temporaryFolder()
    const world = await World.boot({ sessions })
    const { runId } = await world.host.accept({ ...request, model, cwd: '/here' })
    ;(await world.model.call(0)).reply('hi')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'hi' })
    const sessionId = sessionIdOfKey('mail:someone')
    expect(await world.host.read(runId)).toMatchObject({ sessionId })
    const agent = world.ctx.agents.get(SessionId(sessionId))
    expect(agent?.session.header.cwd).toBe('/here')
    if (agent !== undefined) await world.ctx.sessions.flush(agent.session)

    const next = await world.crash()
    const again = await next.host.accept({ ...request, message: 'me again', idempotencyKey: 'k2' })
    const call = await next.model.call(0)
    expect(call.prompts).toEqual(['hello', 'me again'])
    call.reply('hi again')
    expect(await next.host.wait({ runId: again.runId })).toMatchObject({ status: 'ok' })
    expect((await next.entries(sessionId)).filter((type) => type === 'session/described')).toHaveLength(1)
  })

  it('that nothing was stored for yet is made anew after a crash, under the same id', async () => {
    const world = await World.boot()
    const { runId } = await world.host.accept({ ...request, model })
    const next = await world.crash({ config: { recover: 'all' } })
    ;(await next.model.call(0)).reply('hi')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'hi' })
  })

  it('works in the folder of the process when the request names none, as a headless session does', async () => {
    const world = await World.boot()
    const { runId } = await world.host.accept({ ...request, model })
    ;(await world.model.call(0)).reply('hi')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    const agent = world.ctx.agents.get(SessionId(sessionIdOfKey('mail:someone')))
    expect(agent?.session.header.cwd).toBe(process.cwd())
  })

  it('stands alone: neither with a session id nor without either', async () => {
    const world = await World.boot()
    const { sessionKey: _key, ...neither } = request
    await expect(world.host.accept({ ...request, sessionId: 's' })).rejects.toMatchObject({ code: 'invalid' })
    await expect(world.host.accept(neither)).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('the result of a run', () => {
  it('holds payloads, usage, duration, stop reason and what the prompt was made of', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const first = await world.accept('s', 'one')
    ;(await world.model.call(0)).reply('uno')
    await world.host.wait({ runId: first })
    const runId = await world.accept('s', 'two')
    const call = await world.model.call(1)
    world.clock.advance(1500)
    call.reply('dos')
    expect((await world.host.wait({ runId })).result).toEqual({
      payloads: [{ kind: 'answer', text: 'dos' }],
      durationMs: 1500,
      stopReason: 'completed',
      usage: { inputTokens: 7, outputTokens: 3 },
      prompt: {
        model: { provider: 'gate', model: 'm' },
        systemPrompt: expect.any(Number),
        tools: 0,
        history: 2,
        joined: 0,
        message: 3,
        attachments: 0,
        extraSystemPrompt: 0,
        collected: 1,
        digested: 0,
      },
    })
  })

  it('holds the error of a run that went wrong', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(0)).fail('QUOTA', 'no credit')
    expect((await world.host.wait({ runId })).result).toMatchObject({
      payloads: [{ kind: 'error', text: 'no credit' }],
      stopReason: 'error',
    })
  })

  it('is forgotten after its time; that the run was, and how it ended, is not', async () => {
    const world = await World.boot({ config: { retentionMs: 1000 } })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(0)).reply('uno')
    await world.host.wait({ runId })
    world.clock.advance(999)
    expect(await world.host.read(runId)).toMatchObject({ reply: 'uno' })
    world.clock.advance(2)
    const view = await world.host.read(runId)
    expect(view).toMatchObject({ state: 'ok', turn: 1 })
    expect(view).not.toHaveProperty('reply')
    expect(view).not.toHaveProperty('result')
    expect(await world.accept('s', 'one')).toBe(runId)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
  })
})
