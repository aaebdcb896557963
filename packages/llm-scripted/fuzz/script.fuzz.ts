/**
 * Fuzzes the door of the script: whatever comes in, `parseScript` returns a script or throws a
 * `ScriptedLlmError` with problems, and nothing else. A script that it accepts can be asked something.
 *
 * `node fuzz/script.fuzz.ts [runs] [seed]` prints the result as one line of JSON.
 */
import { createUserMessage, type GenerateOptions } from '@deepseek-ai/dsh-llm'
import { parseScript, ScriptedLlm, ScriptedLlmError, type ScriptSource } from '../src/index.ts'

export interface FuzzResult {
  readonly target: string
  readonly runs: number
  readonly failed: number
  /** The first 20 failures; `runs: 1` with such a seed repeats it. */
  readonly failures: { seed: number; text: string }[]
}

const KEPT_FAILURES = 20

/** @param options.seed of the first run; each next run takes the next seed. */
export async function run(options: { runs: number; seed: number }): Promise<FuzzResult> {
  const failures: { seed: number; text: string }[] = []
  let failed = 0
  for (let index = 0; index < options.runs; index += 1) {
    const seed = (options.seed + index) >>> 0
    const text = await attempt(seed)
    if (text === undefined) continue
    failed += 1
    if (failures.length < KEPT_FAILURES) failures.push({ seed, text })
  }
  return { target: 'script', runs: options.runs, failed, failures }
}

/** One run; nothing when all is well. */
async function attempt(seed: number): Promise<string | undefined> {
  const chance = new Chance(seed)
  let llm: ScriptedLlm
  try {
    const source = chance.one(0.2) ? yamlText(chance) : script(chance)
    llm = new ScriptedLlm(parseScript(source as string | ScriptSource))
  } catch (error) {
    if (error instanceof ScriptedLlmError && error.code === 'invalid-script' && error.problems.length > 0)
      return
    return `refused with ${describe(error)}`
  }
  try {
    await ask(llm, chance)
    return undefined
  } catch (error) {
    return `accepted, then failed with ${describe(error)}`
  }
}

/** Two requests of one conversation; each must end with one finish chunk, whatever the script says. */
async function ask(llm: ScriptedLlm, chance: Chance): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) {
    const abort = new AbortController()
    if (chance.one(0.2)) abort.abort()
    const text = chance.among(WORDS, BAD_WORDS)
    const request: GenerateOptions = {
      provider: 'scripted',
      model: 'any',
      messages: [createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })],
      system: 'system of a run',
      signal: abort.signal,
    }
    // Delays and hangs are ended by the next tick.
    const end = setImmediate(() => abort.abort())
    const kinds: string[] = []
    for await (const chunk of llm.stream(request)) kinds.push(chunk.type)
    clearImmediate(end)
    if (kinds.at(-1) !== 'finish' || kinds.indexOf('finish') !== kinds.length - 1) {
      throw new Error(`a stream of ${kinds.join(', ')}`)
    }
  }
  llm.report()
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message.slice(0, 300)}` : typeof error
}

// In each list the first ones are in order; the last ones are not, and are seldom picked.
const WORDS = ['a', 'hello', '$${x}', '\u{1F600}', '1', '0x10', '-']
const BAD_WORDS = ['', '${', '${x', '${a b}', '${}', '${unknown}']
const PATTERNS = [
  'a',
  '(a)',
  '(?<n>l)',
  '.*',
  '(?=x)',
  'h(e)?(z)?',
  '^$',
  '\\p{L}',
  '(?<n>a)|(b)',
  '.',
  '\\d|.',
]
const BAD_PATTERNS = ['(', '[', '\\', '', '(?<n', '*']
const NAMES = ['x', 'n', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length']
const BAD_NAMES = ['a b', '', '1', '$', '.']
const SCRIPT_KEYS = [
  'tracks',
  'name',
  'match',
  'steps',
  'when',
  'text',
  'fault',
  'capture',
  'toolCalls',
  'after',
]
const KEYS = [...SCRIPT_KEYS, ...NAMES, ...BAD_NAMES]

/** Mostly shaped like a script, with a foreign value anywhere. */
function script(chance: Chance): unknown {
  if (chance.one(0.03)) return anything(chance, 0)
  return shape(chance, { tracks: () => list(chance, 3, () => track(chance)) })
}

function track(chance: Chance): unknown {
  return shape(chance, {
    name: () => `t${chance.below(12)}`,
    match: () =>
      shape(chance, {
        ...maybe(chance, 0.2, { system: () => patterns(chance), purpose: () => 'compaction' }),
        ...maybe(chance, 0.3, { firstUser: () => patterns(chance) }),
      }),
    ...maybe(chance, 0.4, { stateless: () => true }),
    ...maybe(chance, 0.2, { maxConversations: () => chance.among([1, 2], [0]) }),
    steps: () => list(chance, 4, () => step(chance)),
  })
}

function step(chance: Chance): unknown {
  const captured = chance.one(0.5)
  const words = captured ? [...WORDS, '${x}', '<${x}>', '${__proto__}'] : WORDS
  return shape(chance, {
    ...maybe(chance, 0.8, { when: () => when(chance) }),
    ...maybe(chance, 0.05, { repeat: () => true }),
    ...maybe(chance, 0.2, { optional: () => true }),
    ...(captured ? { capture: () => captures(chance) } : {}),
    ...maybe(chance, 0.1, { delayMs: () => chance.below(2_000_000_000) }),
    ...maybe(chance, 0.2, { chunkChars: () => chance.among([1, 2, 3], [0]) }),
    ...(chance.one(0.1) ? { fault: () => ({ hang: chance.among([true], [false]) }) } : answer(chance, words)),
  })
}

function answer(chance: Chance, words: readonly string[]): Record<string, () => unknown> {
  const call = () => shape(chance, { name: () => 'tool', arguments: () => json(chance, words, 0) })
  return {
    text: () => chance.among(words, BAD_WORDS),
    ...maybe(chance, 0.2, { reasoning: () => chance.among(words, BAD_WORDS) }),
    ...maybe(chance, 0.3, { toolCalls: () => list(chance, 2, call) }),
    ...maybe(chance, 0.1, { fault: () => fault(chance) }),
  }
}

function when(chance: Chance): unknown {
  const name = () => patterns(chance)
  return shape(chance, {
    lastUser: () => patterns(chance),
    ...maybe(chance, 0.2, { lastToolResult: () => shape(chance, { name }) }),
    ...maybe(chance, 0.3, { conversation: () => patterns(chance) }),
  })
}

function captures(chance: Chance): unknown {
  const capture = () =>
    shape(chance, {
      from: () => chance.among(['conversation', 'lastUser', 'system'], ['lastToolResult', 'toolResult']),
      pattern: () => chance.among(PATTERNS, BAD_PATTERNS),
      ...maybe(chance, 0.1, { group: () => chance.among([0], [1, 2, -1, 'n', '__proto__']) }),
      ...maybe(chance, 0.3, { all: () => true }),
      ...maybe(chance, 0.1, { as: () => 'number' }),
    })
  const names = ['x', '__proto__', ...(chance.one(0.3) ? [chance.among(NAMES, BAD_NAMES)] : [])]
  return Object.fromEntries(names.map((name) => [name, capture()]))
}

function fault(chance: Chance): unknown {
  return shape(chance, {
    code: () => 'RATE_LIMIT',
    message: () => 'slow down',
    after: () => chance.below(5),
    ...maybe(chance, 0.3, { kind: () => chance.among(['error', 'aborted'], ['stop']) }),
  })
}

function patterns(chance: Chance): unknown {
  const one = () =>
    chance.one(0.2)
      ? {
          pattern: chance.among(PATTERNS, BAD_PATTERNS),
          flags: chance.among(['i', 'u', 's'], ['g', 'zz', '']),
        }
      : chance.among(PATTERNS, BAD_PATTERNS)
  return chance.one(0.2) ? list(chance, 3, one) : one()
}

function json(chance: Chance, words: readonly string[], depth: number): unknown {
  if (depth > 3 || chance.one(0.5)) return chance.among<unknown>([...words, 1, null, true, -0.5], BAD_WORDS)
  if (chance.one(0.5)) return list(chance, 3, () => json(chance, words, depth + 1))
  return Object.fromEntries([[chance.pick(KEYS), json(chance, words, depth + 1)]])
}

/** Values that no script has, some of them hostile. */
function anything(chance: Chance, depth: number): unknown {
  const makers: (() => unknown)[] = [
    () => undefined,
    () => null,
    () => Number.NaN,
    () => -Infinity,
    () => 10n,
    () => Symbol('s'),
    () => () => 1,
    () => new Date(Number.NaN),
    () => new Map([[1, 2]]),
    () => /a+/gy,
    () => chance.among(WORDS, BAD_WORDS),
    () => Array.from({ length: 3 }),
    () => Object.create({ tracks: [] }) as unknown,
    () => Object.defineProperty({}, 'tracks', { enumerable: true, get: () => raise() }),
    () => new Proxy({}, { ownKeys: raise }),
    () => new Proxy(/a/, { get: raise }),
    () => cycle(),
    () => nested(200),
    () => (depth > 2 ? 0 : list(chance, 3, () => anything(chance, depth + 1))),
    () => (depth > 2 ? 0 : { [chance.pick(KEYS)]: anything(chance, depth + 1) }),
  ]
  return chance.pick(makers)()
}

function raise(): never {
  throw new Error('no')
}

function cycle(): unknown {
  const record: Record<string, unknown> = {}
  record['tracks'] = [record]
  return record
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = [value]
  return value
}

/** YAML that is a script, cut or spoilt. */
function yamlText(chance: Chance): string {
  let text: string
  try {
    text = JSON.stringify(script(chance)) ?? ''
  } catch {
    text = 'tracks: [{name: a, match: {}, steps: [{text: b}]}]'
  }
  const spoilers = [
    '{',
    ']',
    '&a ',
    '*a ',
    '!!js 1',
    '\t',
    '\n',
    ': ',
    '---\n',
    '"',
    '<<: *a',
    '? ',
    '\u0000',
  ]
  for (let count = chance.below(3); count > 0; count -= 1) {
    const place = chance.below(text.length + 1)
    text = text.slice(0, place) + chance.pick(spoilers) + text.slice(place + chance.below(3))
  }
  return text
}

/** An object whose fields are now and then missing, foreign or too many. */
function shape(chance: Chance, makers: Record<string, () => unknown>): unknown {
  const made: Record<string, unknown> = {}
  for (const [key, make] of Object.entries(makers)) {
    if (chance.one(0.002)) continue
    made[key] = chance.one(0.003) ? anything(chance, 0) : make()
  }
  if (chance.one(0.003)) made[chance.pick(KEYS)] = anything(chance, 0)
  return made
}

function list(chance: Chance, most: number, make: () => unknown): unknown[] {
  return Array.from({ length: chance.one(0.01) ? 0 : 1 + chance.below(most) }, make)
}

function maybe<T>(chance: Chance, probability: number, fields: T): T | Record<string, never> {
  return chance.one(probability) ? fields : {}
}

/** Small seeded random numbers (mulberry32). */
class Chance {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = this.state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  one(probability: number): boolean {
    return this.next() < probability
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** One in order, or now and then one that is not. */
  among<T>(good: readonly T[], bad: readonly T[]): T {
    return this.pick(this.one(0.02) ? bad : good)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }
}

if (import.meta.main) {
  const [runs = '2000', seed = '1'] = process.argv.slice(2)
  process.stdout.write(`${JSON.stringify(await run({ runs: Number(runs), seed: Number(seed) }))}\n`)
}
