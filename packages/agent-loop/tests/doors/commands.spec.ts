import CommandRuntime from '@deepseek-ai/dsh-commands'
import { describe, expect, it } from 'vitest'
import { World } from '../support/world.ts'

async function commanding() {
  const world = await World.boot()
  await world.ctx.plugin(CommandRuntime as never, undefined as never)
  const agent = await world.createAgent('s')
  const registry = world.ctx.get('commands') as unknown as CommandRuntime
  const type = async (line: string) =>
    (await registry.execute(agent, line, [], new AbortController().signal))?.result
  return { world, agent, registry, type }
}

describe('/queue', () => {
  it('shows how messages join, and what waits', async () => {
    const { world, type } = await commanding()
    await world.accept('s', 'first')
    await world.model.call(0)
    const queued = await world.accept('s', 'and then\nthis')
    const shown = await type('/queue')
    expect(shown).toMatchObject({ kind: 'success' })
    expect(shown?.text).toContain(
      'Messages join as "followup"; debounce 500ms, at most 5.0s; at most 20 wait',
    )
    expect(shown?.text).toContain(`queued  ${queued}  followup  and then this`)
  })

  it('sets mode, debounce, cap and drop, for this session, and takes them back', async () => {
    const { world, type } = await commanding()
    const set = await type('/queue collect debounce:2s max-debounce:0.5m cap:25 drop:old')
    expect(set?.text).toBe(
      'Messages join as "collect"; debounce 2.0s, at most 30.0s; at most 25 wait, then "old".',
    )
    expect((await world.host.settings('s')).queue).toEqual({
      mode: 'collect',
      debounceMs: 2_000,
      maxDebounceMs: 30_000,
      cap: 25,
      drop: 'old',
    })
    expect((await world.host.settings('t')).queue.mode).toBe('followup')
    await type('/queue queue')
    expect((await world.host.settings('s')).queue.mode).toBe('steer')
    await type('/queue reset')
    expect((await world.host.settings('s')).queue).toEqual((await world.host.settings('t')).queue)
  })

  it('takes messages out and moves them', async () => {
    const { world, type } = await commanding()
    await world.accept('s', 'first')
    await world.model.call(0)
    const a = await world.accept('s', 'a')
    const b = await world.accept('s', 'b')
    const c = await world.accept('s', 'c')
    await type(`/queue move ${c} ${a}`)
    expect(world.host.lanes()[0]?.queued).toEqual([c, a, b])
    expect((await type(`/queue cancel ${c}`))?.text).toBe(`Taken out: ${c}`)
    expect((await type(`/queue cancel ${c}`))?.text).toBe(`${c} is not waiting.`)
    expect((await type('/queue clear'))?.text).toBe(`Taken out: ${a}, ${b}`)
    expect((await type('/queue clear'))?.text).toBe('Nothing was waiting.')
  })

  it('does not touch the queue of another session', async () => {
    const { world, type } = await commanding()
    await world.createAgent('t')
    await world.accept('t', 'first')
    await world.model.call(0)
    const foreign = await world.accept('t', 'theirs')
    expect(await type(`/queue cancel ${foreign}`)).toMatchObject({ kind: 'error' })
    expect(world.host.lanes()[0]?.queued).toEqual([foreign])
  })

  it.each([
    '/queue dance',
    '/queue cap:many',
    '/queue cap:0',
    '/queue debounce:soon',
    '/queue cancel',
    '/queue drop:it',
  ])('changes nothing for %s', async (line) => {
    const { world, type } = await commanding()
    expect(await type(line)).toMatchObject({ kind: 'error' })
    expect((await world.host.settings('s')).queue).toEqual((await world.host.settings('t')).queue)
  })

  it('is gone with the host', async () => {
    const { world, agent, registry } = await commanding()
    const names = () => registry.list(agent).map(({ name }) => name)
    expect(names()).toEqual(['lanes', 'queue'])
    await world.unload()
    expect(names()).toEqual([])
    await world.mount()
    expect(names()).toEqual(['lanes', 'queue'])
  })
})

describe('/lanes', () => {
  it('tells what runs and waits in each lane', async () => {
    const { world, type } = await commanding()
    const running = await world.accept('s', 'first')
    await world.model.call(0)
    await world.accept('s', 'second')
    world.clock.advance(1_500)
    const lines = ((await type('/lanes'))?.text ?? '').split('\n')
    expect(lines[0]).toMatch(/^ {2}◕ main +1 of 4 active +1 waiting, the oldest for 1\.5s; 1 started/u)
    expect(lines.at(-1)).toBe(`  ◐ session s runs  ${running}; 1 queued`)
  })
})
