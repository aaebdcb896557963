import { describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { StepSource } from 'dsh-llm-scripted'
import { settleDown, until } from '../support/until.ts'
import { typed } from '../support/world.ts'
import { bootHookWorld, listen, userTexts, type HookWorld } from './support/hook-world.ts'

const TOOL_TURN: readonly StepSource[] = [
  { toolCalls: [{ name: 'count', arguments: { text: 'a' } }] },
  { text: 'done' },
]

async function say(agent: Agent, text: string): Promise<void> {
  agent.followup(typed(text))
  await agent.whenIdle()
  await settleDown()
}

/** Provider and model of each answer, oldest first. */
function routes(agent: Agent): readonly string[] {
  return agent.session.events.flatMap((event) => {
    if (event.type !== 'assistant/message') return []
    const { source } = event.data.message
    return [`${source.provider}/${source.model}`]
  })
}

/** The system prompts of the session's requests; one entry for each that differs from the one before. */
function systems(agent: Agent): readonly string[] {
  return agent.session.events.flatMap((event) =>
    event.type === 'request/header' ? [event.data.header.system ?? ''] : [],
  )
}

async function withTurn(steps?: readonly StepSource[]): Promise<{ hooked: HookWorld; agent: Agent }> {
  const hooked = await bootHookWorld(steps === undefined ? {} : { steps })
  return { hooked, agent: await hooked.createAgent('s') }
}

describe('before_model_resolve', () => {
  it('chooses the model of every request of one turn, and the next has its own again', async () => {
    const { hooked, agent } = await withTurn([...TOOL_TURN, { text: 'second' }, { text: 'third' }])
    const prompts: string[] = []
    await listen(hooked.ctx, 'router', (hook) => {
      hook('before_model_resolve', ({ prompt }) => {
        prompts.push(prompt)
        if (prompt === 'small one') return { modelOverride: 'small' }
        return prompt === 'elsewhere' ? { providerOverride: 'other', modelOverride: 'x' } : undefined
      })
    })
    await say(agent, 'small one')
    await say(agent, 'as usual')
    await say(agent, 'elsewhere')
    expect(prompts).toEqual(['small one', 'as usual', 'elsewhere'])
    expect(routes(agent)).toEqual(['scripted/small', 'scripted/small', 'scripted/m', 'other/x'])
  })

  it('leaves an effort behind that belongs to the other model', async () => {
    const { hooked, agent } = await withTurn()
    hooked.ctx.on('agent/request', async (_payload, next) => ({
      ...(await next()),
      reasoningEffort: 'low' as never,
    }))
    await listen(hooked.ctx, 'router', (hook) => {
      hook('before_model_resolve', ({ prompt }) => (prompt === 'other' ? { modelOverride: 'x' } : null))
    })
    await say(agent, 'mine')
    await say(agent, 'other')
    await say(agent, 'mine')
    const configs = agent.session.events.flatMap((event) =>
      event.type === 'request/header' ? [event.data.header.config] : [],
    )
    expect(configs.map(({ model, reasoningEffort }) => [model, reasoningEffort])).toEqual([
      ['m', 'low'],
      ['x', undefined],
      ['m', 'low'],
    ])
  })
})

describe('before_prompt_build', () => {
  it('sees the conversation so far, and what earlier handlers said', async () => {
    const { hooked, agent } = await withTurn()
    const seen: unknown[] = []
    await listen(hooked.ctx, 'first', (hook) => {
      hook('before_prompt_build', () => ({ prependContext: 'from the first' }), { priority: 1 })
    })
    await listen(hooked.ctx, 'second', (hook) => {
      hook('before_prompt_build', ({ prompt, messages, earlier }) => {
        seen.push({ prompt, roles: messages.map(({ role }) => role), earlier })
        return { prependContext: 'from the second', appendContext: 'at the end' }
      })
    })
    await say(agent, 'one')
    await say(agent, 'two')
    const earlier = { prependContext: 'from the first' }
    expect(seen).toEqual([
      { prompt: 'one', roles: [], earlier },
      { prompt: 'two', roles: ['user', 'user', 'user', 'assistant'], earlier },
    ])
    const context = 'from the first\n\nfrom the second'
    expect(userTexts(agent)).toEqual([context, 'one', 'at the end', context, 'two', 'at the end'])
  })

  it('adds its messages once, also when the turn is steered', async () => {
    const { hooked, agent } = await withTurn(TOOL_TURN)
    await listen(hooked.ctx, 'adder', (hook) => {
      hook('before_prompt_build', () => ({ prependContext: 'context' }))
      hook('before_tool_call', () => agent.steer(typed('and this')))
    })
    await say(agent, 'one')
    expect(userTexts(agent)).toEqual(['context', 'one', 'and this'])
    expect(hooked.recorder.count('before_prompt_build')).toBe(1)
  })

  it('does not fire again for a turn that goes on while the host is reloaded', async () => {
    const { hooked, agent } = await withTurn(TOOL_TURN)
    const gate = Promise.withResolvers<void>()
    hooked.ctx.on('tools/execute', async (_exec, next) => {
      await gate.promise
      return await next()
    })
    const runs: unknown[] = []
    await listen(hooked.ctx, 'reader', (hook) => void hook('before_prompt_build', () => void runs.push(1)))
    agent.followup(typed('one'))
    await until(() => hooked.recorder.count('before_tool_call') === 1)
    await hooked.world.unload()
    await hooked.world.mount()
    await settleDown()
    agent.steer(typed('and this'))
    gate.resolve()
    await agent.whenIdle()
    await settleDown()
    expect(runs).toHaveLength(1)
    expect(hooked.recorder.of('agent_end')).toEqual([expect.objectContaining({ turn: 1, success: true })])
  })

  it('shapes the system prompt of its turn and of no other', async () => {
    const { hooked, agent } = await withTurn([...TOOL_TURN, { text: 'second' }])
    hooked.ctx.systemPrompt.section({ name: 'own', order: 1, text: 'Own section.' })
    await listen(hooked.ctx, 'shaper', (hook) => {
      hook('before_prompt_build', ({ prompt }) =>
        prompt === 'one' ? { prependSystemContext: 'Before.', appendSystemContext: 'After.' } : undefined,
      )
    })
    await say(agent, 'one')
    await say(agent, 'two')
    const [first, second, ...rest] = systems(agent)
    expect(first).toMatch(/^Before\.\n\n[\s\S]*Own section\.[\s\S]*\n\nAfter\.$/)
    expect(second).toContain('Own section.')
    expect(second).not.toMatch(/Before\.|After\./)
    // The second request of the first turn had the same header, and no third one was needed.
    expect(rest).toEqual([])
  })

  it('replaces the system prompt, the first one that says so, and takes braces as they are', async () => {
    const { hooked, agent } = await withTurn()
    await listen(hooked.ctx, 'replacer', (hook) => {
      hook('before_prompt_build', () => ({ systemPrompt: 'You are {{not a variable}}.' }), { priority: 2 })
      hook('before_prompt_build', () => ({ systemPrompt: 'too late', appendSystemContext: '{{ and }}' }))
    })
    await say(agent, 'one')
    expect(systems(agent)).toEqual(['You are {{not a variable}}.\n\n{{ and }}'])
  })
})

describe('before_agent_start', () => {
  it('fires once, sees both newer hooks and speaks after them', async () => {
    const { hooked, agent } = await withTurn()
    const seen: unknown[] = []
    await listen(hooked.ctx, 'old', (hook) => {
      hook('before_agent_start', ({ earlier, messages, prompt }) => {
        seen.push({ earlier, messages, prompt })
        return { modelOverride: 'old choice', prependContext: 'old words' }
      })
    })
    await listen(hooked.ctx, 'new', (hook) => {
      hook('before_model_resolve', ({ prompt }) => (prompt === 'two' ? { modelOverride: 'new' } : null))
      hook('before_prompt_build', () => ({ prependContext: 'new words' }))
    })
    await say(agent, 'one')
    await say(agent, 'two')
    expect(seen).toHaveLength(2)
    expect(seen[0]).toEqual({ earlier: { prependContext: 'new words' }, messages: [], prompt: 'one' })
    expect(seen[1]).toMatchObject({ earlier: { modelOverride: 'new', prependContext: 'new words' } })
    expect(userTexts(agent)[0]).toBe('new words\n\nold words')
    expect(routes(agent)).toEqual(['scripted/old choice', 'scripted/new'])
  })
})

describe('agent:bootstrap', () => {
  it('adds, changes and removes the contexts of the session, and a failed handler changes nothing', async () => {
    const { hooked, agent } = await withTurn(TOOL_TURN)
    for (const name of ['kept', 'changed', 'removed']) {
      hooked.ctx.systemPrompt.context({ name, order: 1, text: `text of ${name}` })
    }
    await listen(hooked.ctx, 'editor', (hook) => {
      hook(
        'agent:bootstrap',
        ({ bootstrapFiles }) => {
          bootstrapFiles.length = 0
          throw new Error('half done')
        },
        { priority: 2 },
      )
      hook('agent:bootstrap', ({ bootstrapFiles }) => void bootstrapFiles.push({ name: 'bad' } as never), {
        priority: 1,
      })
      hook('agent:bootstrap', ({ bootstrapFiles }) => {
        const removed = bootstrapFiles.findIndex(({ name }) => name === 'removed')
        bootstrapFiles.splice(removed, 1)
        for (const file of bootstrapFiles) if (file.name === 'changed') file.text = 'new {{text}}'
        bootstrapFiles.push({ name: 'added', text: 'added text' })
      })
    })
    await say(agent, 'one')
    const snapshots = userTexts(agent).filter((text) => text.includes('kept'))
    expect(snapshots).toHaveLength(1)
    expect(snapshots[0]).toContain('new {{text}}')
    expect(snapshots[0]).toContain('added text')
    expect(snapshots[0]).not.toContain('removed')
    expect(hooked.warnings.filter((text) => text.includes('"editor"'))).toHaveLength(2)
  })
})

describe('a turn without listeners', () => {
  it('is left as it is', async () => {
    const { hooked, agent } = await withTurn([...TOOL_TURN, { text: 'second' }])
    hooked.recorder.seen.length = 0
    await hooked.world.unload()
    await say(agent, 'one')
    expect(userTexts(agent)).toEqual(['one'])
    expect(hooked.recorder.order).toEqual(['gateway_stop'])
  })
})

describe('what happened before', () => {
  it('is told with the run that a turn answers, and without one for a person', async () => {
    const { hooked, agent } = await withTurn()
    const runId = await hooked.world.accept('s', 'from a run')
    await hooked.world.host.wait({ runId })
    await say(agent, 'from a person')
    const events = hooked.recorder.of('before_prompt_build')
    expect(events[0]).toMatchObject({ sessionId: 's', turn: 1, runId, isSubagent: false })
    expect(events[1]).toMatchObject({ sessionId: 's', turn: 2 })
    expect(events[1]).not.toHaveProperty('runId')
    expect(hooked.recorder.of('agent_end')[0]).toMatchObject({ runId, attempt: 1, success: true })
  })
})
