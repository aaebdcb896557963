import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { defineTool } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import { boundedJson, cutText, eventBlocks, sanitizeBlocks } from '../../src/streams/tool-content.ts'
import { eventsOf, scriptedAgent } from '../support/scripted.ts'
import { World } from '../support/world.ts'

const limits = { maxTextCharacters: 200, maxImageBytes: 1_000, maxImages: 2 }

const text = (value: string): ContentBlock => ({ type: 'text', text: value })
const image = (bytes: number, id = 'i'): ContentBlock =>
  ({
    type: 'image',
    attachment: { attachmentId: id, mediaType: 'image/png', bytes, width: 1, height: 1 },
  }) as ContentBlock

describe('the content of a result', () => {
  it('stays the same object when there is nothing to change', () => {
    const blocks = [text('fine'), image(10)]
    expect(sanitizeBlocks(blocks, limits)).toBe(blocks)
  })

  it('has its middle cut out, all texts together', () => {
    const [first, second] = sanitizeBlocks([text('a'.repeat(150)), text('b'.repeat(150))], limits)
    expect(first).toEqual(text('a'.repeat(150)))
    expect(second).toMatchObject({ text: expect.stringMatching(/^b+\n\[cut: \d+ more characters\]\nb*$/) })
    const total = [first, second].map((block) => (block?.type === 'text' ? block.text.length : 0))
    expect(total.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(200)
  })

  it('is never cut inside a character', () => {
    for (let room = 60; room < 80; room += 1) {
      expect(cutText('😀'.repeat(100), room).isWellFormed()).toBe(true)
      expect(cutText('😀'.repeat(100), room).length).toBeLessThanOrEqual(room)
    }
  })

  it('has no image as base64 in its text, and keeps a short one', () => {
    const inline = `before data:image/png;base64,${'A'.repeat(4_000)} after`
    expect(sanitizeBlocks([text(inline)], limits)).toEqual([
      text('before [image left out: image/png, 3000 bytes, it was written into the text] after'),
    ])
    const icon = [text('data:image/png;base64,AAAA')]
    expect(sanitizeBlocks(icon, limits)).toBe(icon)
  })

  it('has no image that is too large, and no more than allowed', () => {
    const blocks = sanitizeBlocks([image(2_000), image(1), image(2), image(3)], limits)
    expect(blocks).toEqual([
      text('[image left out: image/png, 2000 bytes, over 1000 bytes]'),
      image(1),
      image(2),
      text('[image left out: image/png, 3 bytes, over 2 images in one result]'),
    ])
  })

  it('goes onto a stream without the bytes of its images, and without unknown blocks', () => {
    const blocks = [image(1), { type: 'sound', data: 'x' } as unknown as ContentBlock]
    expect(eventBlocks(blocks, limits)).toEqual([
      { type: 'image', id: 'i', mediaType: 'image/png', bytes: 1 },
      { type: 'other', kind: 'sound' },
    ])
  })

  it('is JSON that a log takes', () => {
    expect(boundedJson({ a: -0 }, 100)).toEqual({ a: 0 })
    expect(boundedJson(['\ud800'], 100)).toBe(String.raw`["\ud800"]`)
    expect(String(boundedJson({ a: 'x'.repeat(300) }, 100))).toHaveLength(100)
  })
})

/** A tool whose result is whatever the test says. */
function register(world: World, result: () => string, finalize?: () => ContentBlock[]): void {
  world.ctx.tools.register(
    defineTool({
      name: 'look',
      description: 'looks',
      parameters: {},
      output: {
        schema: { type: 'string' },
        render: (_args, value) => [text(String(value))],
      },
      ...(finalize === undefined ? {} : { finalizeContent: finalize }),
      execute: () => Promise.resolve(result()),
    }),
  )
}

const steps = [{ toolCalls: [{ name: 'look' }] }, { text: 'Seen.' }]

describe('the result of a tool', () => {
  const inline = `data:image/png;base64,${'A'.repeat(4_000)}`

  it('is sanitised before DSH logs it, and on the stream', async () => {
    const world = await World.boot({ config: { events: { maxResultCharacters: 500 } } })
    register(world, () => `${inline} ${'x'.repeat(900)}`)
    const agent = await scriptedAgent(world, 's', steps)
    const events = await eventsOf(world, 's', 'look')
    const logged = agent.session.events.find(({ type }) => type === 'tool/result')
    expect(JSON.stringify(logged)).toContain('image left out')
    expect(JSON.stringify(logged)).not.toContain('AAAAAAAA')
    expect(JSON.stringify(logged).length).toBeLessThan(1_200)
    const end = events.find(({ stream, data }) => stream === 'tool' && 'content' in data)
    expect(JSON.stringify(end)).toContain('image left out')
    expect(JSON.stringify(end)).toContain('more characters]')
  })

  it('is sanitised behind what other plugins make of it', async () => {
    const world = await World.boot()
    register(world, () => 'harmless')
    world.ctx.on('tools/post-execute', async () => ({ kind: 'block', feedback: [text(inline)] }))
    // Whichever of the two was there first.
    await world.unload()
    await world.mount()
    const agent = await scriptedAgent(world, 's', steps)
    await eventsOf(world, 's', 'look')
    const logged = agent.session.events.find(({ type }) => type === 'tool/result')
    expect(JSON.stringify(logged)).toContain('image left out')
  })

  it('is left alone when it is within its bounds', async () => {
    const world = await World.boot()
    register(world, () => 'fine')
    const agent = await scriptedAgent(world, 's', steps)
    await eventsOf(world, 's', 'look')
    const logged = agent.session.events.find(({ type }) => type === 'tool/result')
    expect(logged?.data).toMatchObject({ message: { content: [{ content: [text('fine')] }] } })
  })

  it('of a tool with the last word is bounded on the stream all the same', async () => {
    const world = await World.boot()
    register(
      world,
      () => 'fine',
      () => [text(inline)],
    )
    await scriptedAgent(world, 's', steps)
    const events = await eventsOf(world, 's', 'look')
    expect(JSON.stringify(events)).not.toContain('AAAAAAAA')
  })
})
