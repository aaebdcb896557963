/**
 * From an argument object as a model sends it to a checked input: cleaned, typed, bounded. Every
 * problem is named at once; nothing is written before this passed.
 */
import type { InferArgs } from '@deepseek-ai/dsh-tools'
import { LIMITS } from 'dsh-graph-control'
import { cleanArguments, cleanUpdate } from './clean-input.ts'
import { idProblem, refuse, requireTyped } from './problems.ts'
import { UPDATE_PARAMETERS, VIEW_PARAMETERS, YIELD_PARAMETERS } from './schemas.ts'
import type { UpdateInput, ViewInput, YieldInput } from './types.ts'
import { argsBytes, pickWork, workProblems } from './work-input.ts'

export const MAX_RESULTS_PER_VIEW = 8
/** What one update may bring; an entry of the log holds 4 MiB. */
const UPDATE_BYTES = 4_000_000

function withAdjusted<T extends object>(
  input: T,
  adjusted: readonly string[],
): T & { adjusted?: readonly string[] } {
  return adjusted.length === 0 ? input : { ...input, adjusted }
}

export function parseViewInput(value: unknown): ViewInput {
  const { input, adjusted, unknown } = cleanArguments(VIEW_PARAMETERS, value)
  const view = requireTyped(VIEW_PARAMETERS, input, unknown)
  const problems: string[] = []
  const { results: names = [], since, cursor } = view
  if (names.length > MAX_RESULTS_PER_VIEW)
    problems.push(`results names ${names.length} records; at most ${MAX_RESULTS_PER_VIEW} a call`)
  if (since !== undefined && since < 0) problems.push('since must be the seq of an earlier view')
  if (since !== undefined && cursor !== undefined)
    problems.push('since and cursor exclude one another: leave one out')
  if (names.length > 0 && (since !== undefined || cursor !== undefined))
    problems.push('results is a question of its own: leave since and cursor out')
  refuse([...problems, ...idProblems({ graphId: view.graphId, cursor })])
  return withAdjusted(view, adjusted)
}

export function parseYieldInput(value: unknown): YieldInput {
  const { input, adjusted, unknown } = cleanArguments(YIELD_PARAMETERS, value)
  const wait = requireTyped(YIELD_PARAMETERS, input, unknown)
  const problems = idProblems({ graphId: wait.graphId })
  if (wait.reason !== undefined && wait.reason.length > LIMITS.reasonChars)
    problems.push(`reason has ${wait.reason.length} characters; at most ${LIMITS.reasonChars}`)
  refuse(problems)
  return withAdjusted(wait, adjusted)
}

function idProblems(ids: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(ids).flatMap(([at, id]) => (id === undefined ? [] : idProblem(at, id)))
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
    problems.push(
      `operation ${operation} needs its payload ${operation === 'add_work' ? 'addWork' : operation}, which is missing`,
    )
  } else if (!Object.values(payloads).some(Boolean) && draft !== 'commit') {
    problems.push('give at least one of addWork, stop, retry, finish, or draft: commit')
  }
  if (payloads.finish && (payloads.add_work || payloads.retry))
    problems.push('finish excludes addWork and retry: let the work end, and finish then')
  if (draft === 'open' && !payloads.add_work) problems.push('draft open needs addWork')
  return problems
}

function sizeOf(works: NonNullable<RawUpdate['addWork']>): number {
  return works.reduce(
    (sum, { args, ...rest }) => sum + Buffer.byteLength(JSON.stringify(rest)) + argsBytes(args),
    0,
  )
}

function boundProblems({ addWork = [], stop = [], retry = [], finish }: RawUpdate): string[] {
  const problems: string[] = []
  const bounds = [
    ['addWork', addWork.length, LIMITS.addWork, 'works'],
    ['stop', stop.length, LIMITS.stop, 'targets'],
    ['retry', retry.length, LIMITS.retry, 'works'],
    ['finish.resultIds', finish?.resultIds.length ?? 0, LIMITS.finishResults, 'ids'],
  ] as const
  const selected = addWork.reduce((sum, item) => sum + (item.selectedResultInputs?.length ?? 0), 0)
  if (selected > LIMITS.selectedResults)
    problems.push(`addWork selects ${selected} results of earlier graphs; at most ${LIMITS.selectedResults}`)
  const bytes = sizeOf(addWork)
  if (bytes > UPDATE_BYTES)
    problems.push(
      `addWork has ${bytes} bytes of JSON; at most ${UPDATE_BYTES} a call: add the works in several calls`,
    )
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
  const { input, adjusted, unknown } = cleanUpdate(value)
  const raw = requireTyped(UPDATE_PARAMETERS, input, unknown)
  const { addWork = [], stop = [], retry = [], finish, graphId, draft, idempotencyKey } = raw
  refuse([
    ...payloadProblems(raw),
    ...boundProblems(raw),
    ...idProblems({ graphId, idempotencyKey }),
    ...addWork.flatMap((item, index) => workProblems(item, `addWork[${index}]`)),
  ])
  return withAdjusted(
    {
      addWork: addWork.map(pickWork),
      stop,
      ...(retry.length === 0 ? {} : { retry }),
      ...(finish === undefined ? {} : { finish }),
      ...(graphId === undefined ? {} : { graphId }),
      ...(draft === undefined ? {} : { draft }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    },
    adjusted,
  )
}
