/** What a run has to say in all: its payloads, in order, and what hooks make of them. */
import { defineTool } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import type { RunPayload } from '../src/index.ts'
import { listen } from './hooks/support/hook-world.ts'
import { scriptedAgent } from './support/scripted.ts'
import { World } from './support/world.ts'

const STEPS = [
  { text: 'Let me count.', reasoning: 'Count first.', toolCalls: [{ name: 'count' }] },
  { text: 'Two.' },
]

async function counting(): Promise<World> {
  const world = await World.boot()
  world.ctx.tools.register(
    defineTool({
      name: 'count',
      description: 'counts',
      parameters: {},
      output: { schema: { type: 'integer' }, render: (_args, value) => [{ type: 'text', text: `${value}` }] },
      execute: () => Promise.resolve(2),
    }),
  )
  await scriptedAgent(world, 's', STEPS)
  return world
}

async function resultOf(world: World, more: object = {}): Promise<readonly RunPayload[] | undefined> {
  const runId = await world.accept('s', 'count', more)
  return (await world.host.wait({ runId })).result?.payloads
}

const kinds = (payloads: readonly RunPayload[] | undefined) =>
  payloads?.map(({ kind, text }) => `${kind}: ${kind === 'tool' ? '…' : text}`)

describe('the payloads of a run', () => {
  it('are its answers, also those before the last one', async () => {
    expect(kinds(await resultOf(await counting()))).toEqual(['answer: Let me count.', 'answer: Two.'])
  })

  it('have a line for each tool call in front when the run is verbose, and reasoning when it thinks', async () => {
    expect(kinds(await resultOf(await counting(), { verbose: 'on', thinking: 'low' }))).toEqual([
      'tool: …',
      'reasoning: Count first.',
      'answer: Let me count.',
      'answer: Two.',
    ])
  })

  it('survive a restart', async () => {
    const world = await counting()
    const told = await resultOf(world, { verbose: 'on' })
    const [runId = ''] = Object.keys(await world.terminalEntries('s'))
    const after = await world.crash()
    expect((await after.host.read(runId))?.result?.payloads).toEqual(told)
  })

  it('begin with the error of a run that failed', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    ;(await world.model.call(0)).fail('QUOTA', 'no credit')
    const outcome = await world.host.wait({ runId })
    expect(kinds(outcome.result?.payloads)).toEqual(['error: no credit'])
  })

  it('leave out a word that says nothing, which stays the reply', async () => {
    const world = await World.boot()
    await scriptedAgent(world, 's', [{ text: 'NO_REPLY' }])
    const runId = await world.accept('s', 'hi')
    expect(await world.host.wait({ runId })).toMatchObject({ reply: 'NO_REPLY', result: { payloads: [] } })
  })

  it('leave out what a messaging tool has said', async () => {
    const world = await World.boot()
    world.ctx.tools.register(
      defineTool({
        name: 'send',
        description: 'sends',
        parameters: {},
        output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'sent' }] },
        execute: () => Promise.resolve('sent'),
      }),
    )
    world.host.registerMessagingTool({ name: 'send', receipt: () => ({ text: 'It is done, as you asked.' }) })
    await scriptedAgent(world, 's', [
      { toolCalls: [{ name: 'send' }] },
      { text: 'It is done, as you asked.' },
    ])
    expect(await resultOf(world)).toEqual([])
  })

  it('fit into one entry of the log with the reply, however much the run says', async () => {
    const world = await World.boot()
    world.ctx.tools.register(
      defineTool({
        name: 'more',
        description: 'goes on',
        parameters: {},
        output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'on' }] },
        execute: () => Promise.resolve('on'),
      }),
    )
    const text = '\u0001'.repeat(300_000)
    await scriptedAgent(world, 's', [
      { text, toolCalls: [{ name: 'more' }] },
      { text, toolCalls: [{ name: 'more' }] },
      { text: `${text}!` },
    ])
    const payloads = await resultOf(world)
    expect(payloads).toHaveLength(3)
    expect(payloads?.[0]?.text).toHaveLength(300_000)
    expect(payloads?.[1]?.text).toMatch(/\[cut: \d+ more characters\]$/)
  })
})

describe('a hook that a reply passes', () => {
  it('and that changes it has the last word: nothing goes out that it has not seen', async () => {
    const world = await counting()
    await listen(world.ctx, 'polite', (hook) => {
      hook('message_sending', ({ content }) => ({ content: `${content} Friend.` }))
    })
    expect(kinds(await resultOf(world, { verbose: 'on', thinking: 'low' }))).toEqual([
      'tool: …',
      'answer: Two. Friend.',
    ])
  })

  it('and that holds it back holds back every answer', async () => {
    const world = await counting()
    await listen(world.ctx, 'quiet', (hook) => {
      hook('message_sending', () => ({ cancel: true }))
    })
    expect(await resultOf(world)).toEqual([])
  })
})
