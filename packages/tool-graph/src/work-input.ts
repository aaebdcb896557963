/** One item of `addWork`: what can be wrong with it by itself, and which of its fields are meant. Pure. */
import type { InferArgs } from '@deepseek-ai/dsh-tools'
import { LIMITS, type JsonValue } from 'dsh-graph-control'
import type { UPDATE_PARAMETERS } from './schemas.ts'
import type { AddWorkInput } from './types.ts'

export type RawWork = NonNullable<InferArgs<typeof UPDATE_PARAMETERS>['addWork']>[number]

const REQUIRED_IDENTITY = {
  new_agent: undefined,
  new_preset: 'subagentId',
  existing_operator: 'operatorId',
  code_graph: 'graphName',
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
    ['workId', item.workId, LIMITS.idChars],
    ['model', item.model, LIMITS.idChars],
    ['effort', item.effort, LIMITS.idChars],
  ] as const
  const problems = bounds.flatMap(([name, text, most]) =>
    text !== undefined && text.length > most
      ? [`${name} has ${text.length} characters; at most ${most}`]
      : [],
  )
  if (item.instruction.trim() === '') problems.push('instruction is empty; say the whole task')
  const args = item.args === undefined ? 0 : Buffer.byteLength(JSON.stringify(item.args))
  if (args > LIMITS.argsBytes) problems.push(`args has ${args} bytes of JSON; at most ${LIMITS.argsBytes}`)
  return problems
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
  const needed = item.targetKind === undefined ? undefined : REQUIRED_IDENTITY[item.targetKind]
  if (needed !== undefined && item[needed] === undefined)
    problems.push(`${at}.targetKind ${item.targetKind} needs ${needed}`)
  const identities = [item.agentId, item.subagentId, item.operatorId, item.graphName].filter(
    (id) => id !== undefined,
  )
  if (identities.length > 1)
    problems.push(
      `${at} names ${identities.length} targets; set targetKind, or give one of agentId, subagentId, operatorId, graphName`,
    )
  if (item.args !== undefined && item.graphName === undefined)
    problems.push(`${at}.args are for a code graph: set targetKind code_graph and graphName`)
  if (item.replacementMode === 'replace' && item.replaces === undefined)
    problems.push(`${at}.replacementMode replace needs replaces`)
  return problems
}

/** Keeps the declared fields only: an item of `addWork` may carry fields we do not know. */
export function pickWork(item: RawWork): AddWorkInput {
  const { instruction, inputIds = [], args, selectedResultInputs, when, replay } = item
  const texts = ['workId', 'title', 'agentId', 'subagentId', 'operatorId', 'graphName'] as const
  const choices = ['forEach', 'replaces', 'model', 'effort'] as const
  const given = [...texts, ...choices].flatMap((name) => {
    const value = item[name]
    return value === undefined ? [] : [[name, value.trim()] as const]
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
