import Commands from '@deepseek-ai/dsh-commands'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { settleDown, until } from '../support/until.ts'
import { temporaryFolder, typed } from '../support/world.ts'
import { bootHookWorld, listen } from './support/hook-world.ts'

const HANG = [{ fault: { hang: true as const } }]

async function say(agent: Agent, text: string): Promise<void> {
  agent.followup(typed(text))
  await agent.whenIdle()
  await settleDown()
}

describe('gateway_start', () => {
  it('is told once, also to a handler that comes later', async () => {
    const hooked = await bootHookWorld()
    await settleDown()
    expect(hooked.recorder.of('gateway_start')).toEqual([{}])
    const late: unknown[] = []
    await listen(hooked.ctx, 'late', (hook) => void hook('gateway_start', (event) => void late.push(event)))
    await settleDown()
    expect(late).toEqual([{}])
    expect(hooked.recorder.count('gateway_start')).toBe(1)
  })

  it('tells the port of the web server where there is one', async () => {
    const hooked = await bootHookWorld()
    await hooked.world.unload()
    hooked.ctx.provide('webServer', { port: 4711 })
    await hooked.world.mount()
    await settleDown()
    expect(hooked.recorder.of('gateway_start').at(-1)).toEqual({ port: 4711 })
  })
})

describe('session_start and session_end', () => {
  it('tell how a session began and what it came to', async () => {
    const sessions = await temporaryFolder()
    const hooked = await bootHookWorld({ sessions })
    const first = await hooked.ctx.agents.create({
      sessionId: SessionId('s'),
      agentOptions: { provider: 'scripted', model: 'm' },
    })
    await say(first.agent, 'hi')
    hooked.world.clock.advance(1_234)
    await hooked.ctx.sessions.flush(first.agent.session)
    await first.dispose()
    const second = await hooked.ctx.agents.resume({ resumeSessionId: SessionId('s') })
    await second.dispose()
    await settleDown()
    const facts = { sessionId: 's', isSubagent: false }
    expect(hooked.recorder.of('session_start')).toEqual([
      { ...facts, source: 'startup' },
      { ...facts, source: 'resume', resumedFrom: 's' },
    ])
    expect(hooked.recorder.of('session_end')).toEqual([
      { ...facts, messageCount: 2, durationMs: 1_234, reason: 'disposed' },
      { ...facts, messageCount: 2, durationMs: 0, reason: 'disposed' },
    ])
  })

  it('tell whose child a session is', async () => {
    const hooked = await bootHookWorld()
    const { dispose } = await hooked.ctx.agents.create({
      sessionId: SessionId('child'),
      meta: { parentSession: SessionId('root'), origin: 'subagent', delegationDepth: 1 },
      agentOptions: { provider: 'scripted', model: 'm' },
    })
    await dispose()
    await settleDown()
    const facts = { sessionId: 'child', parentSessionId: 'root', isSubagent: true }
    expect(hooked.recorder.of('session_start')[0]).toMatchObject(facts)
    expect(hooked.recorder.of('session_end')[0]).toMatchObject(facts)
  })
})

describe('the shutdown of the process', () => {
  it('ends open turns, then each session, then tells gateway_stop, and waits for each', async () => {
    const hooked = await bootHookWorld({ steps: [{ text: 'fine' }, ...HANG] })
    const [a, b] = [await hooked.createAgent('a'), await hooked.createAgent('b')]
    await say(a, 'hi')
    a.followup(typed('again'))
    b.followup(typed('hi'))
    await until(() => [a, b].every((agent) => agent.session.requestHeader() !== undefined))
    const heard: string[] = []
    await listen(hooked.ctx, 'storage', (hook, own) => {
      own.effect(() => () => void heard.push('the plugin is undone'), 'a plugin that goes too')
      hook('session_end', async ({ sessionId, reason }) => {
        heard.push(`session_end of ${sessionId}: ${reason}`)
        await settleDown()
        heard.push(`${sessionId} is written`)
      })
      hook('gateway_stop', ({ reason }) => void heard.push(`gateway_stop: ${reason}`))
      hook('agent_end', ({ sessionId, reason }) => void heard.push(`agent_end of ${sessionId}: ${reason}`))
    })
    await hooked.ctx.fiber.dispose()
    await settleDown()
    const told = heard.filter((line) => !line.startsWith('the plugin'))
    expect(told.slice(0, 2).sort()).toEqual(['agent_end of a: aborted', 'agent_end of b: aborted'])
    expect(told.slice(2, 4)).toEqual(['session_end of a: shutdown', 'session_end of b: shutdown'])
    expect(told.slice(4)).toEqual(['a is written', 'b is written', 'gateway_stop: shutdown'])
  })

  it('tells a session of its end although something before it hangs', async () => {
    const hooked = await bootHookWorld({ steps: HANG })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('hi'))
    await until(() => agent.session.requestHeader() !== undefined)
    await listen(hooked.ctx, 'stuck', (hook) => {
      hook('agent_end', () => new Promise(() => undefined), { priority: 1 })
    })
    const gone = hooked.ctx.fiber.dispose()
    await until(() => hooked.recorder.count('session_end') === 1)
    expect(hooked.recorder.count('agent_end')).toBe(1)
    expect(hooked.recorder.count('gateway_stop')).toBe(0)
    hooked.world.clock.advance(1_500)
    await gone
    expect(hooked.recorder.order.slice(-3)).toEqual(['agent_end', 'session_end', 'gateway_stop'])
  })

  it('tells each session of its end once, also one whose agent was gone before', async () => {
    const hooked = await bootHookWorld()
    await Promise.all(['a', 'b'].map((id) => hooked.createAgent(id)))
    const handle = await hooked.ctx.agents.create({ sessionId: SessionId('c') })
    await handle.dispose()
    await hooked.ctx.fiber.dispose()
    const ends = hooked.recorder.of('session_end').map(({ sessionId, reason }) => `${sessionId} ${reason}`)
    expect(ends.sort()).toEqual(['a shutdown', 'b shutdown', 'c disposed'])
    expect(hooked.recorder.order.at(-1)).toBe('gateway_stop')
  })

  it('takes no longer than its budget, and gateway_stop has its part of it', async () => {
    const hooked = await bootHookWorld({ hooks: { shutdownMs: 1_000 } })
    await hooked.createAgent('s')
    const heard: string[] = []
    const signals: AbortSignal[] = []
    await listen(hooked.ctx, 'stuck', (hook) => {
      hook('session_end', async (_event, { signal }) => {
        signals.push(signal)
        heard.push('session_end')
        await new Promise(() => undefined)
      })
      hook('gateway_stop', async () => {
        heard.push('gateway_stop')
        await new Promise(() => undefined)
      })
    })
    const gone = hooked.ctx.fiber.dispose().then(() => void heard.push('gone'))
    await until(() => heard.includes('session_end'))
    hooked.world.clock.advance(749)
    await settleDown()
    expect(heard).toEqual(['session_end'])
    hooked.world.clock.advance(1)
    await until(() => heard.includes('gateway_stop'))
    hooked.world.clock.advance(250)
    await gone
    expect(heard).toEqual(['session_end', 'gateway_stop', 'gone'])
    expect(signals[0]?.aborted).toBe(true)
    expect(hooked.world.clock.pending).toBe(0)
  })
})

describe('the reload of the host alone', () => {
  it('tells gateway_stop and ends no session; the turn goes on', async () => {
    const hooked = await bootHookWorld()
    const gate = Promise.withResolvers<void>()
    hooked.ctx.on('agent/request', async (_payload, next) => {
      await gate.promise
      return await next()
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('hi'))
    await until(() => hooked.recorder.count('before_agent_start') === 1)
    await hooked.world.unload()
    expect(hooked.recorder.of('gateway_stop')).toEqual([{ reason: 'unload' }])
    expect(hooked.recorder.count('session_end')).toBe(0)
    expect(hooked.recorder.count('agent_end')).toBe(0)
    await hooked.world.mount()
    gate.resolve()
    await agent.whenIdle()
    await settleDown()
    expect(hooked.recorder.of('gateway_start')).toHaveLength(2)
    // The turn is older than this host, and still it is told how it ended.
    expect(hooked.recorder.of('agent_end')).toEqual([expect.objectContaining({ turn: 1, success: true })])
  })

  it('refuses a hook while it goes', async () => {
    const hooked = await bootHookWorld()
    const { host } = hooked.world
    await hooked.world.unload()
    expect(() => host.hook('agent_end', () => undefined)).toThrow(/shutting down/)
  })
})

describe('agent_end', () => {
  it.each([
    { steps: [{ text: 'fine' }], success: true, reason: 'completed' },
    { steps: [{ fault: { code: 'QUOTA', message: 'no' } }], success: false, reason: 'error' },
  ])('tells how the turn ended: $reason', async ({ steps, success, reason }) => {
    const hooked = await bootHookWorld({ steps })
    await say(await hooked.createAgent('s'), 'hi')
    const [event] = hooked.recorder.of('agent_end')
    expect(event).toMatchObject({ success, reason, turn: 1, attempt: 1, durationMs: 0 })
    expect(event?.['error']).toEqual(success ? undefined : { code: 'QUOTA', message: 'no' })
    expect(event?.['messages']).toHaveLength(success ? 2 : 1)
  })

  it('may ask for another turn', async () => {
    const hooked = await bootHookWorld({ steps: [{ text: 'one' }, { text: 'two' }] })
    const agent = await hooked.createAgent('s')
    await listen(hooked.ctx, 'driver', (hook) => {
      hook('agent_end', ({ turn }) => {
        if (turn === 1) agent.followup(typed('go on'))
      })
    })
    agent.followup(typed('start'))
    await until(() => hooked.recorder.count('agent_end') === 2)
    expect(hooked.recorder.of('agent_end').map(({ turn }) => turn)).toEqual([1, 2])
    hooked.model.assertExhausted()
  })

  it('also tells of a turn that was refused before it asked a model', async () => {
    const hooked = await bootHookWorld()
    hooked.ctx.on('agent/pre-step', async () => ({ kind: 'reject' }))
    await say(await hooked.createAgent('s'), 'hi')
    expect(hooked.recorder.of('agent_end')).toEqual([
      expect.objectContaining({ reason: 'blocked', success: false }),
    ])
  })
})

describe('the hooks of a compaction', () => {
  it('tell what was compacted, in which attempt, and that it succeeded', async () => {
    const hooked = await bootHookWorld({
      steps: [
        { text: 'fine' },
        { fault: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too much' } },
        { toolCalls: [{ name: 'count', arguments: {} }] },
        { text: 'done' },
      ],
    })
    const agent = await hooked.createAgent('s')
    await say(agent, 'a long story '.repeat(2_000))
    await say(agent, 'go on')
    const [before] = hooked.recorder.of('before_compaction')
    const [after] = hooked.recorder.of('after_compaction')
    expect(before).toMatchObject({ sessionId: 's', turn: 2, attempt: 1, messageCount: 3 })
    expect(after).toMatchObject({ turn: 2, attempt: 1, messageCount: 2, success: true, compactedCount: 2 })
    expect(after?.['compactionId']).toBe(before?.['compactionId'])
    expect(after?.['tokenCount']).toBeGreaterThan(1_000)
    // The request that follows is the second attempt of the turn.
    expect(hooked.recorder.of('before_tool_call')[0]).toMatchObject({ turn: 2, attempt: 2 })
    expect(hooked.recorder.of('agent_end')[1]).toMatchObject({ turn: 2, attempt: 2 })
  })

  it('tell of one that failed', async () => {
    const hooked = await bootHookWorld({
      steps: [{ text: 'fine' }, { fault: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too much' } }],
    })
    const agent = await hooked.createAgent('s')
    await say(agent, 'short')
    await say(agent, 'go on')
    expect(hooked.recorder.of('after_compaction')).toEqual([
      expect.objectContaining({
        success: false,
        error: expect.stringContaining('not smaller'),
        compactedCount: 0,
      }),
    ])
  })
})

describe('the hooks of commands', () => {
  async function withCommands() {
    const hooked = await bootHookWorld({ steps: HANG })
    await hooked.ctx.plugin(Commands)
    const agent = await hooked.createAgent('s')
    const run = (line: string) => hooked.ctx.commands.execute(agent, line, [], new AbortController().signal)
    for (const name of ['new', 'reset', 'stop', 'dance']) {
      hooked.ctx.commands.register({
        name,
        description: name,
        handler: () => {
          if (name === 'stop') agent.cancel({ kind: 'user' })
          return { kind: 'success' }
        },
      })
    }
    return { hooked, agent, run }
  }

  it('fire for a slash command of that name, with what stood behind it', async () => {
    const { hooked, run } = await withCommands()
    const other: unknown[] = []
    await listen(hooked.ctx, 'other', (hook) => void hook('command:dance', (event) => void other.push(event)))
    await run('/new  for today ')
    await run('/reset')
    await run('/dance')
    await settleDown()
    const facts = { sessionId: 's', isSubagent: false }
    expect(hooked.recorder.of('command:new')).toEqual([{ ...facts, action: 'new', args: 'for today' }])
    expect(hooked.recorder.of('command:reset')).toEqual([{ ...facts, action: 'reset' }])
    expect(other).toEqual([{ ...facts, action: 'dance' }])
    expect(hooked.recorder.count('command:stop')).toBe(0)
  })

  it('fire once for a stop by command, which stops the turn as well', async () => {
    const { hooked, agent, run } = await withCommands()
    agent.followup(typed('hi'))
    await until(() => agent.session.requestHeader() !== undefined)
    await run('/stop')
    await agent.whenIdle()
    await settleDown()
    expect(hooked.recorder.count('command:stop')).toBe(1)
    expect(hooked.recorder.count('agent_end')).toBe(1)
  })
})
