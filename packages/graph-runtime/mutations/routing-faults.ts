/** Faults in what the router does about the faults of providers that were reported in public. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    requirement: '4.7 row 52',
    file: 'routing-arguments.ts',
    search: ' || reader.hasParameter(key)) return undefined',
    replace: ') return undefined',
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 53',
    file: 'routing-arguments.ts',
    search: "const blank = text.trim() === ''",
    replace: "const blank = text === ''",
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 55',
    file: 'routing-round.ts',
    search: 'const told = repeated ? `${reason} (${SAME_AGAIN})` : reason',
    replace: 'const told = reason',
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 56',
    file: 'routing-model.ts',
    search: 'return answerOf(assembler, reason.kind, end?.replayState)',
    replace:
      "if (reason.kind === 'tool-calls' && assembler.blocks().length === 0) return callModel(llm, request)\n  return answerOf(assembler, reason.kind, end?.replayState)",
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 58',
    file: 'routing-round.ts',
    search: 'tools: toolSchemas(entries),',
    replace: "tools: toolSchemas(entries), ...{ toolChoice: 'required' },",
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 59',
    file: 'routing-transcript.ts',
    search: 'for (const [position, { id }] of calls.entries()) {',
    replace: 'for (const [position, { id }] of calls.slice(0, 1).entries()) {',
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 61',
    file: 'routing-round.ts',
    search: 'finish: answer.finish,',
    replace: "finish: '',",
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 62',
    file: 'routing-arguments.ts',
    search: 'return { fault: clip(messageOf(error)) }',
    replace: 'throw error',
    spec: 'routing-faults.spec.ts',
  },
  {
    requirement: '4.7 row 64',
    file: 'routing-execution.ts',
    search: "if (codeOf(error) !== 'INVALID_ARGS') return undefined",
    replace: 'return undefined',
    spec: 'routing-faults.spec.ts',
  },
]
