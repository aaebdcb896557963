import type { Context } from '@deepseek-ai/cordis'
import type { AgentHandle } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import * as scripted from '../src/index.ts'
import { openHost, user } from './host.ts'

const SCRIPT = `
tracks:
  - name: counter
    match: { firstUser: 'count', tools: '^count$' }
    stateless: true
    steps:
      - when: { lastToolResult: { name: '^count$', text: 'words' } }
        capture: { total: { from: lastToolResult, pattern: '"words":\\s*(\\d+)' } }
        text: 'There are \${total} words.'
      - capture: { phrase: { from: lastUser, pattern: 'count: (.*)' } }
        text: Counting.
        toolCalls: [{ name: count, arguments: { phrase: '\${phrase}' } }]
  - name: overload
    match: { firstUser: 'overload' }
    steps:
      - fault: { code: RATE_LIMIT, message: slow down }
      - text: here now
  - name: silent
    match: { firstUser: 'silent' }
    steps:
      - fault: { hang: true }
`

async function openScriptedHost(): Promise<{ ctx: Context; create: (id: string) => Promise<AgentHandle> }> {
  const { ctx } = await openHost()
  await ctx.plugin(scripted, { script: SCRIPT, provider: 'scripted', strict: true, failOnUnused: false })
  ctx.get('tools')?.register({
    name: 'count',
    description: 'Counts words',
    parameters: { type: 'object', properties: { phrase: { type: 'string' } } },
    output: {
      schema: { type: 'object' },
      render: (_args: unknown, value: unknown) => [{ type: 'text', text: JSON.stringify(value) }],
    },
    execute: (args: unknown) => {
      const { phrase } = args as { phrase: string }
      return Promise.resolve({ words: phrase.split(' ').length })
    },
  })
  const create = async (id: string) => {
    const agents = ctx.get('agents')
    if (agents === undefined) throw new Error('no agents')
    return agents.create({
      sessionId: SessionId(id),
      meta: { cwd: process.cwd() },
      agentOptions: { provider: 'scripted', model: 'any-model' },
    })
  }
  return { ctx, create }
}

function textOf(handle: AgentHandle): string | undefined {
  const event = handle.agent.session.events.findLast(({ type }) => type === 'assistant/message')
  if (event?.type !== 'assistant/message') return undefined
  return event.data.message.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')
}

function endOf(handle: AgentHandle): unknown {
  const event = handle.agent.session.events.findLast(({ type }) => type === 'turn/end')
  return event?.type === 'turn/end' ? event.data.reason : undefined
}

async function say(handle: AgentHandle, text: string): Promise<void> {
  handle.agent.followup(user(text) as Parameters<AgentHandle['agent']['followup']>[0])
  await handle.agent.whenIdle()
}

describe('the scripted model in the agent loop', () => {
  it('plays a turn with a tool call and answers with what the tool returned', async () => {
    const { ctx, create } = await openScriptedHost()
    const root = await create('root-1')
    await say(root, 'count: one two three')
    expect(textOf(root)).toBe('There are 3 words.')
    expect(endOf(root)).toEqual({ kind: 'completed' })
    const message = root.agent.session.events.find(({ type }) => type === 'assistant/message')
    expect(message?.data).toMatchObject({ usage: { inputTokens: expect.any(Number) as number } })
    expect(ctx.get('llmScripted')?.report()).toMatchObject({ requests: 2, unexpectedCount: 0 })
  })

  it('keeps sessions apart that run at the same time', async () => {
    const { create } = await openScriptedHost()
    const roots = await Promise.all(Array.from({ length: 8 }, (_, index) => create(`root-${index}`)))
    await Promise.all(roots.map((root, index) => say(root, `count: ${'word '.repeat(index + 1).trim()}`)))
    expect(roots.map(textOf)).toEqual(roots.map((_, index) => `There are ${index + 1} words.`))
  })

  it('ends a turn with the fault of its script, and goes on in the next turn', async () => {
    const { create } = await openScriptedHost()
    const root = await create('root-1')
    await say(root, 'overload, please')
    expect(endOf(root)).toMatchObject({ kind: 'error', error: { code: 'RATE_LIMIT', message: 'slow down' } })
    await say(root, 'once more')
    expect(textOf(root)).toBe('here now')
  })

  it('ends a turn that nobody wrote with an unexpected request', async () => {
    const { ctx, create } = await openScriptedHost()
    const root = await create('root-1')
    await say(root, 'who are you?')
    expect(endOf(root)).toMatchObject({ kind: 'error', error: { code: 'SCRIPT_UNEXPECTED_REQUEST' } })
    expect(() => ctx.get('llmScripted')?.assertExhausted()).toThrow(
      /no track of the script plays conversation root-1/,
    )
  })

  it('hangs until the turn is cancelled', async () => {
    const { ctx, create } = await openScriptedHost()
    const root = await create('root-1')
    root.agent.followup(user('silent') as Parameters<AgentHandle['agent']['followup']>[0])
    await expect.poll(() => ctx.get('llmScripted')?.report().requests).toBe(1)
    root.agent.cancel({ kind: 'user' })
    await root.agent.whenIdle()
    expect(endOf(root)).toMatchObject({ kind: 'aborted' })
  })
})
