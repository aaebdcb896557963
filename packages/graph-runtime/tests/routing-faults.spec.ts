/** Faults of providers and models as they were reported in public, each as one case. */
import { describe, expect, it } from 'vitest'
import { GraphRoutingModelError } from '../src/index.ts'
import { bootRouting, bootTwo, calls, failureOf, type Said } from './routing-host.ts'

const good = calls('echo_graph', { topic: 'moss' })

describe('arguments', () => {
  it('wrapped in "arguments" or "input" are unwrapped only where the schema has no such key (4.7 row 52)', async () => {
    const host = await bootRouting((_request, index) => {
      const wrapper = index % 2 === 0 ? 'arguments' : 'input'
      const tool = index < 4 ? 'plain' : 'wrapped'
      // Providers also leave the wrapped object in text.
      return calls(tool, { [wrapper]: index === 2 ? '{"topic":"moss"}' : { topic: 'moss' } })
    })
    const json = { type: 'json' } as const
    host.graph({ name: 'plain', parameters: { topic: { type: 'string', required: true } } })
    host.graph({ name: 'wrapped', parameters: { arguments: json, input: json } })
    const router = host.router({ repair: true })
    const outcomes = []
    for (let i = 0; i < 6; i++) outcomes.push(await router.route({ input: 'x' }))
    expect(outcomes.map(({ args }) => args)).toEqual([
      { topic: 'moss' },
      { topic: 'moss' },
      { topic: 'moss' },
      { topic: 'moss' },
      { arguments: { topic: 'moss' } },
      { input: { topic: 'moss' } },
    ])
    expect(outcomes.map(({ attempts }) => attempts[0]?.repaired)).toEqual([
      ['wrapper'],
      ['wrapper'],
      ['wrapper'],
      ['wrapper'],
      [],
      [],
    ])
    const strict = host.router({ repair: false, maxRetries: 0 })
    const plain = await bootTwo([calls('echo_graph', { arguments: { topic: 'moss' } })])
    expect(await failureOf(plain.router({ maxRetries: 0 }).route({ input: 'x' }))).toMatchObject({
      attempts: [{ rejection: 'INVALID_ARGS', repaired: [] }],
    })
    expect(await strict.route({ input: 'x' })).toMatchObject({ args: { arguments: { topic: 'moss' } } })
  })

  it('beside a wrapper are no wrapped arguments (4.7 row 52)', async () => {
    const args = { arguments: { topic: 'moss' }, more: 1 }
    const host = await bootTwo([calls('search_graph', args), calls('search_graph', { arguments: 3 })])
    const router = host.router({ repair: true })
    expect(await router.route({ input: 'x' })).toMatchObject({ args })
    expect(await router.route({ input: 'x' })).toMatchObject({ args: { arguments: 3 } })
  })

  it('that are an empty text, or blanks, are none (4.7 row 53)', async () => {
    for (const text of ['', '  ', '\n']) {
      const host = await bootTwo([calls('search_graph', text)])
      expect(await host.router({ repair: false }).route({ input: 'x' })).toMatchObject({ args: {} })
    }
  })

  it('that miss several things are told all of them with their places, and a repeat is told as one (4.7 row 55)', async () => {
    const host = await bootRouting([
      calls('trip', { days: 'x', legs: [{}] }),
      calls('trip', { days: 'x', legs: [{}] }),
      calls('trip', { to: 'Oslo' }),
    ])
    host.graph({
      name: 'trip',
      parameters: {
        to: { type: 'string', required: true },
        days: { type: 'integer' },
        legs: {
          type: 'array',
          items: {
            type: 'object',
            properties: { by: { type: 'string', required: true } },
            additionalProperties: false,
          },
        },
      },
    })
    await host.router().route({ input: 'x' })
    const [first, second] = host.told(2)
    for (const place of ['to', 'days', 'legs[0]']) expect(first).toContain(place)
    expect(first).not.toContain('same call as before')
    expect(second).toContain('same call as before')
  })

  it('of a reply that is no JSON at all do not end the routing (4.7 row 62)', async () => {
    const host = await bootTwo([
      calls('echo_graph', 'Sure! Here you go'),
      calls('echo_graph', '```json\n{}\n```'),
      good,
    ])
    expect(await host.router().route({ input: 'x' })).toMatchObject({ tool: 'echo_graph' })
  })

  it('that the token limit cut off are asked for again, even when nothing of them is left', async () => {
    const cut = (text: string): Said => ({ ...calls('search_graph', text), finish: 'max-tokens' })
    const host = await bootTwo([cut('{"a": "b'), cut(''), calls('search_graph')])
    const { attempts } = await host.router().route({ input: 'x' })
    expect(attempts.map(({ rejection, finish }) => [rejection, finish])).toEqual([
      ['INVALID_JSON', 'max-tokens'],
      ['INVALID_JSON', 'max-tokens'],
      [undefined, 'tool-calls'],
    ])
    expect(host.told(2)).toEqual([
      expect.stringContaining('cut off at its token limit'),
      expect.stringContaining('cut off at its token limit'),
    ])
  })

  it('that were complete when the limit came count', async () => {
    const host = await bootTwo([{ ...good, finish: 'max-tokens' }])
    expect(await host.router().route({ input: 'x' })).toMatchObject({ args: { topic: 'moss' } })
  })

  it('deeper than the call stack, or named as prototypes, are data like any other', async () => {
    const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
    const host = await bootTwo([
      calls('search_graph', deep),
      calls('search_graph', '{"__proto__":{"polluted":1}}'),
    ])
    host.ctx.on('graphTools/pre-execute', (_execution, next) => next())
    const router = host.router({ repair: true })
    expect((await router.route({ input: 'x' })).tool).toBe('search_graph')
    const { args } = await router.route({ input: 'x' })
    expect(Object.keys(args)).toEqual(['__proto__'])
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })
})

describe('an answer without a tool', () => {
  it('that claims tool calls is one model call and the fallback (4.7 row 56)', async () => {
    for (const said of [{ finish: 'tool-calls' }, { finish: 'tool-calls', text: 'Done.' }] as const) {
      const host = await bootTwo([said])
      const outcome = await host.router().route({ input: 'x' })
      expect(outcome).toMatchObject({
        fallback: true,
        attempts: [{ outcome: 'no-tool', finish: 'tool-calls' }],
      })
      expect(host.requests).toHaveLength(1)
    }
  })

  it('in words is the fallback, and no request ever forces a choice (4.7 row 58)', async () => {
    const host = await bootTwo([{ text: 'I would use echo_graph.' }])
    expect(await host.router().route({ input: 'x' })).toMatchObject({ fallback: true })
    expect(Object.keys(host.requests[0] ?? {}).some((key) => /choice/i.test(key))).toBe(false)
  })

  it('and without anything else is the fallback, with the finish reason and the tokens (4.7 row 61)', async () => {
    const usage = { inputTokens: 9, outputTokens: 0 }
    const host = await bootTwo([{ usage }])
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({
      fallback: true,
      usage,
      attempts: [{ outcome: 'no-tool', finish: 'stop', calls: 0, usage }],
    })
  })

  it('that the token limit cut off is a failed model call, not the fallback', async () => {
    const usage = { inputTokens: 9, outputTokens: 50 }
    const host = await bootTwo([{ text: 'Let me think about', finish: 'max-tokens', usage }])
    const error = await failureOf(host.router().route({ input: 'x' }))
    expect(error).toBeInstanceOf(GraphRoutingModelError)
    expect(error).toMatchObject({
      code: 'MAX_TOKENS',
      finish: 'max-tokens',
      usage,
      attempts: [{ text: 'Let me think about' }],
    })
  })
})

describe('a conversation', () => {
  it('has one result for each call right behind it, and no user message between them (4.7 row 59)', async () => {
    const three: Said = { text: 'all', calls: [{ name: 'a' }, { name: 'search_graph' }, { name: 'b' }] }
    const host = await bootTwo([three, three, calls('search_graph')])
    await host.router().route({ input: 'x' })
    const { messages = [] } = host.requests[2] ?? {}
    const kinds = messages.map(({ role, content }) =>
      content.every((block) => block.type === 'tool-result') ? 'tool' : role,
    )
    expect(kinds).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant', 'tool', 'tool', 'tool'])
  })

  it('goes on after every fault of the chain, none of which escapes before the last try (4.7 row 64)', async () => {
    const host = await bootTwo([calls('nope'), calls('echo_graph', '{'), calls('echo_graph', {}), good])
    await expect(host.router().route({ input: 'x' })).resolves.toMatchObject({ tool: 'echo_graph' })
  })
})
