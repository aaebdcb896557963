import { describe, expect, it } from 'vitest'
import { parseScript, ScriptedLlmError, type ScriptSource } from '../src/index.ts'

function problemsOf(source: unknown): readonly string[] {
  const error = refusalOf(source)
  return error.problems.map((problem) => `${problem.path}: ${problem.message}`)
}

function refusalOf(source: unknown, origin?: string): ScriptedLlmError {
  try {
    parseScript(source as ScriptSource, origin === undefined ? {} : { origin })
  } catch (error) {
    if (error instanceof ScriptedLlmError) return error
    throw error
  }
  throw new Error('the script was accepted')
}

function step(fields: object, track: object = {}): unknown {
  return { tracks: [{ name: 'a', match: {}, steps: [fields], ...track }] }
}

describe('parseScript', () => {
  it('takes YAML and an object of the same shape', () => {
    const yaml = 'tracks:\n  - name: a\n    match: {}\n    steps:\n      - text: hi\n'
    expect(parseScript(yaml)).toEqual(
      parseScript({ tracks: [{ name: 'a', match: {}, steps: [{ text: 'hi' }] }] }),
    )
  })

  it('takes an empty list of tracks', () => {
    expect(parseScript('tracks: []').tracks).toEqual([])
  })

  it('returns a script that was parsed before as it is', () => {
    const script = parseScript('tracks: []')
    expect(parseScript(script)).toBe(script)
  })

  it('returns a frozen script that shares nothing with its source', () => {
    const source = step({ toolCalls: [{ name: 'x', arguments: { a: ['b'] } }] }) as ScriptSource
    const script = parseScript(source)
    expect(Object.isFrozen(script.tracks[0]?.steps[0]?.toolCalls[0])).toBe(true)
    expect(Object.isFrozen(source.tracks[0]?.steps)).toBe(false)
  })

  it('names every problem at once, with its path', () => {
    const source = {
      version: 1,
      tracks: [
        { name: 'a', match: { systm: 'x', firstUser: '(' }, steps: [{ text: 5 }, { delayMs: -1 }] },
        { name: 'a', steps: [], stateless: 'yes' },
        'track',
      ],
    }
    expect(problemsOf(source)).toEqual([
      'version: unknown key "version"; known are tracks',
      'tracks[0].match.systm: unknown key "systm"; known are system, firstUser, tools, purpose',
      'tracks[0].match.firstUser: Invalid regular expression: /(/: Unterminated group',
      'tracks[0].steps[0].text: is 5; give a text, in quotes',
      'tracks[0].steps[1]: answers nothing; give text, reasoning, toolCalls or fault',
      'tracks[0].steps[1].delayMs: is -1; give a whole number from 0 to 2147483647',
      'tracks[1].match: is missing',
      'tracks[1].stateless: is "yes"; give true or false',
      'tracks[1].steps: is empty; a track needs a step',
      'tracks[2]: is "track"; give an object',
      'tracks[1].name: another track is called "a" already',
    ])
  })

  it('puts origin, path and line into the text of the error', () => {
    const yaml = 'tracks:\n  - name: a\n    match: {}\n    steps:\n      - text: hi\n        delay: 5\n'
    const error = refusalOf(yaml, 'demo.yml')
    expect(error.code).toBe('invalid-script')
    expect(error.message).toMatch(
      /^the script demo\.yml has a problem: tracks\[0\]\.steps\[0\]\.delay \(line 6\): unknown key/,
    )
    expect(error.problems[0]?.line).toBe(6)
  })

  it('gives the line of the parent for a missing key, and follows aliases', () => {
    const yaml =
      'tracks:\n  - name: a\n    match: &m\n      system: "["\n    steps: [{text: x}]\n  - match: *m\n    steps: [{text: x}]\n'
    expect(refusalOf(yaml).problems.map((problem) => [problem.path, problem.line])).toEqual([
      ['tracks[0].match.system', 4],
      ['tracks[1].name', 6],
      ['tracks[1].match.system', 4],
    ])
  })

  it.each([
    ['tracks: [', 1],
    ['tracks: []\ntracks: []', 2],
    ['tracks: []\n---\ntracks: []', 2],
    ['tracks:\n  - !!binary aGk=', 2],
    ['? [a]\n: 1', 1],
  ])('refuses broken YAML with its line: %j', (yaml, line) => {
    expect(refusalOf(yaml).problems[0]?.line).toBe(line)
  })

  it.each(['', '# nothing', '42', 'text', '[]'])('refuses YAML that holds no script: %j', (yaml) => {
    expect(refusalOf(yaml).message).toMatch(/give an object/)
  })

  it('refuses YAML whose aliases multiply, and YAML that is nested too deep', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
    )
    expect(refusalOf(`l0: &l0 [a]\n${levels.join('\n')}`).code).toBe('invalid-script')
    expect(refusalOf('['.repeat(50_000)).code).toBe('invalid-script')
    expect(refusalOf(`tracks: "${'x'.repeat(1_000_001)}"`).message).toMatch(/longer than 1000000 characters/)
  })

  it('survives hostile objects', () => {
    const cycle: Record<string, unknown> = {}
    cycle['tracks'] = [cycle]
    expect(problemsOf(cycle)[0]).toBe('tracks[0]: contains itself')
    const throwing = { get tracks() { throw new TypeError('no') } } // prettier-ignore
    expect(refusalOf(throwing).cause).toBeInstanceOf(TypeError)
    expect(problemsOf(step({ text: Symbol('x') }))).toContain(
      'tracks[0].steps[0].text: a symbol cannot be part of a script',
    )
    expect(problemsOf(step({ text: 'x', when: { lastUser: new Date() } }))).toContain(
      'tracks[0].steps[0].when.lastUser: is not a plain object',
    )
    const wide = Array.from({ length: 300_000 }, () => 1)
    expect(problemsOf(step({ toolCalls: [{ name: 'x', arguments: wide }] }))).toContain(
      ': holds more than 200000 values; make it smaller',
    )
  })

  it('takes prototype names for what they are, keys', () => {
    const source: unknown = JSON.parse(
      '{"tracks":[{"name":"a","match":{},"steps":[{"text":"x","__proto__":{"optional":true}}]}]}',
    )
    expect(problemsOf(source)[0]).toMatch(/^tracks\[0\]\.steps\[0\]\.__proto__: unknown key "__proto__"/)
  })

  it('takes patterns as text, with flags, as RegExp, and as a list', () => {
    const source = step({
      text: 'x',
      when: { lastUser: ['a', { pattern: 'b', flags: 'i' }, /c/s], conversation: 'd' },
    })
    const when = parseScript(source as ScriptSource).tracks[0]?.steps[0]?.when
    expect(when?.lastUser.map(String)).toEqual(['/a/', '/b/i', '/c/s'])
    expect(when?.conversation.map(String)).toEqual(['/d/'])
  })

  it.each([
    [{ when: {} }, 'when: is empty and holds always; leave it out'],
    [{ when: { lastUser: '' } }, 'when.lastUser: is an empty pattern, which holds everywhere; leave it out'],
    [{ when: { lastUser: [] } }, 'when.lastUser: is an empty list; give a pattern, or leave it out'],
    [{ when: { lastUser: /a/g } }, 'when.lastUser: has flag "g" or "y"; leave it out'],
    [{ when: { lastUser: 5 } }, 'when.lastUser: is 5; give a regular expression as text'],
    [
      { when: { lastToolResult: { nam: 'x' } } },
      'when.lastToolResult.nam: unknown key "nam"; known are name, text',
    ],
    [{ text: '' }, 'text: is empty'],
    [{ toolCalls: [] }, 'toolCalls: is empty; name a call, or leave it out'],
    [{ toolCalls: [{ arguments: {} }] }, 'toolCalls[0].name: is missing'],
    [{ chunkChars: 0 }, `chunkChars: is 0; give a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`],
    [{ text: '${HOME' }, 'text: "${HOME" names no captured value; write "$${" for a literal "${"'],
    [{ text: '${total}' }, 'text: the template ${total} has no value: no step up to this one captures it'],
    [
      { toolCalls: [{ name: 'x', arguments: { ids: '${ids}' } }] },
      'toolCalls: the template ${ids} has no value: no step up to this one captures it',
    ],
    [
      { toolCalls: [{ name: 'x', arguments: { n: Number.NaN } }] },
      'toolCalls[0].arguments.n: NaN is not a number of JSON',
    ],
    [
      { toolCalls: [{ name: 'x', arguments: { n: /a/ } }] },
      'toolCalls[0].arguments.n: is a regular expression; arguments are JSON',
    ],
    [{ fault: { hang: true } }, 'text: is never sent by a step that hangs; leave it out'],
    [{ fault: { code: 'X', message: 'm' } }, 'text: is never sent before this fault; give fault.after'],
    [
      { fault: { hang: true, after: 1 }, text: undefined },
      'fault.after: unknown key "after"; known are hang',
    ],
    [
      { fault: { hang: false }, text: undefined },
      'fault.hang: can only be true; leave the fault out instead',
    ],
    [
      { fault: { code: 'X', message: 'm', after: 1 }, text: undefined },
      'fault.after: counts chunks of an answer that the step does not give',
    ],
    [
      { fault: { message: 'm', kind: 'stop' }, text: undefined },
      'fault.kind: is "stop"; give error or aborted',
    ],
    [{ fault: { message: 'm' }, text: undefined }, 'fault.code: is missing'],
  ])('refuses the step %j', (fields, problem) => {
    expect(problemsOf(step({ text: 'x', ...fields }))).toContain(`tracks[0].steps[0].${problem}`)
  })

  it.each([
    [{ pattern: 'a' }, 'from: is missing'],
    [
      { from: 'user', pattern: 'a' },
      'from: is "user"; give conversation or lastUser or lastToolResult or system',
    ],
    [{ from: 'system' }, 'pattern: is missing'],
    [{ from: 'system', pattern: '(a)(?<n>b)', group: 3 }, 'group: is 3; the pattern has 0 to 2, "n"'],
    [{ from: 'system', pattern: '(a)', group: 'n' }, 'group: is "n"; the pattern has 0 to 1'],
    [
      { from: 'system', pattern: 'a', unique: true },
      'unique: says something about a list; give all: true as well',
    ],
  ])('refuses the capture %j', (capture, problem) => {
    expect(problemsOf(step({ text: 'x', capture: { v: capture } }))).toContain(
      `tracks[0].steps[0].capture.v.${problem}`,
    )
  })

  it('refuses a name of a capture that no template could write', () => {
    const capture = { 'a b': { from: 'system', pattern: 'a' } }
    expect(problemsOf(step({ text: 'x', capture }))[0]).toMatch(
      /^tracks\[0\]\.steps\[0\]\.capture\["a b"\]: a value/,
    )
  })

  it('refuses steps that can never be played', () => {
    const last = { text: 'b', when: { lastUser: 'b' } }
    expect(
      problemsOf({ tracks: [{ name: 'a', match: {}, steps: [{ text: 'a', repeat: true }, last] }] }),
    ).toEqual(['tracks[0].steps[0]: holds always, so that no later step is ever played; give it a when'])
    expect(
      problemsOf({ tracks: [{ name: 'a', match: {}, stateless: true, steps: [{ text: 'a' }, last] }] }),
    ).toEqual(['tracks[0].steps[0]: holds always, so that no later step is ever played; give it a when'])
    expect(problemsOf(step({ text: 'x', repeat: true }, { stateless: true }))).toEqual([
      'tracks[0].steps[0].repeat: every step of a stateless track repeats; leave it out',
    ])
  })

  it('wants a captured value before the step that writes it, except in a stateless track', () => {
    const steps = [
      { text: '${v}', when: { lastUser: 'second' } },
      { text: 'x', capture: { v: { from: 'lastUser', pattern: '.+' } } },
    ] as const
    expect(problemsOf({ tracks: [{ name: 'a', match: {}, steps }] })).toHaveLength(1)
    expect(parseScript({ tracks: [{ name: 'a', match: {}, stateless: true, steps }] }).tracks).toHaveLength(1)
  })
})
