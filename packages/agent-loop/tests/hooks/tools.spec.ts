import { createHash } from 'node:crypto'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { scopeTarget } from '@deepseek-ai/dsh-scope'
import type { StepSource } from 'dsh-llm-scripted'
import { describe, expect, it } from 'vitest'
import { faultyLog } from '../support/faulty-log.ts'
import { settleDown } from '../support/until.ts'
import { typed } from '../support/world.ts'
import {
  bootHookWorld,
  listen,
  resultTexts,
  type HookFunction,
  type HookWorld,
} from './support/hook-world.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const CALL: readonly StepSource[] = [
  { toolCalls: [{ name: 'count', arguments: { text: 'a b' } }] },
  { text: 'done' },
]

interface Case {
  readonly steps?: readonly StepSource[]
  readonly options?: Parameters<typeof bootHookWorld>[0]
  readonly plugins: Readonly<Record<string, (hook: HookFunction) => void>>
}

/** One turn with the given plugins loaded. */
async function play({ steps = CALL, options, plugins }: Case): Promise<{ hooked: HookWorld; agent: Agent }> {
  const hooked = await bootHookWorld({ steps, ...options })
  for (const [name, register] of Object.entries(plugins)) await listen(hooked.ctx, name, register)
  const agent = await hooked.createAgent('s')
  agent.followup(typed('go'))
  await agent.whenIdle()
  await settleDown()
  return { hooked, agent }
}

describe('before_tool_call', () => {
  it('blocks a call with its reason, and nobody is asked after that', async () => {
    const asked: string[] = []
    const { hooked, agent } = await play({
      plugins: {
        guard: (hook) => {
          hook(
            'before_tool_call',
            () => {
              asked.push('guard')
              return { block: true, blockReason: 'not on a Sunday' }
            },
            { priority: 1 },
          )
        },
        other: (hook) => void hook('before_tool_call', () => void asked.push('other')),
      },
    })
    expect(asked).toEqual(['guard'])
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)).toEqual(['[{"type":"text","text":"Error: not on a Sunday"}]'])
    expect(hooked.recorder.of('after_tool_call')[0]).toMatchObject({ error: 'not on a Sunday' })
  })

  it('changes the arguments one after the other, and both digests are recorded before the call', async () => {
    const recorded: unknown[] = []
    const { hooked } = await play({
      plugins: {
        first: (hook) => {
          hook('before_tool_call', ({ params }) => ({ params: { ...(params as object), n: 1 } }), {
            priority: 1,
          })
        },
        second: (hook) => {
          hook('before_tool_call', ({ params, earlier }) => {
            recorded.push(params, earlier)
            return { params: { ...(params as object), m: 2 } }
          })
        },
      },
    })
    const rewritten = {
      before: sha256('{"text":"a b"}'),
      after: sha256('{"m":2,"n":1,"text":"a b"}'),
    }
    expect(recorded).toEqual([{ text: 'a b', n: 1 }, { params: { text: 'a b', n: 1 } }])
    expect(hooked.toolCalls).toEqual([{ text: 'a b', n: 1, m: 2 }])
    expect(hooked.recorder.of('after_tool_call')[0]).toMatchObject({
      params: { text: 'a b', n: 1, m: 2 },
      rewritten,
    })
    const entries = await hooked.world.log.read('hook/s')
    expect(entries).toHaveLength(1)
    expect(entries[0]).toMatchObject({
      type: 'tool/rewritten',
      data: { v: 1, tool: 'count', plugins: ['first', 'second'], turn: 1, ...rewritten },
    })
  })

  it('shows changed arguments to the policies of DSH', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    const seen: unknown[] = []
    hooked.ctx.on('tools/pre-execute', async (exec, next) => {
      seen.push(exec.arguments)
      return await next()
    })
    await listen(hooked.ctx, 'rewriter', (hook) => {
      hook('before_tool_call', () => ({ params: { text: 'new' } }))
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    expect(seen).toEqual([{ text: 'new' }])
  })

  it('denies the call when the change cannot be recorded', async () => {
    const faulty = faultyLog()
    const hooked = await bootHookWorld({ steps: CALL, log: faulty.log })
    await listen(hooked.ctx, 'rewriter', (hook) => {
      hook('before_tool_call', () => {
        faulty.failNext(1, 'before')
        return { params: { text: 'new' } }
      })
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('could not be recorded')
  })

  it('denies the call with a reason where the host keeps arguments fixed', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    // Such a host freezes the call before any policy sees it.
    hooked.ctx.on(
      'tools/pre-execute',
      async (exec, next) => {
        Object.freeze(exec)
        return await next()
      },
      { prepend: true },
    )
    await listen(hooked.ctx, 'rewriter', (hook) => {
      hook('before_tool_call', () => ({ params: { text: 'new' } }))
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toMatch(/\\"rewriter\\" may not change the arguments: this version of DSH/)
  })

  it('denies the call where the host takes other arguments and forgets them', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    hooked.ctx.on(
      'tools/pre-execute',
      async (exec, next) => {
        const { arguments: own } = exec
        // A host that takes the assignment and does nothing with it.
        Object.defineProperty(exec, 'arguments', { get: () => own, set: () => {} })
        return await next()
      },
      { prepend: true },
    )
    await listen(hooked.ctx, 'rewriter', (hook) => {
      hook('before_tool_call', () => ({ params: { text: 'new' } }))
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('this version of DSH')
  })

  it('denies arguments that are no JSON, and those that need the call to run alone', async () => {
    const shared: readonly StepSource[] = [
      {
        toolCalls: [
          { name: 'shared', arguments: { n: 1 } },
          { name: 'shared', arguments: { n: 2 } },
        ],
      },
      { text: 'done' },
    ]
    const { hooked, agent } = await play({
      steps: shared,
      plugins: {
        rewriter: (hook) => {
          hook('before_tool_call', ({ params }) =>
            (params as { n: number }).n === 1 ? { params: { write: true } } : { params: { at: new Date() } },
          )
        },
      },
    })
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('may not run beside others')
    expect(resultTexts(agent)[1]).toContain('no lossless JSON')
  })

  it('asks a person, and never lifts what others refuse', async () => {
    const hooked = await bootHookWorld({ steps: [...CALL, ...CALL] })
    const asked: unknown[] = []
    hooked.ctx.provide('approval', {
      request: async ({ reason }: { reason: string }) => {
        asked.push(reason)
        return 'allowed-once'
      },
    })
    await listen(hooked.ctx, 'careful', (hook) => {
      hook('before_tool_call', () => ({ requireApproval: { title: 'Count?', description: 'It takes long' } }))
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    expect(asked).toEqual(['Count?: It takes long'])
    expect(hooked.toolCalls).toHaveLength(1)
    hooked.ctx.on('tools/pre-execute', async () => ({ kind: 'deny', reason: 'never' }))
    agent.followup(typed('again'))
    await agent.whenIdle()
    expect(asked).toHaveLength(1)
    expect(resultTexts(agent)[1]).toContain('never')
  })

  it('is refused when a person has to be asked and nobody can', async () => {
    const { hooked, agent } = await play({
      plugins: {
        careful: (hook) => void hook('before_tool_call', () => ({ requireApproval: { title: 'Count?' } })),
      },
    })
    expect(hooked.toolCalls).toEqual([])
    expect(resultTexts(agent)[0]).toContain('Count?')
  })

  it('leaves the error of a policy of DSH as it is', async () => {
    const hooked = await bootHookWorld({ steps: CALL })
    hooked.ctx.on('tools/pre-execute', async () => {
      throw new Error('policy is broken')
    })
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    expect(resultTexts(agent)[0]).toContain('policy is broken')
    expect(hooked.recorder.of('after_tool_call')[0]).toMatchObject({ error: 'policy is broken' })
  })

  it('fires for a call that belongs to no agent', async () => {
    const hooked = await bootHookWorld()
    const { tools } = hooked.ctx
    const result = await tools.execute({
      callId: 'c1' as never,
      name: 'count',
      arguments: { text: 'a' },
      signal: new AbortController().signal,
    })
    await settleDown()
    expect(result.isError).toBe(false)
    const [event] = hooked.recorder.of('before_tool_call')
    expect(event).toEqual({
      toolName: 'count',
      toolCallId: 'c1',
      isNested: false,
      params: { text: 'a' },
      earlier: {},
    })
  })
})

describe('after_tool_call', () => {
  it('tells the result, how long it took and where', async () => {
    const { hooked } = await play({ plugins: {} })
    expect(hooked.recorder.of('after_tool_call')).toEqual([
      {
        sessionId: 's',
        isSubagent: false,
        turn: 1,
        attempt: 1,
        toolName: 'count',
        toolCallId: expect.any(String),
        isNested: false,
        params: { text: 'a b' },
        result: { content: [expect.objectContaining({ type: 'text' })], isError: false },
        durationMs: 0,
      },
    ])
  })

  it('tells the attempt of the turn, which a retried model request has moved on', async () => {
    const hooked = await bootHookWorld({
      steps: [{ fault: { code: 'FLAKY', message: 'again' } }, ...CALL],
    })
    hooked.ctx.on('agent/request-error', async () => ({ kind: 'retry' }))
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    await settleDown()
    for (const hook of ['before_tool_call', 'after_tool_call', 'tool_result_persist', 'agent_end'] as const) {
      expect(hooked.recorder.of(hook).map(({ attempt }) => attempt)).toEqual([2])
    }
  })
})

describe('tool_result_persist', () => {
  const redact = (hook: HookFunction): void => {
    hook(
      'tool_result_persist',
      ({ message }) => ({
        message: {
          ...message,
          content: message.content.map((block) =>
            block.type === 'text' ? { ...block, text: block.text.replaceAll('hunter2', '***') } : block,
          ),
        },
      }),
      { priority: 1 },
    )
  }

  it('changes what is written and what the model sees, one handler after the other', async () => {
    const seen: string[] = []
    const { hooked, agent } = await play({
      plugins: {
        redactor: redact,
        reader: (hook) => {
          hook('tool_result_persist', ({ message, toolName }) => {
            seen.push(`${toolName}: ${JSON.stringify(message.content)}`)
          })
        },
      },
    })
    expect(seen[0]).toMatch(/^count: .*\*\*\*/)
    expect(JSON.stringify(agent.session.events)).not.toContain('hunter2')
    expect(JSON.stringify(hooked.recorder.of('after_tool_call'))).not.toContain('hunter2')
  })

  it('has the last word over what other listeners make of a result', async () => {
    const hooked = await bootHookWorld({ steps: [...CALL, ...CALL, ...CALL] })
    let decision: () => object = () => ({ kind: 'accept', value: { words: 0, secret: 'hunter2 again' } })
    hooked.ctx.on('tools/post-execute', async () => decision() as never)
    await listen(hooked.ctx, 'redactor', redact)
    const agent = await hooked.createAgent('s')
    agent.followup(typed('go'))
    await agent.whenIdle()
    decision = () => ({ kind: 'block', feedback: [{ type: 'text', text: 'because of hunter2' }] })
    agent.followup(typed('again'))
    await agent.whenIdle()
    expect(resultTexts(agent)[1]).toContain('because of ***')
    decision = () => ({ kind: 'accept', content: [{ type: 'text', text: 'hunter2 in other words' }] })
    agent.followup(typed('once more'))
    await agent.whenIdle()
    expect(resultTexts(agent)[2]).toContain('*** in other words')
    expect(JSON.stringify(agent.session.events)).not.toContain('hunter2')
  })

  it('changes the logged copy of what a program of the model called, not what the program gets', async () => {
    const hooked = await bootHookWorld()
    await listen(hooked.ctx, 'redactor', redact)
    const { tools } = hooked.ctx
    const call = {
      callId: 'outer:code:1' as never,
      name: 'count',
      arguments: { text: 'a' },
      parent: Symbol('outer') as never,
      signal: new AbortController().signal,
    }
    const result = await tools.execute(call)
    await settleDown()
    expect(JSON.stringify(result)).toContain('hunter2')
    expect(hooked.recorder.count('tool_result_persist')).toBe(0)
    expect(hooked.recorder.of('after_tool_call')[0]).toMatchObject({ isNested: true })
    const dispatch = { exec: call as never, subCallId: call.callId, name: 'count', isError: false }
    const { content } = result
    const logged = await hooked.ctx.waterfall(
      scopeTarget(tools, undefined),
      'tools/code-dispatch-log',
      { ...dispatch, content },
      () => Promise.resolve(content),
    )
    expect(JSON.stringify(logged)).not.toContain('hunter2')
    expect(hooked.recorder.of('tool_result_persist')[0]).toMatchObject({ isNested: true, toolName: 'count' })
  })

  it('refuses an answer that is no message', async () => {
    const { hooked, agent } = await play({
      plugins: {
        odd: (hook) => {
          hook('tool_result_persist', () => ({ message: { content: 'text' } }) as never)
        },
      },
    })
    expect(resultTexts(agent)[0]).toContain('hunter2')
    expect(hooked.warnings[0]).toContain('tool_result_persist of plugin "odd" failed')
  })
})
