import { describe, expect, it } from 'vitest'
import { typed } from '../support/world.ts'
import { settleDown } from '../support/until.ts'
import { bootHookWorld, listen, type HookFunction, type HookWorld } from './support/hook-world.ts'

/** Loads a plugin that appends its name to a list whenever a turn starts. */
function mark(hooked: HookWorld, name: string, list: string[], priority?: number) {
  return listen(hooked.ctx, name, (hook) => {
    hook('before_model_resolve', () => void list.push(name), priority === undefined ? {} : { priority })
  })
}

async function takeTurn(hooked: HookWorld, sessionId = 's'): Promise<void> {
  const agent = hooked.ctx.agents.list().find(({ id }) => id === sessionId)
  const live = agent ?? (await hooked.createAgent(sessionId))
  live.followup(typed('hi'))
  await live.whenIdle()
  await settleDown()
}

describe('the order of handlers', () => {
  it('is by priority, and by registration among equals', async () => {
    const hooked = await bootHookWorld()
    const called: string[] = []
    await mark(hooked, 'plain one', called)
    await mark(hooked, 'late', called, -1)
    await mark(hooked, 'first', called, 10)
    await mark(hooked, 'plain two', called)
    await mark(hooked, 'second', called, 9.5)
    await takeTurn(hooked)
    expect(called).toEqual(['first', 'second', 'plain one', 'plain two', 'late'])
  })

  it('is also the order in which observers are started', async () => {
    const hooked = await bootHookWorld()
    const called: string[] = []
    const gate = Promise.withResolvers<void>()
    await listen(hooked.ctx, 'observers', (hook) => {
      hook('agent_end', () => void called.push('low'), { priority: 1 })
      hook(
        'agent_end',
        async () => {
          called.push('high')
          await gate.promise
          called.push('high is done')
        },
        { priority: 2 },
      )
    })
    await takeTurn(hooked)
    expect(called).toEqual(['high', 'low'])
    gate.resolve()
    await settleDown()
    expect(called).toEqual(['high', 'low', 'high is done'])
  })
})

describe('a registration', () => {
  it('ends with its undo, which may be called again', async () => {
    const hooked = await bootHookWorld()
    const called: string[] = []
    let undo: () => void = () => undefined
    await listen(hooked.ctx, 'undoer', (hook) => {
      undo = hook('before_model_resolve', () => void called.push('a'))
      hook('before_model_resolve', () => void called.push('b'))
    })
    await takeTurn(hooked)
    undo()
    undo()
    await takeTurn(hooked)
    expect(called).toEqual(['a', 'b', 'b'])
  })

  it('ends with the plugin that made it', async () => {
    const hooked = await bootHookWorld()
    const called: string[] = []
    const plugin = await mark(hooked, 'short-lived', called)
    await takeTurn(hooked)
    await plugin.dispose()
    await takeTurn(hooked)
    expect(called).toEqual(['short-lived'])
  })

  it('that is undone while its handler is called ends the call', async () => {
    const hooked = await bootHookWorld()
    const signals: AbortSignal[] = []
    const plugin = await listen(hooked.ctx, 'stuck', (hook) => {
      hook('before_model_resolve', async (_event, { signal }) => {
        signals.push(signal)
        return await new Promise<never>(() => undefined)
      })
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('hi'))
    await settleDown()
    expect(agent.status).toBe('running')
    await plugin.dispose()
    await agent.whenIdle()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(agent.session.events.at(-1)).toMatchObject({ data: { reason: { kind: 'completed' } } })
  })

  it('comes back when the host is loaded anew', async () => {
    const hooked = await bootHookWorld()
    const called: string[] = []
    await mark(hooked, 'steady', called)
    await takeTurn(hooked)
    await hooked.world.unload()
    await takeTurn(hooked)
    expect(called).toEqual(['steady'])
    await hooked.world.mount()
    await settleDown()
    await takeTurn(hooked)
    expect(called).toEqual(['steady', 'steady'])
  })

  it('is refused with every problem named', async () => {
    const hooked = await bootHookWorld()
    const refusals: unknown[] = []
    await listen(hooked.ctx, 'careless', (hook) => {
      const attempt = (...args: unknown[]): void => {
        try {
          ;(hook as unknown as (...args: unknown[]) => void)(...args)
        } catch (error) {
          refusals.push(error)
        }
      }
      attempt('before_lunch', 'no function', {
        priority: Number.NaN,
        timeoutMs: 0,
        failMode: 'ajar',
        speed: 1,
      })
      attempt('agent_end', () => undefined, { failMode: 'closed' })
      attempt('tool_result_persist', async () => undefined)
      attempt('command:Not A Name', () => undefined)
      attempt('toString', () => undefined)
    })
    const texts = refusals.map((error) => (error as Error).message)
    expect(refusals.map((error) => (error as { code: string }).code)).toEqual(Array(5).fill('invalid'))
    expect(texts.every((text) => text.includes('"careless"'))).toBe(true)
    for (const part of ['before_lunch', 'no function', 'speed', 'priority', 'timeoutMs', 'failMode']) {
      expect(texts[0]).toContain(part)
    }
    expect(texts[1]).toContain('cannot fail closed')
    expect(texts[2]).toContain('async function')
    expect(texts[3]).toContain('no hook')
    expect(texts[4]).toContain('no hook')
  })

  it('needs the service that it is made through', async () => {
    const hooked = await bootHookWorld()
    const { hook } = hooked.world.host
    const loose = hook as unknown as (this: undefined, ...call: Parameters<HookFunction>) => void
    expect(() => loose.call(undefined, 'agent_end', () => undefined)).toThrow(/ctx\.agentLoopHost\.hook/)
  })
})
