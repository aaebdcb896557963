/** One item of `addWork`: what can be wrong with it by itself, and which of its fields are meant. Pure. */
import type { InferArgs } from '@deepseek-ai/dsh-tools'
import { LIMITS, type JsonValue } from 'dsh-graph-control'
import { idProblem } from './problems.ts'
import type { UPDATE_PARAMETERS } from './schemas.ts'
import type { AddWorkInput } from './types.ts'

export type RawWork = NonNullable<InferArgs<typeof UPDATE_PARAMETERS>['addWork']>[number]

const REQUIRED_IDENTITY = {
  new_agent: undefined,
  new_preset: 'subagentId',
  existing_operator: 'operatorId',
  code_graph: 'graphName',
} as const

const IDENTITIES = ['agentId', 'subagentId', 'operatorId', 'graphName'] as const

/** The kind that each identity is of. */
const KIND_OF = {
  agentId: 'new_agent',
  subagentId: 'new_preset',
  operatorId: 'existing_operator',
  graphName: 'code_graph',
} as const

/** Every problem, each naming the field under `at` and what is allowed. */
export function workProblems(item: RawWork, at: string): string[] {
  return [
    ...lengthProblems(item).map((problem) => `${at}.${problem}`),
    ...inputProblems(item, at),
    ...targetProblems(item, at),
  ]
}

function lengthProblems(item: RawWork): string[] {
  const bounds = [
    ['instruction', item.instruction, LIMITS.instructionChars],
    ['title', item.title, LIMITS.titleChars],
  ] as const
  const problems = bounds.flatMap(([name, text, most]) =>
    text !== undefined && text.length > most
      ? [`${name} has ${text.length} characters; at most ${most}`]
      : [],
  )
  if (item.instruction.trim() === '') problems.push('instruction is empty; say the whole task')
  for (const name of ['workId', 'model', 'effort', ...IDENTITIES] as const) {
    const id = item[name]
    if (id !== undefined) problems.push(...idProblem(name, id))
  }
  if (item.workId !== undefined && ITEM_MARK.test(item.workId))
    problems.push('workId ends like the work of an item (#n): choose another id')
  return [...problems, ...argsProblems(item.args)]
}

/** What deeper arguments would be, nobody reads; the store takes no more levels. */
const ARGS_DEPTH = 60
const ITEM_MARK = /#\d+$/u

function argsProblems(args: unknown): string[] {
  if (isDeeper(args, ARGS_DEPTH)) return [`args is nested deeper than ${ARGS_DEPTH} levels; flatten it`]
  const bytes = argsBytes(args)
  return bytes > LIMITS.argsBytes ? [`args has ${bytes} bytes of JSON; at most ${LIMITS.argsBytes}`] : []
}

/** Bytes of JSON; 0 of what is refused for its depth. */
export function argsBytes(args: unknown): number {
  return args === undefined || isDeeper(args, ARGS_DEPTH) ? 0 : Buffer.byteLength(JSON.stringify(args))
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}

function inputProblems({ inputIds = [], selectedResultInputs = [], forEach }: RawWork, at: string): string[] {
  const problems: string[] = []
  const count = inputIds.length + selectedResultInputs.length
  if (count > LIMITS.inputIds) problems.push(`${at} has ${count} inputs; at most ${LIMITS.inputIds}`)
  const twice = inputIds.filter((id, index) => inputIds.indexOf(id) !== index)
  if (twice.length > 0) problems.push(`${at}.inputIds names ${[...new Set(twice)].join(', ')} twice`)
  const both = selectedResultInputs.map((selected) => selected.resultId).filter((id) => inputIds.includes(id))
  if (both.length > 0) problems.push(`${at} takes ${both.join(', ')} as a current and as a selected input`)
  if (forEach !== undefined && !inputIds.includes(forEach))
    problems.push(
      `${at}.forEach must be one of its inputIds${inputIds.length === 0 ? '' : `: ${inputIds.join(', ')}`}`,
    )
  return problems
}

function targetProblems(item: RawWork, at: string): string[] {
  const problems: string[] = []
  const { targetKind } = item
  const given = IDENTITIES.filter((name) => item[name] !== undefined)
  const [only] = given
  const needed = targetKind === undefined ? undefined : REQUIRED_IDENTITY[targetKind]
  if (needed !== undefined && item[needed] === undefined)
    problems.push(
      `${at}.targetKind ${targetKind} needs ${needed}${only === undefined ? '' : `; for ${only} set targetKind ${KIND_OF[only]}`}`,
    )
  else if (given.length > 1)
    problems.push(
      `${at} names ${given.length} targets (${given.join(', ')}); set targetKind, or give one of agentId, subagentId, operatorId, graphName`,
    )
  else if (targetKind !== undefined && only !== undefined && KIND_OF[only] !== targetKind)
    problems.push(
      `${at}.targetKind ${targetKind} does not go with ${only}: set targetKind ${KIND_OF[only]}, or leave ${only} out`,
    )
  if (item.args !== undefined && item.graphName === undefined)
    problems.push(`${at}.args are for a code graph: set targetKind code_graph and graphName`)
  if (item.replacementMode === 'replace' && item.replaces === undefined)
    problems.push(
      `${at}.replacementMode replace needs replaces, the id of the work whose place this one takes`,
    )
  return problems
}

/** Keeps the declared fields only: an item of `addWork` may carry fields we do not know. */
export function pickWork(item: RawWork): AddWorkInput {
  const { instruction, inputIds = [], args, selectedResultInputs, when, replay } = item
  const texts = ['workId', 'title', 'agentId', 'subagentId', 'operatorId', 'graphName'] as const
  const choices = ['forEach', 'replaces', 'model', 'effort'] as const
  const given = [...texts, ...choices].flatMap((name) => {
    const value = item[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(given),
    instruction,
    inputIds,
    ...(when === undefined ? {} : { when }),
    ...(replay === undefined ? {} : { replay }),
    ...(args === undefined ? {} : { args: args as JsonValue }),
    ...(selectedResultInputs === undefined ? {} : { selectedResultInputs }),
  }
}
