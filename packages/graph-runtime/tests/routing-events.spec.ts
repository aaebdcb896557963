import type { Context } from '@deepseek-ai/cordis'
import { createScope } from '@deepseek-ai/dsh-scope'
import { describe, expect, it, vi } from 'vitest'
import {
  GraphRoutingAgent,
  GraphRoutingError,
  type GraphToolsExecution,
  type GraphToolsOutcome,
  type GraphToolsPostDecision,
  type GraphToolsPreDecision,
} from '../src/index.ts'
import { createAgent } from './host.ts'
import { bootRouting, bootRoutingAgents, bootTwo, calls, failureOf } from './routing-host.ts'

const PRE = 'graphTools/pre-execute'
const POST = 'graphTools/post-execute'
const good = calls('echo_graph', { topic: 'moss' })

describe('the two events', () => {
  it('go around every attempt to run a chosen graph, failed ones included (R120)', async () => {
    const host = await bootTwo([
      calls('nope'),
      calls('echo_graph', '{'),
      calls('echo_graph', {}),
      calls('failing'),
    ])
    const failure = new Error('low tide')
    const order: string[] = []
    host.graph({
      name: 'failing',
      build: () => ({ invoke: () => (order.push('graph'), Promise.reject(failure)) }),
    })
    host.ctx.on(PRE, (execution, next) => (order.push(`pre ${execution.tool}`), next()))
    host.ctx.on(POST, (execution, outcome, next) => {
      const code: unknown = 'error' in outcome ? Reflect.get(outcome.error as object, 'code') : 'fine'
      order.push(`post ${execution.tool} ${String(code)}`)
      return next()
    })
    expect(await failureOf(host.router().route({ input: 'x' }))).toBe(failure)
    expect(order).toEqual([
      // Neither an unknown name nor a text that is no JSON is an attempt to run anything.
      'pre echo_graph',
      'post echo_graph INVALID_ARGS',
      'pre failing',
      'graph',
      'post failing undefined',
    ])
  })

  it('share one execution with tool, args, request and signal; each attempt has its own (R121)', async () => {
    const host = await bootTwo([calls('echo_graph', {}), good])
    const before: GraphToolsExecution[] = []
    const after: GraphToolsExecution[] = []
    host.ctx.on(PRE, (execution, next) => (before.push(execution), next()))
    host.ctx.on(POST, (execution, _outcome, next) => (after.push(execution), next()))
    await host.router().route({ input: 'echo moss' })
    expect(before).toHaveLength(2)
    expect(after[0]).toBe(before[0])
    expect(after[1]).toBe(before[1])
    expect(before[1]).not.toBe(before[0])
    expect(before[1]).toEqual({
      tool: 'echo_graph',
      args: { topic: 'moss' },
      request: 'echo moss',
      signal: expect.any(AbortSignal) as AbortSignal,
    })
  })

  it('cannot be used to change what runs, only to keep things between them (R121)', async () => {
    const host = await bootTwo([good])
    host.ctx.on(PRE, (execution, next) => {
      expect(() => Object.assign(execution, { tool: 'search_graph' })).toThrow(TypeError)
      expect(() => Object.assign(execution.args, { topic: 'rock' })).toThrow(TypeError)
      Object.assign(execution, { startedAt: 1 })
      return next()
    })
    host.ctx.on(POST, (execution, _outcome, next) => {
      expect(Reflect.get(execution, 'startedAt')).toBe(1)
      return next()
    })
    expect(await host.router().route({ input: 'x' })).toMatchObject({ result: { input: { topic: 'moss' } } })
  })

  it('have a signal that aborts with the caller’s reason (R121)', async () => {
    const host = await bootTwo([good])
    const controller = new AbortController()
    host.ctx.on(PRE, (execution, next) => {
      controller.abort('enough')
      expect(execution.signal.reason).toBe('enough')
      return next()
    })
    expect(await failureOf(host.router().route({ input: 'x', signal: controller.signal }))).toBe('enough')
  })

  it('ask listeners in order of registration, and the first decision wins (R122)', async () => {
    const host = await bootTwo([good, calls('search_graph')])
    const order: string[] = []
    host.ctx.on(PRE, (_execution, next) => (order.push('first'), next()))
    host.ctx.on(PRE, ({ tool }, next) => {
      order.push('second')
      return tool === 'echo_graph' ? { kind: 'deny', reason: 'not today' } : next()
    })
    host.ctx.on(PRE, (_execution, next) => (order.push('third'), next()))
    host.ctx.on(POST, (_execution, _outcome, next) => (order.push('post first'), next()))
    host.ctx.on(POST, () => (order.push('post second'), { kind: 'accept', result: 'mine' }))
    host.ctx.on(POST, () => (order.push('post third'), { kind: 'accept', result: 'never' }))
    expect(await host.router().route({ input: 'x' })).toMatchObject({ tool: 'search_graph', result: 'mine' })
    expect(order).toEqual(['first', 'second', 'first', 'second', 'third', 'post first', 'post second'])
  })

  it('let an earlier listener overrule what a later one decided (R122)', async () => {
    const host = await bootTwo([good])
    host.ctx.on(PRE, async (_execution, next) => {
      const decision = await next()
      return decision.kind === 'deny' ? { kind: 'allow' } : decision
    })
    host.ctx.on(PRE, () => ({ kind: 'deny', reason: 'no' }))
    expect(await host.router().route({ input: 'x' })).toMatchObject({ tool: 'echo_graph' })
  })

  it('take a second next() for the default decision (R122)', async () => {
    const host = await bootTwo([good])
    host.ctx.on(PRE, async (_execution, next) => (await next(), next()))
    host.ctx.on(POST, async (_execution, _outcome, next) => (await next(), next()))
    expect(await host.router().route({ input: 'x' })).toMatchObject({ tool: 'echo_graph' })
  })

  it('allow and accept when nobody listens (R130)', async () => {
    const host = await bootTwo([good])
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({ result: { ran: 'echo_graph' }, attempts: [{ outcome: 'ran' }] })
  })
})

describe('a gate', () => {
  it('that denies sends the model its reason; the graph does not run and nothing settles (R123)', async () => {
    const host = await bootTwo([calls('guarded'), calls('search_graph')])
    const invoke = vi.fn(async () => 1)
    host.graph({ name: 'guarded', build: () => ({ invoke }) })
    const settled: string[] = []
    host.ctx.on(PRE, ({ tool }, next) =>
      tool === 'guarded' ? { kind: 'deny', reason: '"guarded" is disabled by policy' } : next(),
    )
    host.ctx.on(POST, ({ tool }, _outcome, next) => (settled.push(tool), next()))
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome.attempts[0]).toMatchObject({
      rejection: 'DENIED',
      reason: '"guarded" is disabled by policy',
    })
    expect(host.told(1)).toEqual(['Error: "guarded" is disabled by policy'])
    expect(invoke).not.toHaveBeenCalled()
    expect(settled).toEqual(['search_graph'])
  })

  it('reads to the model like a validate that refuses (R123)', async () => {
    const texts = []
    for (const way of ['validate', 'deny']) {
      const host = await bootRouting([calls('mine'), calls('other')])
      host.graph({ name: 'mine', ...(way === 'validate' ? { validate: () => 'not mine' } : {}) })
      host.graph({ name: 'other' })
      if (way === 'deny') {
        host.ctx.on(PRE, ({ tool }, next) =>
          tool === 'mine' ? { kind: 'deny', reason: 'not mine' } : next(),
        )
      }
      await host.router().route({ input: 'x' })
      texts.push(host.told(1))
    }
    expect(texts[0]).toEqual(['Error: not mine'])
    expect(texts[1]).toEqual(texts[0])
  })

  it('and a block without a reason get one (R123)', async () => {
    const host = await bootTwo([good, good, calls('search_graph')])
    let denied = 0
    host.ctx.on(PRE, (_execution, next) =>
      denied++ === 0 ? ({ kind: 'deny' } as GraphToolsPreDecision) : next(),
    )
    host.ctx.on(POST, ({ tool }, _outcome, next) =>
      tool === 'echo_graph' ? ({ kind: 'block' } as GraphToolsPostDecision) : next(),
    )
    const { attempts } = await host.router().route({ input: 'x' })
    expect(attempts.map(({ reason }) => reason)).toEqual([
      'the call of "echo_graph" was denied',
      expect.stringContaining('the call of "echo_graph" was blocked'),
      undefined,
    ])
  })
})

describe('a verdict', () => {
  it('that blocks sends the model back, after a success and after a failure alike (R124)', async () => {
    const host = await bootTwo([good, calls('failing'), calls('search_graph')])
    host.graph({ name: 'failing', build: () => ({ invoke: () => Promise.reject(new Error('low tide')) }) })
    host.ctx.on(POST, ({ tool }, outcome, next) => {
      if (tool === 'search_graph') return next()
      return { kind: 'block', reason: 'error' in outcome ? 'it broke' : 'too wet' }
    })
    const outcome = await host.router().route({ input: 'x' })
    expect(outcome).toMatchObject({ tool: 'search_graph' })
    expect(outcome.attempts.map(({ rejection }) => rejection)).toEqual(['BLOCKED', 'BLOCKED', undefined])
    expect(host.told(2)).toEqual(['Error: too wet', 'Error: it broke'])
  })

  it('that accepts keeps the outcome; with a result it replaces what the caller gets (R125)', async () => {
    const host = await bootTwo([good, good])
    const seen: GraphToolsOutcome[] = []
    const decisions: GraphToolsPostDecision[] = [{ kind: 'accept' }, { kind: 'accept', result: ['redacted'] }]
    host.ctx.on(POST, async (_execution, outcome, next) => {
      const decision = await next()
      seen.push(outcome)
      return decision
    })
    host.ctx.on(POST, () => decisions.shift() ?? { kind: 'accept' })
    const kept = await host.router().route({ input: 'x' })
    const replaced = await host.router().route({ input: 'x' })
    const original = { ran: 'echo_graph', input: { topic: 'moss' } }
    expect([kept.result, replaced.result]).toEqual([original, ['redacted']])
    expect(seen).toEqual([{ result: original }, { result: original }])
  })

  it('that accepts a failure with a result recovers from it, and null is a result (R125)', async () => {
    const host = await bootTwo([calls('failing'), calls('echo_graph', {})])
    host.graph({ name: 'failing', build: () => ({ invoke: () => Promise.reject(new Error('low tide')) }) })
    host.ctx.on(POST, () => ({ kind: 'accept', result: null }))
    expect(await host.router().route({ input: 'x' })).toMatchObject({ tool: 'failing', result: null })
    expect(await host.router().route({ input: 'x' })).toMatchObject({
      tool: 'echo_graph',
      args: {},
      result: null,
    })
  })

  it('that accepts refused arguments as they are leads to the usual retry (R125)', async () => {
    const host = await bootTwo([calls('echo_graph', {}), good])
    host.ctx.on(POST, () => ({ kind: 'accept' }))
    expect(await host.router().route({ input: 'x' })).toMatchObject({ args: { topic: 'moss' } })
  })

  it('cannot put something in place that is no JSON (R125)', async () => {
    for (const result of [undefined, new Map(), 1n]) {
      const host = await bootTwo([good])
      host.ctx.on(POST, (() => ({ kind: 'accept', result })) as never)
      expect(await failureOf(host.router().route({ input: 'x' }))).toMatchObject({
        code: 'GRAPH_RESULT',
        graph: 'echo_graph',
        message: expect.stringContaining('post-execute listener') as string,
      })
    }
  })

  it('is given an outcome with an error if and only if the run failed (R126)', async () => {
    const failure = new Error('low tide')
    const host = await bootTwo([good, calls('failing'), calls('picky')])
    host.graph({ name: 'failing', build: () => ({ invoke: () => Promise.reject(failure) }) })
    host.graph({ name: 'picky', validate: () => false })
    const seen: GraphToolsOutcome[] = []
    host.ctx.on(POST, (_execution, outcome, next) => (seen.push(outcome), next()))
    const router = host.router({ maxRetries: 0 })
    for (let i = 0; i < 3; i++) await router.route({ input: 'x' }).catch(() => undefined)
    expect(seen.map((outcome) => Object.keys(outcome))).toEqual([['result'], ['error'], ['error']])
    expect(seen[1]).toEqual({ error: failure })
    expect(seen[2]).toMatchObject({ error: { code: 'GRAPH_VALIDATION' } })
    expect(() => Object.assign(seen[0] as object, { result: 1 })).toThrow(TypeError)
  })
})

describe('denials and blocks', () => {
  it('count against maxRetries and end in the standard error with the last reason (R127)', async () => {
    const failure = new Error('low tide')
    const host = await bootTwo((_request, index) => (index === 0 ? good : calls('failing')))
    host.graph({ name: 'failing', build: () => ({ invoke: () => Promise.reject(failure) }) })
    host.ctx.on(PRE, ({ tool }, next) =>
      tool === 'echo_graph' ? { kind: 'deny', reason: 'no echo' } : next(),
    )
    host.ctx.on(POST, () => ({ kind: 'block', reason: 'no failing' }))
    const error = await failureOf(host.router({ maxRetries: 1 }).route({ input: 'x' }))
    expect(error).toBeInstanceOf(GraphRoutingError)
    expect(error).toMatchObject({
      reason: 'no failing',
      cause: failure,
      attempts: [{ rejection: 'DENIED' }, { rejection: 'BLOCKED' }],
    })
    expect(host.requests).toHaveLength(2)
  })
})

describe('a listener', () => {
  it('that throws ends the routing with its error, which is not retried (R128)', async () => {
    for (const event of [PRE, POST] as const) {
      const host = await bootTwo([good])
      const failure = new Error('audit is down')
      host.ctx.on(event, () => {
        throw failure
      })
      expect(await failureOf(host.router().route({ input: 'x' }))).toBe(failure)
      expect(host.requests).toHaveLength(1)
    }
  })

  it('that answers with no decision is told what to answer (R122)', async () => {
    for (const [event, answer, what] of [
      [PRE, undefined, 'undefined'],
      [PRE, { kind: 'ask' }, '{ kind: "ask" }'],
      [PRE, { kind: 'accept' }, '{ kind: "accept" }'],
      [POST, null, 'object'],
      [POST, { kind: 'deny', reason: 'x' }, '{ kind: "deny" }'],
    ] as const) {
      const host = await bootTwo([good])
      host.ctx.on(event, (() => answer) as never)
      const error = await failureOf(host.router().route({ input: 'x' }))
      expect(error).toBeInstanceOf(TypeError)
      expect(Reflect.get(error as object, 'message')).toBe(
        `${event} listener returned ${what}; return next() or a decision`,
      )
    }
  })

  it('goes away with its fiber, and sees the context of the router as this (R129)', async () => {
    const host = await bootTwo(() => good)
    const seen: unknown[] = []
    const fiber = host.ctx.plugin({
      name: 'audit',
      apply(ctx: Context) {
        ctx.on(PRE, function (_execution, next) {
          seen.push(this)
          return next()
        })
        ctx.on(POST, function (_execution, _outcome, next) {
          seen.push(this)
          return next()
        })
      },
    })
    await fiber
    const owner = host.ctx.plugin({ name: 'owner', apply: () => undefined })
    await owner
    const router = new GraphRoutingAgent(owner.ctx, { provider: 'test', model: 'm' })
    await router.route({ input: 'x' })
    expect(seen).toHaveLength(2)
    for (const self of seen) expect(self === owner.ctx).toBe(true)
    await fiber.dispose()
    await router.route({ input: 'x' })
    expect(seen).toHaveLength(2)
  })

  it('of an agent hears of routings for that agent only, a global one of all (R129)', async () => {
    const host = await bootRoutingAgents(() => calls('some'))
    host.graph({ name: 'some' })
    const [mine, other] = [await createAgent(host.ctx), await createAgent(host.ctx)]
    const heard: string[] = []
    host.ctx.on(PRE, (_execution, next) => (heard.push('global'), next()))
    mine.ctx.on(PRE, (_execution, next) => (heard.push('mine'), next()))
    const routed = async (routing: Promise<unknown>) => (await routing, heard.splice(0))
    const router = host.router()
    expect(await routed(router.route({ input: 'x' }))).toEqual(['global'])
    expect(await routed(router.route({ input: 'x', agent: mine }))).toEqual(['global', 'mine'])
    expect(await routed(router.route({ input: 'x', agent: other }))).toEqual(['global'])
    const scoped = new GraphRoutingAgent(mine.ctx, { provider: 'test', model: 'm' })
    expect(await routed(scoped.route({ input: 'x' }))).toEqual(['global', 'mine'])
    const selves: unknown[] = []
    host.ctx.on(POST, function (_execution, _outcome, next) {
      selves.push(this)
      return next()
    })
    await scoped.route({ input: 'x' })
    expect(selves[0] === mine.ctx).toBe(true)
  })

  it('of an enclosing scope hears of those inside (R129)', async () => {
    const host = await bootRouting(() => calls('some'))
    host.graph({ name: 'some' })
    const outer = {}
    const around = createScope(host.ctx, outer)
    const inside = createScope(host.ctx, {}, { parent: outer })
    const heard = vi.fn()
    around.ctx.on(PRE, (_execution, next) => (heard(), next()))
    await new GraphRoutingAgent(inside.ctx, { provider: 'test', model: 'm' }).route({ input: 'x' })
    expect(heard).toHaveBeenCalledTimes(1)
  })
})
