/**
 * A router between a hostile model, hostile listeners and a torn history. One run is one routing over
 * the real `ctx.llm`. Whatever they do: every request is one that the strictest provider takes, there
 * are no more model calls than allowed, no graph gets arguments outside its schema, and the routing
 * ends in an outcome or in an error of the expected kind. Run `i` of a campaign with seed `s` repeats
 * as run 0 of seed `s + i`.
 */
import { Context } from '@deepseek-ai/cordis'
import {
  CallId,
  createMessage,
  LlmRuntime,
  type ContentBlock,
  type Message,
  type MessageSource,
} from '@deepseek-ai/dsh-llm'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime } from '@deepseek-ai/dsh-tools'
import * as graphRuntime from '../src/index.ts'
import { ModelInProcess, type Said, type SaidCall } from '../tests/model-in-process.ts'
import type { FuzzSummary } from './lossless.fuzz.ts'

type Random = () => number

/** Mulberry32: small, and the same everywhere. */
function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

function many<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: Math.floor(random() * (most + 1)) }, make)
}

const NAMES = [
  'topic_graph',
  'free_graph',
  'failing_graph',
  'Topic-Graph',
  'functions.topic_graph',
  'topicgraph',
  '',
  ' ',
  'nope',
  'graph',
  '__proto__',
  'constructor',
  'run_code',
  '\ud83c',
  'ü'.repeat(90),
  'x'.repeat(9000),
]

const TEXTS = [
  '{"topic":"moss"}',
  '{"topic":"moss","more":[1,{"a":null}]}',
  '{}',
  '',
  '  ',
  'null',
  '[]',
  '3',
  '"x"',
  '{"topic":3}',
  '{"topic":null}',
  '{"topic":"a"',
  '{topic:1}',
  '```json\n{}\n```',
  '{"n":1e999}',
  '{"n":-0}',
  '{"arguments":{"topic":"moss"}}',
  '{"input":"{\\"topic\\":\\"moss\\"}"}',
  '"{\\"topic\\":\\"moss\\"}"',
  '{"__proto__":{"topic":"x"}}',
  '{"topic":"\\ud83c"}',
  '{"log":{"__overwrite__":[]}}',
  '\u0000',
  `{"topic":"${'y'.repeat(9000)}"}`,
  `${'['.repeat(3000)}${']'.repeat(3000)}`,
  `{"topic":"z","deep":${'[{"a":'.repeat(900)}1${'}]'.repeat(900)}}`,
]

const IDS = ['a', 'b', 'call', 'call_1', '', 'a', 'r0-c0', '__proto__']

const USAGES = [
  undefined,
  { inputTokens: 3, outputTokens: 1 },
  { inputTokens: 1, outputTokens: 0, cacheReadTokens: 2 },
]

function saidCall(random: Random): SaidCall {
  const id = random() < 0.5 ? {} : { id: pick(random, IDS) }
  return { name: pick(random, NAMES), arguments: pick(random, TEXTS), ...id }
}

function said(random: Random): Said {
  const usage = pick(random, USAGES)
  return {
    ...(random() < 0.3 ? { text: pick(random, ['', ' ', 'Well.', '\ud83c']) } : {}),
    ...(random() < 0.2 ? { reasoning: 'Hm.' } : {}),
    ...(random() < 0.92
      ? { calls: random() < 0.8 ? [saidCall(random)] : many(random, 4, () => saidCall(random)) }
      : {}),
    ...(random() < 0.2 ? { finish: pick(random, ['stop', 'tool-calls', 'max-tokens'] as const) } : {}),
    ...(random() < 0.03 ? { failure: { message: 'broken', code: 'FUZZ' } } : {}),
    ...(random() < 0.2 ? { replayState: { response: 1, blocks: [1] } } : {}),
    ...(usage === undefined ? {} : { usage }),
  }
}

function block(random: Random): ContentBlock {
  const id = CallId(pick(random, IDS))
  const kind = random()
  if (kind < 0.35) return { type: 'text', text: pick(random, ['hello', '', ' ']) }
  if (kind < 0.7) return { type: 'tool-call', id, name: pick(random, NAMES), arguments: pick(random, TEXTS) }
  return { type: 'tool-result', toolCallId: id, content: [{ type: 'text', text: 'r' }] }
}

function message(random: Random): Message {
  const role = pick(random, ['user', 'assistant', 'assistant'] as const)
  const source: MessageSource =
    role === 'user' ? { kind: 'user' } : { kind: 'model', provider: 'fuzz', model: 'm', replayState: 1 }
  return createMessage({ role, content: many(random, 4, () => block(random)), source })
}

const EXPECTED = new Set(['GRAPH_ROUTING', 'MAX_TOKENS', 'FUZZ', 'LOW_TIDE', 'LISTENER'])

class CodedError extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** The plugin with three graphs, and what the graph with a schema got that it must not get. */
interface Bench {
  readonly ctx: Context
  readonly intruders: unknown[]
}

async function openBench(): Promise<Bench> {
  const ctx = new Context()
  const intruders: unknown[] = []
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(graphRuntime, {})
  const register = (name: string, invoke: (input: unknown) => Promise<unknown>, topic: boolean): void => {
    const parameters = topic ? ({ topic: { type: 'string', required: true } } as const) : {}
    ctx.get('graphTools')?.register({ invoke }, ctx, { name, description: name, parameters })
  }
  const strict = async (input: unknown): Promise<unknown> => {
    if (typeof Reflect.get(Object(input) as object, 'topic') !== 'string') intruders.push(input)
    return input
  }
  register('topic_graph', strict, true)
  register('free_graph', async (input) => input, false)
  register('failing_graph', () => Promise.reject(new CodedError('LOW_TIDE')), false)
  return { ctx, intruders }
}

/** Listeners that decide at random, on a fiber of their own. */
async function listen(ctx: Context, random: Random): Promise<{ dispose(): Promise<void> }> {
  const wild = (decisions: readonly unknown[]) => (): never => {
    if (random() < 0.05) throw new CodedError('LISTENER')
    return pick(random, decisions) as never
  }
  const pre = wild([{ kind: 'allow' }, { kind: 'allow' }, { kind: 'deny', reason: 'no' }, { kind: 'deny' }])
  const post = wild([
    { kind: 'accept' },
    { kind: 'accept' },
    { kind: 'accept', result: 1 },
    { kind: 'block', reason: '' },
  ])
  const fiber = ctx.plugin({
    name: 'listeners',
    apply(own: Context) {
      if (random() < 0.3) own.on('graphTools/pre-execute', pre)
      if (random() < 0.3) own.on('graphTools/post-execute', post)
    },
  })
  await fiber
  return fiber
}

/** What is wrong with a routing that ended in an outcome. */
function outcomeFault(outcome: graphRuntime.GraphRoutingOutcome, calls: number): string | undefined {
  if (outcome.attempts.length !== calls) return `${outcome.attempts.length} attempts, ${calls} calls`
  const input = outcome.attempts.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0)
  if (outcome.usage.inputTokens !== input) return 'usage does not add up'
  const last = outcome.attempts.at(-1)?.outcome
  return last === (outcome.fallback === true ? 'no-tool' : 'ran') ? undefined : `the last attempt is ${last}`
}

async function routeOnce({ ctx, intruders }: Bench, seed: number): Promise<string | undefined> {
  const random = randomOf(seed)
  const model = new ModelInProcess(() => said(random))
  const release = ctx.get('llm')?.registerAdapter(['fuzz'], model)
  const listeners = await listen(ctx, random)
  const maxRetries = Math.floor(random() * 6)
  const router = new graphRuntime.GraphRoutingAgent(ctx, {
    provider: 'fuzz',
    model: 'm',
    maxRetries,
    repair: random() < 0.5,
    stopOnRepeat: random() < 0.3,
    multiple: pick(random, ['first', 'reject'] as const),
    history: random() < 0.5 ? [] : many(random, 8, () => message(random)),
  })
  try {
    const outcome = await router.route({ input: 'route this' })
    const fault = outcomeFault(outcome, model.requests.length)
    if (fault !== undefined) return fault
  } catch (error) {
    const code: unknown = Reflect.get(Object(error) as object, 'code')
    if (!EXPECTED.has(String(code))) return String(error)
  } finally {
    release?.()
    await listeners.dispose()
  }
  if (model.requests.length > maxRetries + 1) return `${model.requests.length} model calls`
  return intruders.length > 0 ? `a graph got ${JSON.stringify(intruders.splice(0))}` : undefined
}

export async function run(options: { runs: number; seed: number }): Promise<FuzzSummary> {
  const bench = await openBench()
  const failures: FuzzSummary['failures'] = []
  try {
    for (let i = 0; i < options.runs; i++) {
      const text = await routeOnce(bench, options.seed + i)
      if (text !== undefined) failures.push({ seed: options.seed + i, text: text.slice(0, 500) })
    }
  } finally {
    await bench.ctx.fiber.dispose()
  }
  return { target: 'graph-runtime/routing', runs: options.runs, failed: failures.length, failures }
}
