/**
 * Reads what a model sent as what it meant, before anything is checked: the general habits by the
 * schema (clean-value), and the discriminators of this package's tools, whose value decides which of
 * the filled fields counts. Everything that was changed is told.
 */
import type { ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { Adjustments } from './adjustments.ts'
import { isEmpty, isFields, readAs, ROOT, type Fields, type Reading, type Shape } from './clean-value.ts'
import { ALIASES, NAMES, VALUES } from './other-names.ts'
import { UPDATE_PARAMETERS } from './schemas.ts'

/** Identity field that each target kind keeps; the others are dropped. */
const IDENTITY_OF: Readonly<Record<string, string>> = {
  new_agent: 'agentId',
  new_preset: 'subagentId',
  existing_operator: 'operatorId',
  code_graph: 'graphName',
}
const IDENTITIES = ['agentId', 'subagentId', 'operatorId', 'graphName'] as const

/** Payload field that each operation keeps; the others are dropped. */
const PAYLOAD_OF: Readonly<Record<string, string>> = {
  add_work: 'addWork',
  stop: 'stop',
  retry: 'retry',
  finish: 'finish',
}
const PAYLOADS = ['addWork', 'stop', 'retry', 'finish'] as const

const WRAPPERS = ['arguments', 'args', 'input', 'parameters', 'params']

function readingOf(adjusted: Adjustments, unknown: string[] = []): Reading {
  return { adjusted, aliases: ALIASES, values: VALUES, names: NAMES, unknown }
}

/** What was read, and what there is to say about it. */
export interface Cleaned {
  readonly input: unknown
  /** What was changed. */
  readonly adjusted: readonly string[]
  /** What no schema knows: the call is to be refused with it. */
  readonly unknown: readonly string[]
}

function rootShape(properties: ParameterSchemaSpec): Shape {
  return { type: 'object', properties: properties as Readonly<Record<string, Shape>> }
}

const UPDATE_SHAPE = rootShape(UPDATE_PARAMETERS)
const WORK_SHAPE: Shape = UPDATE_PARAMETERS.addWork.items

/** The arguments of a tool may come wrapped in one field more than there are. */
function unwrapped(value: unknown, adjusted: Adjustments): unknown {
  if (!isFields(value)) return value
  const [key, ...more] = Object.keys(value)
  if (key === undefined || more.length > 0 || !WRAPPERS.includes(key)) return value
  const inner = value[key]
  if (!isFields(inner) && typeof inner !== 'string') return value
  adjusted.note(`the arguments were read out of ${key}`)
  return inner
}

/** The arguments of a tool by its schema alone. */
export function cleanArguments(parameters: ParameterSchemaSpec, value: unknown): Cleaned {
  const [adjusted, unknown] = [new Adjustments(), [] as string[]]
  const reading = readingOf(adjusted, unknown)
  const input = readAs(rootShape(parameters), unwrapped(value ?? {}, adjusted), ROOT, reading)
  // 0 is how a number is filled that is not meant: no view has that seq.
  if (isFields(input) && input['since'] === 0) {
    delete input['since']
    adjusted.empty('since')
  }
  if (isFields(input)) readOnce(input, 'results', 'results', adjusted)
  return { input, adjusted: adjusted.list(), unknown }
}

/** The whole argument object of `update_agent_graph`. */
export function cleanUpdate(value: unknown): Cleaned {
  const [adjusted, unknown] = [new Adjustments(), [] as string[]]
  const input = readAs(UPDATE_SHAPE, unwrapped(value, adjusted), ROOT, readingOf(adjusted, unknown))
  if (isFields(input)) {
    const works = input['addWork']
    if (Array.isArray(works))
      for (const [index, work] of works.entries()) decideWork(work, `addWork[${index}]`, adjusted)
    decideOperation(input, adjusted)
    decideFinish(input['finish'], adjusted)
  }
  return { input, adjusted: adjusted.list(), unknown }
}

/** A graph may be finished without a result. */
function decideFinish(finish: unknown, adjusted: Adjustments): void {
  if (!isFields(finish)) return
  finish['resultIds'] ??= []
  readOnce(finish, 'resultIds', 'finish.resultIds', adjusted)
}

/** An id that comes twice in a list of what to show or to keep is meant once. */
function readOnce(fields: Fields, name: string, at: string, adjusted: Adjustments): void {
  const ids = fields[name]
  if (!Array.isArray(ids)) return
  const distinct = [...new Set<unknown>(ids)]
  if (distinct.length < ids.length) adjusted.note(`${at} named some ids twice`)
  fields[name] = distinct
}

/** The operation names the one payload that counts, if that is there. */
function decideOperation(input: Fields, adjusted: Adjustments): void {
  const operation = input['operation']
  const isKnown = typeof operation === 'string' && Object.hasOwn(PAYLOAD_OF, operation)
  const kept = isKnown ? PAYLOAD_OF[operation] : undefined
  if (kept === undefined || input[kept] === undefined) return
  dropOthers(input, PAYLOADS, kept, { at: '', because: `operation is ${operation}`, adjusted })
}

/** The kind of target names the one identity that counts; a mode may say that nothing is replaced. */
function decideWork(work: unknown, at: string, adjusted: Adjustments): void {
  if (!isFields(work)) return
  const kind = work['targetKind']
  if (typeof kind === 'string') decideTarget(work, kind, at, adjusted)
  if (work['replacementMode'] === 'none' && work['replaces'] !== undefined) {
    delete work['replaces']
    adjusted.note(`${at}.replaces was dropped: replacementMode is none`)
  }
}

function decideTarget(work: Fields, kind: string, at: string, adjusted: Adjustments): void {
  const kept = Object.hasOwn(IDENTITY_OF, kind) ? IDENTITY_OF[kind] : undefined
  if (kept === undefined) return
  const because = `targetKind is ${kind}`
  // Without its own identity a kind may be the field that is wrong; that is not ours to decide.
  if (work[kept] !== undefined) dropOthers(work, IDENTITIES, kept, { at: `${at}.`, because, adjusted })
  if (work['args'] === undefined || kept === 'graphName') return
  delete work['args']
  adjusted.note(`${at}.args was dropped: ${because}`)
}

function dropOthers(
  fields: Fields,
  names: readonly string[],
  kept: string,
  { at, because, adjusted }: { at: string; because: string; adjusted: Adjustments },
): void {
  for (const name of names) {
    if (name === kept || fields[name] === undefined) continue
    delete fields[name]
    adjusted.note(`${at}${name} was dropped: ${because}`)
  }
}

/** The argument object of `update_agent_graph` as it is meant. What cannot be read is returned as it is. */
export function cleanUpdateInput(value: unknown): unknown {
  return cleanUpdate(value).input
}

/** One item of `addWork`. */
export function cleanAddWorkInput(value: unknown): unknown {
  const adjusted = new Adjustments()
  const place = { at: 'addWork', kind: 'addWork[]' }
  const work = isEmpty(value) ? value : readAs(WORK_SHAPE, value, place, readingOf(adjusted))
  decideWork(work, place.at, adjusted)
  return work
}
