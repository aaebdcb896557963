/**
 * From an argument object as a model sends it to a checked input: cleaned, typed, bounded. Every
 * problem is named at once; nothing is written before this passed.
 */
import { ToolArgsError, validateArgs, type InferArgs, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { LIMITS } from 'dsh-graph-control'
import { cleanFlat, cleanUpdate } from './clean-input.ts'
import { AgentGraphError } from './errors.ts'
import { UPDATE_PARAMETERS, VIEW_PARAMETERS, YIELD_PARAMETERS } from './schemas.ts'
import type { UpdateInput, ViewInput, YieldInput } from './types.ts'
import { pickWork, workProblems } from './work-input.ts'

export const MAX_RESULTS_PER_VIEW = 8

function typed<const S extends ParameterSchemaSpec>(spec: S, cleaned: unknown): InferArgs<S> {
  const violations = validateArgs(spec, cleaned)
  if (violations.length > 0) throw new ToolArgsError(violations)
  return cleaned as InferArgs<S>
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new AgentGraphError('invalid_input', problems.join('; '))
}

export function parseViewInput(value: unknown): ViewInput {
  const input = typed(VIEW_PARAMETERS, cleanFlat(value, Object.keys(VIEW_PARAMETERS)))
  const problems: string[] = []
  const { results = [], since, cursor } = input
  if (results.length > MAX_RESULTS_PER_VIEW)
    problems.push(`results names ${results.length} records; at most ${MAX_RESULTS_PER_VIEW} a call`)
  if (since !== undefined && since < 0) problems.push('since must be the seq of an earlier view')
  if (since !== undefined && cursor !== undefined)
    problems.push('since and cursor exclude one another: leave one out')
  refuse(problems)
  return input
}

export function parseYieldInput(value: unknown): YieldInput {
  const input = typed(YIELD_PARAMETERS, cleanFlat(value, Object.keys(YIELD_PARAMETERS)))
  if (input.reason !== undefined && input.reason.length > LIMITS.reasonChars)
    refuse([`reason has ${input.reason.length} characters; at most ${LIMITS.reasonChars}`])
  return input
}

function duplicates(ids: readonly string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))]
}

type RawUpdate = InferArgs<typeof UPDATE_PARAMETERS>

function payloadProblems({
  operation,
  addWork = [],
  stop = [],
  retry = [],
  finish,
  draft,
}: RawUpdate): string[] {
  const problems: string[] = []
  const payloads = {
    add_work: addWork.length > 0,
    stop: stop.length > 0,
    retry: retry.length > 0,
    finish: finish !== undefined,
  }
  if (operation !== undefined && !payloads[operation]) {
    problems.push(`operation ${operation} needs its payload, which is missing`)
  } else if (!Object.values(payloads).some(Boolean) && draft !== 'commit') {
    problems.push('give at least one of addWork, stop, retry, finish, or draft: commit')
  }
  if (payloads.finish && (payloads.add_work || payloads.retry))
    problems.push('finish excludes addWork and retry: let the work end, and finish then')
  if (draft === 'open' && !payloads.add_work) problems.push('draft open needs addWork')
  return problems
}

function boundProblems({ addWork = [], stop = [], retry = [], finish }: RawUpdate): string[] {
  const problems: string[] = []
  const bounds = [
    ['addWork', addWork.length, LIMITS.addWork, 'works'],
    ['stop', stop.length, LIMITS.stop, 'targets'],
    ['retry', retry.length, LIMITS.retry, 'works'],
    ['finish.resultIds', finish?.resultIds.length ?? 0, LIMITS.finishResults, 'ids'],
  ] as const
  for (const [at, count, most, what] of bounds)
    if (count > most) problems.push(`${at} has ${count} ${what}; at most ${most}`)
  const twice = {
    stop: duplicates(stop.map((item) => item.targetId)),
    retry: duplicates(retry.map((item) => item.workId)),
    addWork: duplicates(addWork.flatMap((item) => item.workId ?? [])),
  }
  for (const [at, ids] of Object.entries(twice))
    if (ids.length > 0) problems.push(`${at} names ${ids.join(', ')} twice`)
  const reasons = [
    ...stop.map((item, index) => [`stop[${index}].reason`, item.reason] as const),
    ...retry.map((item, index) => [`retry[${index}].reason`, item.reason] as const),
    ...(finish === undefined ? [] : [['finish.reason', finish.reason] as const]),
  ]
  for (const [at, reason] of reasons) {
    if (reason.trim() === '') problems.push(`${at} is empty; say why in a few words`)
    if (reason.length > LIMITS.reasonChars)
      problems.push(`${at} has ${reason.length} characters; at most ${LIMITS.reasonChars}`)
  }
  return problems
}

export function parseUpdateInput(value: unknown): UpdateInput {
  const { input, adjusted } = cleanUpdate(value)
  const raw = typed(UPDATE_PARAMETERS, input)
  const { addWork = [], stop = [], retry = [], finish, graphId, draft, idempotencyKey } = raw
  refuse([
    ...payloadProblems(raw),
    ...boundProblems(raw),
    ...addWork.flatMap((item, index) => workProblems(item, `addWork[${index}]`)),
  ])
  return {
    addWork: addWork.map(pickWork),
    stop,
    ...(retry.length === 0 ? {} : { retry }),
    ...(finish === undefined ? {} : { finish: { ...finish, resultIds: [...new Set(finish.resultIds)] } }),
    ...(graphId === undefined ? {} : { graphId }),
    ...(draft === undefined ? {} : { draft }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(adjusted.length === 0 ? {} : { adjusted }),
  }
}
