/**
 * Every hook on every path a turn can take, counted in a real DSH loop. The table is written by hand from
 * what the README says; a number that changes here changes a promise.
 */
import { describe, expect, it } from 'vitest'
import type { StepSource } from 'dsh-llm-scripted'
import { settleDown, until } from '../support/until.ts'
import { temporaryFolder, typed } from '../support/world.ts'
import { ALL_HOOKS, bootHookWorld, type HookWorld } from './support/hook-world.ts'

type Path =
  | 'ok'
  | 'person'
  | 'error'
  | 'abort'
  | 'person stop'
  | 'timeout'
  | 'tool error'
  | 'compaction retry'
  | 'failed compaction'
  | 'retry'
  | 'resume'
  | 'shutdown'

const PATHS: readonly Path[] = [
  'ok',
  'person',
  'error',
  'abort',
  'person stop',
  'timeout',
  'tool error',
  'compaction retry',
  'failed compaction',
  'retry',
  'resume',
  'shutdown',
]

/** Calls by hook, in the order of PATHS. Each path ends with the shutdown of the process. */
const EXPECTED: Readonly<Record<string, readonly number[]>> = {
  //                     ok prs err abt stp tmo tle cmp fcm rty res sht
  gateway_start: /*   */ [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  session_start: /*   */ [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  message_received: /**/ [1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1],
  before_model_resolve: [1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1],
  'agent:bootstrap': /**/ [1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1],
  before_prompt_build: /**/ [1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1],
  before_agent_start: /**/ [1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1],
  before_compaction: /**/ [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0],
  after_compaction: /**/ [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0],
  before_tool_call: /**/ [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
  tool_result_persist: /**/ [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
  after_tool_call: /**/ [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
  agent_end: /*     */ [1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1],
  message_sending: /**/ [1, 1, 0, 0, 0, 0, 1, 2, 1, 1, 1, 0],
  message_sent: /*  */ [1, 1, 0, 0, 0, 0, 1, 2, 1, 1, 1, 0],
  'command:new': /* */ [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  'command:reset': /**/ [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  'command:stop': /**/ [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0],
  session_end: /*   */ [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  gateway_stop: /*  */ [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
}

/** How the turns of each path end, in order. */
const ENDINGS: Readonly<Record<Path, readonly string[]>> = {
  ok: ['completed'],
  person: ['completed'],
  error: ['error'],
  abort: ['aborted'],
  'person stop': ['aborted'],
  timeout: ['aborted'],
  'tool error': ['completed'],
  'compaction retry': ['completed', 'completed'],
  'failed compaction': ['completed', 'error'],
  retry: ['completed'],
  resume: ['completed'],
  shutdown: ['aborted'],
}

const CALL: StepSource = { toolCalls: [{ name: 'count', arguments: { text: 'one two' } }] }
const HANG: StepSource = { fault: { hang: true } }
const LONG = 'a long story '.repeat(2_000)
const OVERFLOW: StepSource = { fault: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too much' } }

const STEPS: Readonly<Record<Path, readonly StepSource[]>> = {
  ok: [CALL, { text: 'two words' }],
  person: [CALL, { text: 'two words' }],
  error: [{ fault: { code: 'QUOTA', message: 'no more' } }],
  abort: [HANG],
  'person stop': [HANG],
  timeout: [HANG],
  'tool error': [{ toolCalls: [{ name: 'nowhere', arguments: {} }] }, { text: 'sorry' }],
  'compaction retry': [{ text: 'fine' }, OVERFLOW, { text: 'short now' }],
  'failed compaction': [{ text: 'fine' }, OVERFLOW],
  retry: [{ fault: { code: 'FLAKY', message: 'again' } }, { text: 'now' }],
  resume: [{ text: 'after the restart' }],
  shutdown: [HANG],
}

/** Boots a world, takes one session down the path, and shuts the process down. */
async function walk(path: Path): Promise<HookWorld> {
  if (path === 'resume') return await walkResumed()
  const hooked = await bootHookWorld({ steps: STEPS[path] })
  const { world, ctx, recorder } = hooked
  const agent = await hooked.createAgent('s')
  const isUnderWay = (): boolean => agent.session.events.some(({ type }) => type === 'request/header')
  switch (path) {
    case 'person':
      agent.followup(typed('how many'))
      await agent.whenIdle()
      break
    case 'abort': {
      const runId = await world.accept('s', 'how many')
      await until(isUnderWay)
      await world.host.abort({ runId })
      await world.host.wait({ runId })
      break
    }
    case 'person stop':
      await world.accept('s', 'how many')
      await until(isUnderWay)
      agent.cancel({ kind: 'user' }, { keepInbox: true })
      break
    case 'timeout': {
      const runId = await world.accept('s', 'how many', { timeoutMs: 5_000 })
      await until(isUnderWay)
      world.clock.advance(5_000)
      await world.host.wait({ runId })
      break
    }
    case 'compaction retry':
    case 'failed compaction': {
      const story = path === 'compaction retry' ? LONG : 'hi'
      const first = await world.accept('s', story, { idempotencyKey: 'first' })
      await world.host.wait({ runId: first })
      await world.host.wait({ runId: await world.accept('s', 'go on') })
      break
    }
    case 'retry':
      ctx.on('agent/request-error', async ({ failure }, next) =>
        failure.code === 'FLAKY' ? { kind: 'retry' } : await next(),
      )
      await world.host.wait({ runId: await world.accept('s', 'how many') })
      break
    case 'shutdown':
      await world.accept('s', 'how many')
      await until(isUnderWay)
      break
    default:
      await world.host.wait({ runId: await world.accept('s', 'how many') })
  }
  if (path !== 'shutdown') {
    await agent.whenIdle()
    await until(() => recorder.count('agent_end') >= (EXPECTED['agent_end']?.[PATHS.indexOf(path)] ?? 0))
  }
  await settleDown()
  await ctx.fiber.dispose()
  return hooked
}

/** The process is killed while one run is at the model and another waits; the other runs in the next. */
async function walkResumed(): Promise<HookWorld> {
  const sessions = await temporaryFolder()
  const before = await bootHookWorld({ steps: [HANG], sessions })
  const agent = await before.createAgent('s')
  await before.world.accept('s', 'cut off')
  await until(() => agent.session.events.some(({ type }) => type === 'request/header'))
  const runId = await before.world.accept('s', 'still to come')
  await before.ctx.sessions.flush(agent.session)
  const after = await bootHookWorld({ steps: STEPS.resume, ...(await before.world.remains()) })
  await after.ctx.agents.resume({
    resumeSessionId: agent.id,
    agentOptions: { provider: 'scripted', model: 'm' },
  })
  await after.world.host.wait({ runId })
  await settleDown()
  await after.ctx.fiber.dispose()
  return after
}

describe('hooks on every path', () => {
  it('have a number for each hook and path', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual([...ALL_HOOKS].sort())
    for (const numbers of Object.values(EXPECTED)) expect(numbers).toHaveLength(PATHS.length)
  })

  it.each(PATHS.map((path, index) => ({ path, index })))(
    'fire as often as the table says on: $path',
    async ({ path, index }) => {
      const { recorder } = await walk(path)
      const expected = Object.fromEntries(
        Object.entries(EXPECTED).map(([hook, numbers]) => [hook, numbers[index]]),
      )
      expect(recorder.counts).toEqual(expected)
      expect(recorder.of('agent_end').map(({ reason }) => reason)).toEqual(ENDINGS[path])
    },
  )
})

describe('the order of hooks', () => {
  it('is that of the turn, also between those that wait and those that only observe', async () => {
    const { recorder } = await walk('ok')
    expect(recorder.order.filter((hook) => hook !== 'gateway_start')).toEqual([
      'session_start',
      'message_received',
      'before_model_resolve',
      'agent:bootstrap',
      'before_prompt_build',
      'before_agent_start',
      'before_tool_call',
      'tool_result_persist',
      'after_tool_call',
      'agent_end',
      'message_sending',
      'message_sent',
      'session_end',
      'gateway_stop',
    ])
  })
})
