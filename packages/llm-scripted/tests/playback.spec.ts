import { deepFreeze } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { type StepSource, type TrackSource } from '../src/index.ts'
import { assistant, play, requestOf, result, user } from './host.ts'

function track(steps: readonly StepSource[], rest: Partial<TrackSource> = {}) {
  return { tracks: [{ name: 'main', match: {}, steps, ...rest }] }
}

describe('an answer', () => {
  it('streams reasoning, text and tool calls as blocks, then usage, then finish', async () => {
    const { ask } = await play(
      track([
        {
          reasoning: 'hm',
          text: 'hello',
          toolCalls: [{ name: 'count', arguments: { n: 1 } }, { name: 'stop' }],
        },
      ]),
    )
    const { chunks } = await ask({ sessionId: 's' })
    expect(chunks).toEqual([
      { type: 'block-start', index: 0, blockType: 'reasoning' },
      { type: 'reasoning-delta', index: 0, text: 'hm' },
      { type: 'block-end', index: 0, block: { type: 'reasoning', text: 'hm' } },
      { type: 'block-start', index: 1, blockType: 'text' },
      { type: 'text-delta', index: 1, text: 'hello' },
      { type: 'block-end', index: 1, block: { type: 'text', text: 'hello' } },
      { type: 'block-start', index: 2, blockType: 'tool-call' },
      { type: 'tool-call-delta', index: 2, id: 'scripted-call-1', name: 'count', argumentsDelta: '{"n":1}' },
      {
        type: 'block-end',
        index: 2,
        block: { type: 'tool-call', id: 'scripted-call-1', name: 'count', arguments: '{"n":1}' },
      },
      { type: 'block-start', index: 3, blockType: 'tool-call' },
      { type: 'tool-call-delta', index: 3, id: 'scripted-call-2', name: 'stop', argumentsDelta: '{}' },
      {
        type: 'block-end',
        index: 3,
        block: { type: 'tool-call', id: 'scripted-call-2', name: 'stop', arguments: '{}' },
      },
      { type: 'usage', usage: { inputTokens: 2, outputTokens: 7 } },
      { type: 'finish', reason: { kind: 'tool-calls' } },
    ])
  })

  it('splits text into deltas without cutting a character', async () => {
    const { ask } = await play(track([{ text: 'ab\u{1F600}cd', chunkChars: 2 }]))
    const { chunks, text, finish } = await ask({})
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? chunk.text : []))).toEqual([
      'ab',
      '\u{1F600}c',
      'd',
    ])
    expect(text).toBe('ab\u{1F600}cd')
    expect(finish).toEqual({ kind: 'stop' })
  })

  it('counts four characters of system prompt and conversation as a token, rounded up', async () => {
    const { ask } = await play(track([{ text: '12345' }]))
    expect((await ask({ system: '1234', messages: [user('12345')] })).usage).toEqual({
      inputTokens: 3,
      outputTokens: 2,
    })
  })

  it('leaves a frozen request as it is', async () => {
    const { ctx } = await play(
      track([{ text: 'ok', capture: { v: { from: 'conversation', pattern: 'h.' } } }]),
    )
    const request = deepFreeze(requestOf({ tools: ['x'], sessionId: 's' }))
    const kinds: string[] = []
    for await (const chunk of ctx.get('llm')?.stream(request) ?? []) kinds.push(chunk.type)
    expect(kinds.at(-1)).toBe('finish')
  })

  it('numbers tool calls after those that the history holds', async () => {
    const steps = [{ toolCalls: [{ name: 'go' }] }]
    const { ask } = await play(track(steps, { stateless: true }))
    const history = [
      user('a'),
      assistant('', [['scripted-call-7', 'go', '{}']]),
      result('scripted-call-7', 'ok'),
    ]
    expect((await ask({ sessionId: 's', messages: history })).calls[0]?.id).toBe('scripted-call-8')
    expect((await ask({ sessionId: 's', messages: history })).calls[0]?.id).toBe('scripted-call-9')
    expect((await ask({ sessionId: 'other' })).calls[0]?.id).toBe('scripted-call-1')
  })
})

describe('a track that is played in order', () => {
  it('plays one step after the other, then refuses', async () => {
    const { ask, llm } = await play(track([{ text: 'one' }, { text: 'two', name: 'last' }]))
    expect((await ask({ sessionId: 's' })).text).toBe('one')
    expect((await ask({ sessionId: 's' })).text).toBe('two')
    llm.assertExhausted()
    const { failure } = await ask({ sessionId: 's' })
    expect(failure?.code).toBe('SCRIPT_UNEXPECTED_REQUEST')
    expect(failure?.message).toBe(
      'track "main" has played all its 2 steps, and conversation s asks again; user "hello", tools none',
    )
  })

  it('refuses when the next step does not hold, and stays where it is', async () => {
    const { ask, llm } = await play(
      track([{ text: 'one', name: 'greet', when: { lastUser: 'good (day|night)' } }]),
    )
    const { failure, finish } = await ask({ sessionId: 's', tools: ['a', 'b'] })
    expect(finish.kind).toBe('error')
    expect(failure?.message).toBe(
      'track "main" step 0 (greet) waits for lastUser /good (day|night)/, which does not hold for the request of ' +
        'conversation s; user "hello", tools a, b',
    )
    expect((await ask({ sessionId: 's', messages: [user('good night')] })).text).toBe('one')
    expect(llm.report()).toMatchObject({
      requests: 2,
      unexpectedCount: 1,
      unexpected: [{ code: 'SCRIPT_UNEXPECTED_REQUEST', conversation: 's', track: 'main', step: 0 }],
      unusedSteps: [],
      conversations: [{ conversation: 's', track: 'main', requests: 2, position: 1 }],
    })
  })

  it('passes over optional steps only', async () => {
    const when = { lastUser: 'never' }
    const { ask } = await play(
      track([{ text: 'a', when, optional: true }, { text: 'b' }, { text: 'c', when }, { text: 'd' }]),
    )
    expect((await ask({ sessionId: 's' })).text).toBe('b')
    expect((await ask({ sessionId: 's' })).failure?.message).toMatch(/step 2 waits for lastUser \/never\//)
  })

  it('repeats a step while its condition holds, and goes on when it does not', async () => {
    const { ask } = await play(
      track([{ text: 'again', when: { lastUser: 'more' }, repeat: true }, { text: 'done' }]),
    )
    const more = { sessionId: 's', messages: [user('more')] }
    expect((await ask(more)).text).toBe('again')
    expect((await ask(more)).text).toBe('again')
    expect((await ask({ sessionId: 's' })).text).toBe('done')
    expect((await ask(more)).failure?.code).toBe('SCRIPT_UNEXPECTED_REQUEST')
  })
})

describe('a stateless track', () => {
  const steps: StepSource[] = [
    { text: 'finished', when: { lastToolResult: { name: '^count$', text: 'three' } } },
    { text: 'counting', when: { conversation: 'count\\(\\{"of":1\\}\\)' } },
    { text: 'fresh' },
  ]

  it('plays the first step that holds, also in the middle of a history', async () => {
    const { ask, llm } = await play(track(steps, { stateless: true }))
    const history = [user('go'), assistant('', [['c', 'count', '{"of":1}']])]
    expect((await ask({ sessionId: 's', messages: [...history, result('c', 'three')] })).text).toBe(
      'finished',
    )
    expect((await ask({ sessionId: 's', messages: [...history, result('c', 'two')] })).text).toBe('counting')
    expect((await ask({ sessionId: 's' })).text).toBe('fresh')
    expect(llm.report().unusedSteps).toEqual([])
  })

  it('refuses when no step holds', async () => {
    const { ask, llm } = await play(track(steps.slice(0, 1), { stateless: true }))
    const history = [user('go'), assistant('', [['c', 'count', '{}']]), result('c', 'x'.repeat(500))]
    const { failure } = await ask({ sessionId: 's', messages: history })
    expect(failure?.message).toMatch(
      /^no step of track "main" holds for a request of conversation s; user "x{200}…", result of count/,
    )
    expect(llm.report().unexpected).toEqual([expect.not.objectContaining({ step: 0 })])
  })
})

describe('what a condition sees', () => {
  it('lastUser is all input since the last answer, tool results and notices included', async () => {
    const { ask } = await play(track([{ text: 'ok', when: { lastUser: '^first\\nsecond\\nnotice$' } }]))
    const calls = [['a', 'x', '{}'] as const, ['b', 'y', '{}'] as const]
    const messages = [
      user('old'),
      assistant('', calls),
      result('a', 'first'),
      result('b', 'second'),
      user('notice'),
    ]
    expect((await ask({ messages })).text).toBe('ok')
  })

  it('lastToolResult is the last one of the newest input, and none after an answer', async () => {
    const { ask } = await play(
      track([{ text: 'y', when: { lastToolResult: { name: 'y' } } }, { text: 'old' }], { stateless: true }),
    )
    const calls = [['a', 'x', '{}'] as const, ['b', 'y', '{}'] as const]
    const messages = [user('old'), assistant('', calls), result('a', '1'), result('b', '2')]
    expect((await ask({ messages })).text).toBe('y')
    expect((await ask({ messages: [...messages, assistant('done'), user('next')] })).text).toBe('old')
  })
})

describe('conversations', () => {
  it('keep apart when they run side by side', async () => {
    const source = track([
      { text: 'hi ${name}', capture: { name: { from: 'lastUser', pattern: 'I am (\\w+)' } }, delayMs: 1 },
      { text: 'bye ${name}' },
    ])
    const { ask } = await play(source)
    const names = Array.from({ length: 20 }, (_, index) => `user${index}`)
    const talks = names.map(async (name) => {
      const first = await ask({ sessionId: name, messages: [user(`I am ${name}`)] })
      const second = await ask({ sessionId: name })
      return [first.text, second.text]
    })
    expect(await Promise.all(talks)).toEqual(names.map((name) => [`hi ${name}`, `bye ${name}`]))
  })

  it('are told apart by first user message and system prompt where there is no session', async () => {
    const { ask, llm } = await play(track([{ text: 'one' }, { text: 'two' }]))
    expect((await ask({ system: 'a' })).text).toBe('one')
    expect((await ask({ system: 'b' })).text).toBe('one')
    expect((await ask({ system: 'a', messages: [user('hello'), assistant('one'), user('next')] })).text).toBe(
      'two',
    )
    expect(llm.report().conversations.map(({ conversation }) => conversation)).toEqual([
      expect.stringMatching(/^fingerprint:[0-9a-f]{16}$/),
      expect.stringMatching(/^fingerprint:[0-9a-f]{16}$/),
    ])
  })

  it('go to the first track whose conditions all hold, and stay with it', async () => {
    const { ask } = await play({
      tracks: [
        {
          name: 'root',
          match: { tools: ['^update_', '^yield_'], system: 'lead' },
          steps: [{ text: 'root' }, { text: 'root again' }],
        },
        { name: 'words', match: { firstUser: 'words' }, steps: [{ text: 'words' }] },
        { name: 'rest', match: {}, steps: [{ text: 'rest' }] },
      ],
    })
    const tools = ['update_graph', 'yield_graph']
    expect((await ask({ sessionId: '1', system: 'you lead', tools })).text).toBe('root')
    expect((await ask({ sessionId: '1' })).text).toBe('root again')
    expect((await ask({ sessionId: '2', system: 'you lead', tools: ['update_graph'] })).text).toBe('rest')
    expect((await ask({ sessionId: '3', messages: [user('count words')] })).text).toBe('words')
  })

  it('are refused where no track matches, with the reason for each', async () => {
    const { ask, llm } = await play({
      tracks: [
        { name: 'a', match: { system: 'x' }, steps: [{ text: 'a' }] },
        { name: 'b', match: { purpose: 'session-title' }, steps: [{ text: 'b' }] },
        { name: 'c', match: {}, maxConversations: 1, steps: [{ text: 'c' }] },
      ],
    })
    expect((await ask({ sessionId: '1' })).text).toBe('c')
    expect((await ask({ sessionId: '2' })).failure?.message).toBe(
      'no track of the script plays conversation 2: "a" does not match the system prompt, "b" is for session-title, ' +
        '"c" has all its conversations; user "hello", tools none',
    )
    expect(llm.report().conversations).toHaveLength(1)
  })

  it('of an auxiliary call are its own, for a track that asks for them', async () => {
    const { ask } = await play({
      tracks: [
        { name: 'main', match: {}, steps: [{ text: 'one' }, { text: 'two' }] },
        {
          name: 'titles',
          match: { purpose: 'session-title' },
          stateless: true,
          steps: [{ text: 'A title' }],
        },
      ],
    })
    expect((await ask({ sessionId: 's' })).text).toBe('one')
    expect((await ask({ sessionId: 's', purpose: 'session-title' })).text).toBe('A title')
    expect((await ask({ sessionId: 's', purpose: 'compaction' })).failure?.message).toMatch(
      /"titles" is for session-title/,
    )
    expect((await ask({ sessionId: 's' })).text).toBe('two')
  })
})

describe('captures', () => {
  it('fill templates with text, lists and numbers', async () => {
    const { ask } = await play(
      track([
        {
          capture: {
            id: { from: 'lastToolResult', pattern: '"id":"([^"]+)"' },
            ids: { from: 'conversation', pattern: 'rec-\\d', all: true },
            once: { from: 'conversation', pattern: 'rec-\\d', all: true, unique: true },
            size: { from: 'lastToolResult', pattern: '"size":(?<n>\\d+)', group: 'n', as: 'number' },
            role: { from: 'system', pattern: 'You are (.*)\\.' },
            none: { from: 'lastUser', pattern: 'zzz', all: true },
          },
          text: '${role}: ${once}',
          toolCalls: [
            {
              name: 'finish',
              arguments: {
                results: '${ids}',
                n: ['${size}', true, null],
                label: 'id ${id} of ${ids}',
                raw: '$${id}',
                none: '${none}',
              },
            },
          ],
        },
      ]),
    )
    const messages = [
      user('rec-1 rec-2 rec-1'),
      assistant('', [['c', 'view', '{}']]),
      result('c', '{"id":"x7","size":12}'),
    ]
    const { text, calls } = await ask({ system: 'You are root.', messages })
    expect(text).toBe('root: rec-1, rec-2')
    expect(JSON.parse(calls[0]?.arguments ?? '')).toEqual({
      results: ['rec-1', 'rec-2', 'rec-1'],
      n: [12, true, null],
      label: 'id x7 of rec-1, rec-2, rec-1',
      raw: '${id}',
      none: [],
    })
  })

  it('are harmless under names of prototypes', async () => {
    const from = { from: 'lastUser', pattern: '.+' } as const
    const capture = Object.fromEntries(['__proto__', 'constructor', 'toString'].map((name) => [name, from]))
    const keys: unknown = JSON.parse(
      '{"__proto__":{"polluted":"${__proto__}"},"constructor":"${constructor}"}',
    )
    const { ask } = await play(
      track([{ capture, text: '${toString}', toolCalls: [{ name: 'x', arguments: keys }] }]),
    )
    const { text, calls } = await ask({})
    expect(text).toBe('hello')
    expect(calls[0]?.arguments).toBe('{"__proto__":{"polluted":"hello"},"constructor":"hello"}')
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it.each([
    ['lastUser', 'nothing like it', 'the capture "v" failed: /nothing like it/ is not found in lastUser'],
    ['lastToolResult', '.', 'the capture "v" failed: the newest input holds no tool result'],
    ['lastUser', '(x)?hello', 'the capture "v" failed: group 1 of /(x)?hello/ takes no part in the match'],
  ] as const)('that fail end the request: %s %s', async (from, pattern, message) => {
    const { ask, llm } = await play(track([{ text: '${v}', capture: { v: { from, pattern } } }]))
    const { failure } = await ask({ sessionId: 's' })
    expect(failure).toEqual({
      code: 'SCRIPT_CAPTURE_FAILED',
      message: `track "main" step 0 of conversation s: ${message}`,
    })
    expect(llm.report()).toMatchObject({
      unexpected: [{ code: 'SCRIPT_CAPTURE_FAILED' }],
      conversations: [{ position: 0 }],
    })
  })

  it('that are no number end the request', async () => {
    const { ask } = await play(
      track([{ text: '${v}', capture: { v: { from: 'lastUser', pattern: '.+', as: 'number' } } }]),
    )
    expect((await ask({})).failure?.message).toMatch(/"hello" is not a number/)
  })

  it('that were never taken fail loudly where a template needs them', async () => {
    const { ask } = await play(
      track([
        {
          text: 'a',
          optional: true,
          when: { lastUser: 'skip' },
          capture: { v: { from: 'lastUser', pattern: '.+' } },
        },
        { text: '${v}' },
      ]),
    )
    expect((await ask({ sessionId: 's' })).failure).toEqual({
      code: 'SCRIPT_UNKNOWN_CAPTURE',
      message:
        'track "main" step 1 of conversation s: the template ${v} has no value: this conversation captured nothing',
    })
  })
})

describe('the report', () => {
  it('names unused steps by conversation, and whole tracks that nobody came to', async () => {
    const steps = [{ text: 'one' }, { text: 'two', name: 'end' }, { text: 'extra', optional: true }]
    const { ask, llm } = await play({
      tracks: [
        { name: 'main', match: { firstUser: 'hello' }, steps },
        { name: 'idle', match: {}, steps: [{ text: 'x' }] },
      ],
    })
    await ask({ sessionId: 'a' })
    await ask({ sessionId: 'a' })
    await ask({ sessionId: 'b' })
    expect(llm.report().unusedSteps).toEqual([
      { track: 'main', step: 1, name: 'end', conversation: 'b' },
      { track: 'idle', step: 0 },
    ])
    expect(() => llm.assertExhausted()).toThrow(
      expect.objectContaining({
        code: 'unused-steps',
        message:
          '2 steps of the script never played: track "main" step 1 (end) in conversation b; track "idle" step 0',
      }),
    )
  })

  it('puts unexpected requests first, and keeps the first hundred of them', async () => {
    const seen: string[] = []
    const { ask, llm } = await play(
      { tracks: [{ name: 'main', match: { system: 'x' }, steps: [{ text: 'one' }] }] },
      { onUnexpected: ({ conversation }) => seen.push(conversation) },
    )
    for (let index = 0; index < 130; index += 1) await ask({ sessionId: `s${index}` })
    expect(seen).toHaveLength(130)
    expect(llm.report()).toMatchObject({ requests: 130, unexpectedCount: 130 })
    expect(llm.report().unexpected).toHaveLength(100)
    expect(() => llm.assertExhausted()).toThrow(
      expect.objectContaining({
        code: 'unexpected-requests',
        message: expect.stringMatching(/^130 requests had no answer.*; and 110 more$/) as string,
      }),
    )
  })
})
