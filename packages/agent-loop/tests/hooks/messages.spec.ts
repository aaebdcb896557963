import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { HookHost } from '../../src/hooks/hook-host.ts'
import { ModelDetours } from '../../src/model-detours.ts'
import { DEFAULT_HOOK_SETTINGS } from '../../src/hooks/settings.ts'
import { settleDown, until } from '../support/until.ts'
import { temporaryFolder, typed } from '../support/world.ts'
import { bootHookWorld, listen, type HookWorld } from './support/hook-world.ts'

async function runOnce(hooked: HookWorld, text = 'hi') {
  const runId = await hooked.world.accept('s', text)
  const outcome = await hooked.world.host.wait({ runId })
  await settleDown()
  return outcome
}

describe('message_received', () => {
  it('tells who sent what, and leaves out what plugins add as context', async () => {
    const hooked = await bootHookWorld()
    const agent = await hooked.createAgent('s')
    const plugin = (form: object) =>
      createUserMessage({
        content: [{ type: 'text', text: 'by a plugin' }],
        source: { kind: 'plugin', plugin: 'p', ...form } as never,
      })
    agent.inject(plugin({}))
    agent.inject(plugin({ form: 'instructions' }))
    agent.inject(plugin({ form: 'notice', summary: 'news' }))
    agent.followup(typed('by a person'))
    await agent.whenIdle()
    await settleDown()
    expect(hooked.recorder.of('message_received').map(({ from, content }) => [from, content])).toEqual([
      ['p', 'by a plugin'],
      ['user', 'by a person'],
    ])
  })

  it('does not tell of the wake by which the host lets an inbox go on', async () => {
    const hooked = await bootHookWorld({ steps: [{ fault: { hang: true } }, { text: 'second' }] })
    const agent = await hooked.createAgent('s')
    const runId = await hooked.world.accept('s', 'first')
    await until(() => agent.session.events.some(({ type }) => type === 'request/header'))
    agent.followup(typed('behind it'))
    await hooked.world.host.abort({ runId })
    await until(() => hooked.recorder.count('message_sent') === 1)
    expect(hooked.recorder.of('message_received').map(({ content }) => content)).toEqual([
      'first',
      'behind it',
    ])
  })
})

describe('message_sending', () => {
  it('changes the reply of a run, one handler after the other; the log keeps what the model said', async () => {
    const hooked = await bootHookWorld({ steps: [{ text: 'hello' }] })
    const agent = await hooked.createAgent('s')
    await listen(hooked.ctx, 'polite', (hook) => {
      hook('message_sending', ({ content }) => ({ content: `${content}, friend` }), { priority: 2 })
      hook('message_sending', ({ content, to }) => ({ content: `${content} at ${to}` }), { priority: 1 })
    })
    const outcome = await runOnce(hooked)
    expect(outcome).toMatchObject({ state: 'ok', reply: 'hello, friend at s' })
    expect(hooked.recorder.of('message_sent')).toEqual([
      expect.objectContaining({ to: 's', content: 'hello, friend at s', success: true, turn: 1 }),
    ])
    expect(JSON.stringify(agent.session.events)).not.toContain('friend')
    const [stored] = (await hooked.world.log.read('run/s')).slice(-1)
    expect(stored).toMatchObject({ data: { reply: 'hello, friend at s' } })
  })

  it('holds a reply back for good when it is cancelled', async () => {
    const hooked = await bootHookWorld({ steps: [{ text: 'hello' }] })
    await hooked.createAgent('s')
    const asked: string[] = []
    await listen(hooked.ctx, 'censor', (hook) => {
      hook('message_sending', () => ({ cancel: true }), { priority: 1 })
      hook('message_sending', () => {
        asked.push('after the censor')
        return { cancel: false, content: 'still here' }
      })
    })
    const outcome = await runOnce(hooked)
    expect(outcome).toMatchObject({ state: 'ok' })
    expect(outcome).not.toHaveProperty('reply')
    expect(asked).toEqual([])
    expect(hooked.recorder.count('message_sent')).toBe(0)
  })

  it('holds a reply back when a handler that fails closed fails', async () => {
    const hooked = await bootHookWorld({ steps: [{ text: 'hello' }] })
    await hooked.createAgent('s')
    await listen(hooked.ctx, 'censor', (hook) => {
      hook('message_sending', () => Promise.reject(new Error('no list')), { failMode: 'closed' })
    })
    expect(await runOnce(hooked)).not.toHaveProperty('reply')
    expect(hooked.warnings).toEqual(['hook message_sending of plugin "censor" failed: no list'])
  })

  it('also stands before what was said when a turn was cut off', async () => {
    const half = { text: 'half an answer', fault: { code: 'QUOTA', message: 'no more', after: 2 } }
    const hooked = await bootHookWorld({ steps: [{ text: 'one', toolCalls: [{ name: 'count' }] }, half] })
    await hooked.createAgent('s')
    await listen(hooked.ctx, 'marker', (hook) => {
      hook('message_sending', ({ content }) => ({ content: `[${content}]` }))
    })
    expect(await runOnce(hooked)).toMatchObject({ state: 'error', reply: '[one]' })
  })

  it('is asked for a reply that a crash kept from being settled', async () => {
    const sessions = await temporaryFolder()
    const before = await bootHookWorld({ steps: [{ text: 'hello' }], sessions })
    const agent = await before.createAgent('s')
    const ended = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await listen(before.ctx, 'slow', (hook) => {
      hook('message_sending', async () => {
        ended.resolve()
        await gate.promise
      })
    })
    const runId = await before.world.accept('s', 'hi')
    await ended.promise
    await before.ctx.sessions.flush(agent.session)
    const after = await bootHookWorld(await before.world.remains())
    await listen(after.ctx, 'marker', (hook) => {
      hook('message_sending', ({ content, metadata }) => ({
        content: `${content} (${JSON.stringify(metadata)})`,
      }))
    })
    await after.ctx.agents.resume({ resumeSessionId: agent.id })
    expect(await after.world.host.wait({ runId })).toMatchObject({ reply: 'hello ({"recovered":true})' })
    gate.resolve()
  })
})

describe('a text that is handed over by somebody else', () => {
  it('passes the same hooks, and its failure is told', async () => {
    const hooked = await bootHookWorld()
    await hooked.world.unload()
    const { ctx, world } = hooked
    let hooks: HookHost | undefined
    await ctx.plugin({
      name: 'channel',
      inject: ['agents'],
      apply: (own: typeof ctx) => {
        hooks = new HookHost({
          ctx: own,
          log: memoryLog(),
          clock: world.clock,
          settings: DEFAULT_HOOK_SETTINGS,
          detours: new ModelDetours(),
          runIdOf: () => undefined,
        })
      },
    })
    const told: unknown[] = []
    hooks?.register('p', 'message_sending', ({ content }: { content: string }) => ({
      content: `${content}!`,
    }))
    hooks?.register('p', 'message_sent', (event: unknown) => void told.push(event))
    const sent: string[] = []
    const message = { to: 'room', content: 'news', metadata: {} }
    expect(await hooks?.deliver(message, async (content) => void sent.push(content))).toEqual({
      kind: 'sent',
      content: 'news!',
    })
    const broken = hooks?.deliver(message, () => Promise.reject(new Error('line is dead')))
    await expect(broken).rejects.toThrow('line is dead')
    expect(sent).toEqual(['news!'])
    expect(told).toEqual([
      { ...message, content: 'news!', success: true },
      { ...message, content: 'news!', success: false, error: 'line is dead' },
    ])
  })
})
