/** Faults of the router’s two events: one or more for each of R120 to R130. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    requirement: 'R120',
    file: 'routing-execution.ts',
    search: 'const verdict = await events.after(execution, run.outcome)',
    replace:
      "const verdict = 'error' in run.outcome ? ({ kind: 'accept' } as const) : await events.after(execution, run.outcome)",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R121',
    file: 'routing-execution.ts',
    search: 'const verdict = await events.after(execution, run.outcome)',
    replace: 'const verdict = await events.after(executionOf(choice), run.outcome)',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R121',
    file: 'routing-execution.ts',
    search: 'args: deepFreeze(args), request, signal }',
    replace: 'args, request, signal }',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R122',
    file: 'routing-events.ts',
    search: "throw noDecision('graphTools/pre-execute', decision)",
    replace: "return { kind: 'allow' }",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R122',
    file: 'routing-events.ts',
    search: "if (kindOf(decision) === 'allow') return { kind: 'allow' }",
    replace: "if (kindOf(decision) !== 'ask') return { kind: 'allow' }",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R123',
    file: 'routing-execution.ts',
    search: "if (gate.kind === 'deny') return { kind: 'rejected', rejection: 'DENIED', reason: gate.reason }",
    replace:
      "if (gate.kind === 'deny') return (await events.after(execution, { error: 1 }), { kind: 'rejected', rejection: 'DENIED', reason: gate.reason })",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R124',
    file: 'routing-execution.ts',
    search: "if (verdict.kind === 'block') {",
    replace: "if (verdict.kind === 'block' && !('error' in run.outcome)) {",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R125',
    file: 'routing-execution.ts',
    search: "if (Object.hasOwn(verdict, 'result')) return",
    replace: 'if (verdict.result) return',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R125',
    file: 'routing-execution.ts',
    search: 'if (lossy === undefined) return result as JsonValue',
    replace: 'if (lossy !== null) return result as JsonValue',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R126',
    file: 'routing-execution.ts',
    search: '?? { outcome: Object.freeze({ error }) }',
    replace: '?? { outcome: Object.freeze({ error, result: null }) }',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R127',
    file: 'routing-round.ts',
    search: 'last = judged.settled',
    replace: "last = judged.settled; if (last.rejection === 'DENIED') call--",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R128',
    file: 'routing-execution.ts',
    search: 'const gate = await events.before(execution)',
    replace:
      "const gate = await events.before(execution).catch(() => ({ kind: 'deny', reason: 'it threw' }) as const)",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R129',
    file: 'routing-events.ts',
    search: '[SHADOW]: { value: ctx },',
    replace: '',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R129',
    file: 'routing-events.ts',
    search: '[Context.filter]: { value: (listener: Context) => admits.call(target, listener) },',
    replace: '[Context.filter]: { value: (listener: Context) => admits !== undefined || listener },',
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R130',
    file: 'routing-events.ts',
    search: "(): GraphToolsPreDecision => ({ kind: 'allow' })",
    replace: "(): GraphToolsPreDecision => ({ kind: 'deny', reason: 'nobody allowed it' })",
    spec: 'routing-events.spec.ts',
  },
  {
    requirement: 'R115',
    file: 'routing-events.ts',
    search:
      "await this.life.outlast(\n      this.ctx.waterfall(this.carrier, 'graphTools/pre-execute', execution, allow),\n    )",
    replace: "await this.ctx.waterfall(this.carrier, 'graphTools/pre-execute', execution, allow)",
    spec: 'left-behind.spec.ts',
  },
  {
    requirement: 'R115',
    file: 'routing-round.ts',
    search: 'await life.outlast(callModel(llm, request))',
    replace: 'await callModel(llm, request)',
    spec: 'left-behind.spec.ts',
  },
]
