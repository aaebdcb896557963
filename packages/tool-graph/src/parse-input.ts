/**
 * From an argument object as a model sends it to a checked input: cleaned, typed, bounded. Every
 * problem is named at once; nothing is written before this passed.
 */
import { ToolArgsError, validateArgs, type InferArgs, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { LIMITS } from 'dsh-graph-control'
import { cleanUpdateInput } from './clean-input.ts'
import { AgentGraphError } from './errors.ts'
import { UPDATE_PARAMETERS, VIEW_PARAMETERS, YIELD_PARAMETERS } from './schemas.ts'
import type { AddWorkInput, UpdateInput, ViewInput, YieldInput } from './types.ts'

export const MAX_RESULTS_PER_VIEW = 8

/** Drops what a model sends for "not given", then checks the declared types. */
function typed<const S extends ParameterSchemaSpec>(spec: S, value: unknown): InferArgs<S> {
  const cleaned = cleanUpdateInput(value)
  const violations = validateArgs(spec, cleaned)
  if (violations.length > 0) throw new ToolArgsError(violations)
  return cleaned as InferArgs<S>
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new AgentGraphError('invalid_input', problems.join('; '))
}

export function parseViewInput(value: unknown): ViewInput {
  const input = typed(VIEW_PARAMETERS, value)
  if (input.results !== undefined && input.results.length > MAX_RESULTS_PER_VIEW)
    refuse([`results names ${input.results.length} records; at most ${MAX_RESULTS_PER_VIEW} a call`])
  return input
}

export function parseYieldInput(value: unknown): YieldInput {
  const input = typed(YIELD_PARAMETERS, value)
  if (input.reason !== undefined && input.reason.length > LIMITS.reasonChars)
    refuse([`reason has ${input.reason.length} characters; at most ${LIMITS.reasonChars}`])
  return input
}

function duplicates(ids: readonly string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))]
}

type RawWork = NonNullable<InferArgs<typeof UPDATE_PARAMETERS>['addWork']>[number]

const REQUIRED_IDENTITY = {
  new_agent: undefined,
  new_preset: 'subagentId',
  existing_operator: 'operatorId',
} as const

function workProblems(item: RawWork, at: string): string[] {
  const problems: string[] = []
  const inputIds = item.inputIds ?? []
  const selected = item.selectedResultInputs ?? []
  if (item.instruction.length > LIMITS.instructionChars)
    problems.push(
      `${at}.instruction has ${item.instruction.length} characters; at most ${LIMITS.instructionChars}`,
    )
  if (item.title !== undefined && item.title.length > LIMITS.titleChars)
    problems.push(`${at}.title has ${item.title.length} characters; at most ${LIMITS.titleChars}`)
  if (inputIds.length + selected.length > LIMITS.inputIds)
    problems.push(`${at} has ${inputIds.length + selected.length} inputs; at most ${LIMITS.inputIds}`)
  const twice = duplicates(inputIds)
  if (twice.length > 0) problems.push(`${at}.inputIds names ${twice.join(', ')} twice`)
  const needed = item.targetKind === undefined ? undefined : REQUIRED_IDENTITY[item.targetKind]
  if (needed !== undefined && item[needed] === undefined)
    problems.push(`${at}.targetKind ${item.targetKind} needs ${needed}`)
  const identities = [item.agentId, item.subagentId, item.operatorId].filter((id) => id !== undefined)
  if (identities.length > 1)
    problems.push(
      `${at} names ${identities.length} targets; set targetKind, or give one of agentId, subagentId, operatorId`,
    )
  if (item.replacementMode === 'replace' && item.replaces === undefined)
    problems.push(`${at}.replacementMode replace needs replaces`)
  return problems
}

/** Keeps the declared fields only: an item of `addWork` may carry fields we do not know. */
function pickWork(item: RawWork): AddWorkInput {
  const { workId, title, agentId, subagentId, operatorId, replaces, replay, selectedResultInputs } = item
  return {
    instruction: item.instruction,
    inputIds: item.inputIds ?? [],
    ...(workId === undefined ? {} : { workId }),
    ...(title === undefined ? {} : { title }),
    ...(agentId === undefined ? {} : { agentId }),
    ...(subagentId === undefined ? {} : { subagentId }),
    ...(operatorId === undefined ? {} : { operatorId }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(replay === undefined ? {} : { replay }),
    ...(selectedResultInputs === undefined ? {} : { selectedResultInputs }),
  }
}

export function parseUpdateInput(value: unknown): UpdateInput {
  const {
    operation,
    addWork = [],
    stop = [],
    finish,
    graphId,
    idempotencyKey,
  } = typed(UPDATE_PARAMETERS, value)
  const problems: string[] = []
  if (addWork.length === 0 && stop.length === 0 && finish === undefined)
    problems.push(
      operation === undefined
        ? 'give at least one of addWork, stop, finish'
        : `operation ${operation} needs its payload`,
    )
  if (finish !== undefined && addWork.length > 0)
    problems.push('finish and addWork exclude one another: add the work, and finish when it is done')
  if (addWork.length > LIMITS.addWork)
    problems.push(`addWork has ${addWork.length} works; at most ${LIMITS.addWork}`)
  if (stop.length > LIMITS.stop) problems.push(`stop has ${stop.length} targets; at most ${LIMITS.stop}`)
  addWork.forEach((item, index) => problems.push(...workProblems(item, `addWork[${index}]`)))
  const stopTwice = duplicates(stop.map((item) => item.targetId))
  if (stopTwice.length > 0) problems.push(`stop names ${stopTwice.join(', ')} twice`)
  for (const [at, reason] of [
    ...stop.map((item, index) => [`stop[${index}].reason`, item.reason] as const),
    ...(finish === undefined ? [] : [['finish.reason', finish.reason] as const]),
  ])
    if (reason.length > LIMITS.reasonChars)
      problems.push(`${at} has ${reason.length} characters; at most ${LIMITS.reasonChars}`)
  if (finish !== undefined && finish.resultIds.length > LIMITS.finishResults)
    problems.push(`finish.resultIds has ${finish.resultIds.length} ids; at most ${LIMITS.finishResults}`)
  refuse(problems)
  return {
    addWork: addWork.map(pickWork),
    stop,
    ...(finish === undefined ? {} : { finish: { ...finish, resultIds: [...new Set(finish.resultIds)] } }),
    ...(graphId === undefined ? {} : { graphId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}
