import { defineTool } from '@deepseek-ai/dsh-tools'
import type { StepSource } from 'dsh-llm-scripted'
import { describe, expect, it } from 'vitest'
import { shapeReplies, type DeliveryReceipt, type MessagingTool, type Reply } from '../../src/index.ts'
import { collect, scriptedAgent } from '../support/scripted.ts'
import { final, lines } from '../support/tale.ts'
import { World } from '../support/world.ts'

const messaging: MessagingTool = {
  name: 'send_message',
  receipt: ({ args }) => {
    const { to, text } = args as { to?: string; text: string }
    return { text, ...(to === undefined ? {} : { target: to }) }
  },
}

/** A tool that sends, unless the text says that it fails. */
function registerSender(world: World): void {
  world.ctx.tools.register(
    defineTool({
      name: 'send_message',
      description: 'sends',
      parameters: { text: { type: 'string', required: true }, to: { type: 'string' } },
      output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'sent' }] },
      execute: ({ text }) =>
        text.includes('fail') ? Promise.reject(new Error('no network')) : Promise.resolve('sent'),
    }),
  )
}

const send = (args: object): StepSource => ({ toolCalls: [{ name: 'send_message', arguments: args }] })

async function repliesOf(world: World, runId: string, target?: string): Promise<Reply[]> {
  const all: Reply[] = []
  const options = { deltaIntervalMs: 0, ...(target === undefined ? {} : { target }) }
  for await (const reply of shapeReplies(world.host.subscribe({ runId }), options)) all.push(reply)
  return all
}

async function run(steps: readonly StepSource[], target?: string, tool: MessagingTool = messaging) {
  const world = await World.boot()
  registerSender(world)
  const undo = world.host.registerMessagingTool(tool)
  await scriptedAgent(world, 's', steps)
  const runId = await world.accept('s', 'write')
  const replies = await repliesOf(world, runId, target)
  return { world, runId, undo, answers: lines(final(replies).payloads) }
}

describe('a messaging tool', () => {
  const text = 'Dinner is at eight.'

  it('keeps its text from being said again, when it was sent', async () => {
    expect((await run([send({ text }), { text }])).answers).toEqual([])
    expect((await run([send({ text: 'will fail' }), { text: 'will fail' }])).answers).toEqual([
      'answer: will fail',
    ])
    expect((await run([send({ text: 'will fail' }), send({ text }), { text }])).answers).toEqual([])
  })

  it('that wrote to somebody else does not', async () => {
    expect((await run([send({ text, to: 'aunt' }), { text }], 'uncle')).answers).toEqual([`answer: ${text}`])
    expect((await run([send({ text, to: 'aunt' }), { text }], 'aunt')).answers).toEqual([])
  })

  it('is known by its receipts after a restart, too', async () => {
    const { world, runId } = await run([send({ text }), { text }])
    await world.unload()
    const other = await world.crash()
    expect(lines(final(await repliesOf(other, runId)).payloads)).toEqual([])
    const events = await collect(other.host.subscribe({ runId }))
    const receipts = events.flatMap(({ stream, data }): DeliveryReceipt[] =>
      stream === 'tool' && 'receipt' in data && data.receipt !== undefined ? [data.receipt] : [],
    )
    expect(receipts).toEqual([{ message: 1, text }])
  })

  it('is one no more when its registration is undone, and only once registered', async () => {
    const { world, undo } = await run([send({ text }), { text }])
    expect(() => world.host.registerMessagingTool(messaging)).toThrow(/already/)
    undo()
    undo()
    await scriptedAgent(world, 't', [send({ text }), { text }])
    const runId = await world.accept('t', 'write')
    expect(lines(final(await repliesOf(world, runId)).payloads)).toEqual([`answer: ${text}`])
    world.host.registerMessagingTool(messaging)()
    expect(() => world.host.registerMessagingTool({ name: '' } as never)).toThrow(/name, receipt/)
  })

  it('whose receipt throws, or is none, changes nothing of the run', async () => {
    const throwing = { ...messaging, receipt: () => Promise.reject(new Error('late')) as never }
    expect((await run([send({ text }), { text }], undefined, throwing)).answers).toEqual([`answer: ${text}`])
    const wrong = { ...messaging, receipt: () => ({ text: 7 }) as never }
    expect((await run([send({ text }), { text }], undefined, wrong)).answers).toEqual([`answer: ${text}`])
    const broken: MessagingTool = {
      ...messaging,
      receipt: () => {
        throw new Error('broken')
      },
    }
    expect((await run([send({ text }), { text }], undefined, broken)).answers).toEqual([`answer: ${text}`])
  })
})
