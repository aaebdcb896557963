import { describe, expect, it } from 'vitest'
import type { HookSettings } from '../../src/hooks/settings.ts'
import type { HookOptions } from '../../src/index.ts'
import { settleDown, until } from '../support/until.ts'
import { typed } from '../support/world.ts'
import { bootHookWorld, listen, resultTexts, userTexts, type HookWorld } from './support/hook-world.ts'

const never = (): Promise<never> => new Promise(() => undefined)

const CALL = [{ toolCalls: [{ name: 'count', arguments: { text: 'a' } }] }, { text: 'done' }]

async function turn(hooked: HookWorld) {
  const agent = await hooked.createAgent('s')
  agent.followup(typed('hi'))
  await agent.whenIdle()
  await settleDown()
  return agent
}

describe('a handler that throws', () => {
  it('has no opinion, is named in the log, and the others are asked', async () => {
    const hooked = await bootHookWorld()
    await listen(hooked.ctx, 'broken', (hook) => {
      hook('before_prompt_build', () => {
        throw new Error('out of paper')
      })
    })
    await listen(hooked.ctx, 'sound', (hook) => {
      hook('before_prompt_build', () => ({ prependContext: 'from the sound one' }))
    })
    const agent = await turn(hooked)
    expect(userTexts(agent)).toEqual(['from the sound one', 'hi'])
    expect(hooked.warnings).toEqual(['hook before_prompt_build of plugin "broken" failed: out of paper'])
  })

  it('ends the turn when it fails closed', async () => {
    const hooked = await bootHookWorld()
    await listen(hooked.ctx, 'strict', (hook) => {
      hook('before_prompt_build', () => Promise.reject(new Error('no policy')), { failMode: 'closed' })
    })
    const agent = await turn(hooked)
    expect(agent.session.events.at(-1)).toMatchObject({ data: { reason: { kind: 'error' } } })
    expect(JSON.stringify(agent.session.events.at(-1))).toContain('no policy')
    expect(hooked.model.report().conversations).toHaveLength(0)
  })

  it('denies a tool call, unless it was registered open', async () => {
    const hooked = await bootHookWorld({ steps: [...CALL, ...CALL] })
    const broken = (): never => {
      throw new Error('no answer')
    }
    const plugin = await listen(hooked.ctx, 'guard', (hook) => void hook('before_tool_call', broken))
    const agent = await turn(hooked)
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('plugin \\"guard\\" failed: no answer')
    await plugin.dispose()
    await listen(hooked.ctx, 'guard', (hook) => void hook('before_tool_call', broken, { failMode: 'open' }))
    agent.followup(typed('again'))
    await agent.whenIdle()
    expect(hooked.toolCalls).toHaveLength(1)
  })

  it('does not reach the handlers that observe beside it', async () => {
    const hooked = await bootHookWorld()
    await listen(hooked.ctx, 'broken', (hook) => {
      hook('agent_end', () => {
        throw Object.create(null)
      })
    })
    await turn(hooked)
    expect(hooked.recorder.count('agent_end')).toBe(1)
    expect(hooked.warnings).toEqual([
      'hook agent_end of plugin "broken" failed: it threw something without a text',
    ])
  })
})

describe('a handler that never answers', () => {
  const hang = async (options: HookOptions, settings: Partial<HookSettings> = {}) => {
    const hooked = await bootHookWorld({ steps: CALL, hooks: settings })
    const signals: AbortSignal[] = []
    await listen(hooked.ctx, 'sleeper', (hook) => {
      hook(
        'before_tool_call',
        (_event, { signal }) => {
          signals.push(signal)
          return never()
        },
        options,
      )
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('hi'))
    await until(() => signals.length === 1)
    return { hooked, agent, signals }
  }

  it('denies the tool call at its deadline, and its signal fires', async () => {
    const { hooked, agent, signals } = await hang({})
    hooked.world.clock.advance(14_999)
    await settleDown()
    expect(agent.status).toBe('running')
    hooked.world.clock.advance(1)
    await agent.whenIdle()
    expect(signals[0]?.aborted).toBe(true)
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('did not answer within 15000 ms')
  })

  it('is passed over at its deadline when it is open', async () => {
    const { hooked, agent } = await hang({ failMode: 'open', timeoutMs: 50 })
    hooked.world.clock.advance(50)
    await agent.whenIdle()
    expect(hooked.toolCalls).toHaveLength(1)
  })

  it.each([
    { name: 'its own deadline', options: { timeoutMs: 300 }, settings: {}, ms: 300 },
    { name: 'the cap on its own deadline', options: { timeoutMs: 600_000 }, settings: {}, ms: 60_000 },
    { name: 'a cap of the profile', options: { timeoutMs: 900 }, settings: { maxTimeoutMs: 500 }, ms: 500 },
    {
      name: 'the deadline of the hook',
      options: { timeoutMs: 300 },
      settings: { timeouts: { before_tool_call: 200 } },
      ms: 200,
    },
    {
      name: 'the deadline of the plugin',
      options: { timeoutMs: 300 },
      settings: { timeouts: { before_tool_call: 200 }, plugins: { sleeper: 100 } },
      ms: 100,
    },
  ])('is held to $name', async ({ options, settings, ms }) => {
    const { hooked, agent } = await hang(options, settings)
    hooked.world.clock.advance(ms - 1)
    await settleDown()
    expect(agent.status).toBe('running')
    hooked.world.clock.advance(1)
    await agent.whenIdle()
    expect(resultTexts(agent)[0]).toContain(`${ms} ms`)
  })

  it('does not hold up a turn that is cancelled', async () => {
    const { hooked, agent, signals } = await hang({})
    agent.cancel({ kind: 'user' }, { keepInbox: true })
    await agent.whenIdle()
    expect(signals[0]?.aborted).toBe(true)
    expect(hooked.toolCalls).toEqual([])
    expect(agent.session.events.at(-1)).toMatchObject({ data: { reason: { kind: 'aborted' } } })
    expect(hooked.world.clock.pending).toBe(0)
  })

  it('does not hold up the run when it only observes', async () => {
    const hooked = await bootHookWorld()
    await listen(hooked.ctx, 'sleeper', (hook) => void hook('agent_end', never))
    await turn(hooked)
    hooked.world.clock.advance(30_000)
    await settleDown()
    expect(hooked.warnings).toEqual([
      'hook agent_end of plugin "sleeper" failed: it did not answer within 30000 ms',
    ])
  })

  it('may fail after its deadline without anybody hearing of it', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    const late = Promise.withResolvers<never>()
    let isAsked = false
    await listen(hooked.ctx, 'late', (hook) => {
      hook('before_tool_call', () => {
        isAsked = true
        return late.promise
      })
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('hi'))
    await until(() => isAsked)
    hooked.world.clock.advance(15_000)
    await agent.whenIdle()
    late.reject(new Error('too late'))
    await settleDown()
    expect(hooked.warnings).toHaveLength(1)
  })
})

describe('an answer that is no good', () => {
  it('counts as a failure: a misspelled block denies the call', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    await listen(hooked.ctx, 'typo', (hook) => {
      hook('before_tool_call', () => ({ blok: true }) as never)
    })
    const agent = await turn(hooked)
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('blok')
  })
})

describe('an event', () => {
  it('cannot be written into, and later handlers see it unchanged', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    const seen: unknown[] = []
    await listen(hooked.ctx, 'writer', (hook) => {
      hook(
        'before_tool_call',
        (event) => {
          ;(event.params as { text: string }).text = 'changed in place'
        },
        { priority: 1, failMode: 'open' },
      )
      hook('before_tool_call', (event) => void seen.push(event.params))
    })
    await turn(hooked)
    expect(seen).toEqual([{ text: 'a' }])
    expect(hooked.toolCalls).toEqual([{ text: 'a' }])
    expect(hooked.warnings[0]).toMatch(/"writer" failed: .*read only/)
  })
})

describe('a synchronous hook', () => {
  it('refuses a promise with a warning that names the plugin, and withholds the result', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    await listen(hooked.ctx, 'redactor', (hook) => {
      // Not an async function, so that only the call shows it.
      hook('tool_result_persist', (() => Promise.reject(new Error('nobody sees this'))) as never)
    })
    const agent = await turn(hooked)
    expect(resultTexts(agent)[0]).toContain('withheld')
    expect(resultTexts(agent)[0]).not.toContain('hunter2')
    expect(hooked.warnings[0]).toMatch(/tool_result_persist of plugin "redactor" failed: .*promise/)
  })

  it('goes on without the promise when it was registered open', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    await listen(hooked.ctx, 'redactor', (hook) => {
      const handler = (() => Promise.resolve({ message: { content: [], isError: false } })) as never
      hook('tool_result_persist', handler, { failMode: 'open' })
    })
    const agent = await turn(hooked)
    expect(resultTexts(agent)[0]).toContain('hunter2')
    expect(hooked.warnings[0]).toContain('"redactor"')
  })

  it('withholds the result when a handler that fails closed throws', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    const broken = (): never => {
      throw new Error('no rules')
    }
    await listen(hooked.ctx, 'redactor', (hook) => {
      hook('tool_result_persist', broken, { failMode: 'closed' })
    })
    const agent = await turn(hooked)
    expect(resultTexts(agent)[0]).toMatch(/withheld.*no rules/)
  })
})
