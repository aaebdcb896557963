/**
 * Preprocessors of `update_agent_graph`. Models fill optional fields they do not mean: nulls, empty
 * strings, empty lists, the identity fields of the targets they did not choose; they write snake_case
 * and put JSON into strings. What is clearly unmeant is dropped, what is clearly meant is corrected,
 * and both are told; what could be meant otherwise is left for validation to refuse.
 */
import { knownName, readNested } from './model-habits.ts'

type Fields = Record<string, unknown>

/** Told of each correction; fields are named as in `addWork[2].operatorId`. */
export type Note = (adjustment: string) => void

/** Identity field that each target kind keeps; the others are dropped. */
const IDENTITY_OF: Readonly<Record<string, string>> = {
  new_agent: 'agentId',
  agent: 'agentId',
  new_preset: 'subagentId',
  preset: 'subagentId',
  existing_operator: 'operatorId',
  operator: 'operatorId',
  code_graph: 'graphName',
  graph: 'graphName',
}
const IDENTITIES = ['agentId', 'subagentId', 'operatorId', 'graphName'] as const

/** Other spellings of the target kinds. */
const KINDS: Readonly<Record<string, string>> = {
  agent: 'new_agent',
  preset: 'new_preset',
  operator: 'existing_operator',
  graph: 'code_graph',
}

/** Payload field that each operation keeps; the others are dropped. */
const PAYLOAD_OF: Readonly<Record<string, string>> = {
  add_work: 'addWork',
  stop: 'stop',
  retry: 'retry',
  finish: 'finish',
}
const PAYLOADS = ['addWork', 'stop', 'retry', 'finish'] as const

const UPDATE_FIELDS = [
  'graphId',
  'operation',
  'addWork',
  'stop',
  'retry',
  'finish',
  'draft',
  'idempotencyKey',
] as const
const WORK_FIELDS = [
  'workId',
  'title',
  'instruction',
  'inputIds',
  'targetKind',
  ...IDENTITIES,
  'args',
  'when',
  'forEach',
  'replaces',
  'replacementMode',
  'replay',
  'model',
  'effort',
  'selectedResultInputs',
] as const

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isBlank(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '')
}

/** A shallow copy under the declared names, without null, undefined and blank strings. */
function given(value: Fields, known: readonly string[], at: string, note: Note): Fields {
  const copy: Fields = {}
  for (const [key, field] of Object.entries(value)) {
    if (isBlank(field)) continue
    const name = knownName(key, known)
    if (name !== key) {
      if (Object.hasOwn(value, name) && !isBlank(value[name])) {
        note(`${at}${key} was dropped: ${name} is given too`)
        continue
      }
      note(`${at}${key} was read as ${name}`)
    }
    // A key named __proto__ stays a key; validation refuses it by name.
    Object.defineProperty(copy, name, { value: field, enumerable: true, writable: true, configurable: true })
  }
  return copy
}

function dropOthers(
  fields: Fields,
  names: readonly string[],
  kept: string,
  told: { at: string; because: string; note: Note },
): void {
  for (const name of names) {
    if (name === kept || fields[name] === undefined) continue
    delete fields[name]
    told.note(`${told.at}${name} was dropped: ${told.because}`)
  }
}

function cleanWork(value: unknown, at: string, note: Note): unknown {
  const read = readNested(value, 'object', at, note)
  if (!isFields(read)) return read
  const item = given(read, WORK_FIELDS, `${at}.`, note)
  const kind = item['targetKind']
  if (typeof kind === 'string') {
    item['targetKind'] = KINDS[kind] ?? kind
    const kept = IDENTITY_OF[kind]
    const because = `targetKind is ${kind}`
    if (kept !== undefined) dropOthers(item, IDENTITIES, kept, { at: `${at}.`, because, note })
  }
  if (item['replacementMode'] === 'none' && item['replaces'] !== undefined) {
    delete item['replaces']
    note(`${at}.replaces was dropped: replacementMode is none`)
  }
  if (typeof item['instruction'] === 'string') item['instruction'] = item['instruction'].trim()
  for (const name of ['inputIds', 'selectedResultInputs'] as const) cleanList(item, name, at, note)
  if (item['args'] !== undefined) item['args'] = readNested(item['args'], 'object', `${at}.args`, note)
  return item
}

/** A list may come as JSON in a string, as one item instead of a list, with blanks in it, or empty. */
function cleanList(fields: Fields, name: string, at: string, note: Note): void {
  if (fields[name] === undefined) return
  const place = `${at === '' ? '' : `${at}.`}${name}`
  const read = readNested(fields[name], 'array', place, note)
  const list: unknown[] = Array.isArray(read) ? read : [read]
  if (!Array.isArray(read)) note(`${place} was read as a list of one`)
  const filled = list.filter((item) => !isBlank(item))
  if (filled.length < list.length) note(`${place}: ${list.length - filled.length} empty items were dropped`)
  if (filled.length === 0) delete fields[name]
  else fields[name] = filled
}

function cleanReasoned(value: unknown, known: readonly string[], at: string, note: Note): unknown {
  const read = readNested(value, 'object', at, note)
  return isFields(read) ? given(read, known, `${at}.`, note) : read
}

/** The whole argument object of `update_agent_graph`, with what was changed about it. */
export function cleanUpdate(value: unknown): {
  readonly input: unknown
  readonly adjusted: readonly string[]
} {
  const adjusted: string[] = []
  const note: Note = (adjustment) => void adjusted.push(adjustment)
  const read = readNested(value, 'object', 'the arguments', note)
  if (!isFields(read)) return { input: read, adjusted }
  const input = given(read, UPDATE_FIELDS, '', note)
  for (const name of ['addWork', 'stop', 'retry'] as const) cleanList(input, name, '', note)
  const cleaned: Readonly<Record<string, (item: unknown, at: string) => unknown>> = {
    addWork: (item, at) => cleanWork(item, at, note),
    stop: (item, at) => cleanReasoned(item, ['targetId', 'reason', 'cascadeDownstream'], at, note),
    retry: (item, at) => cleanReasoned(item, ['workId', 'reason'], at, note),
  }
  for (const [name, clean] of Object.entries(cleaned)) {
    const list = input[name]
    if (Array.isArray(list)) input[name] = list.map((item, index) => clean(item, `${name}[${index}]`))
  }
  cleanFinish(input, note)
  const operation = input['operation']
  const kept = typeof operation === 'string' ? PAYLOAD_OF[operation] : undefined
  if (kept !== undefined && input[kept] !== undefined) {
    dropOthers(input, PAYLOADS, kept, { at: '', because: `operation is ${String(operation)}`, note })
  }
  return { input, adjusted }
}

/** Providers fill `finish` with empty lists where none is meant. */
function cleanFinish(input: Fields, note: Note): void {
  if (input['finish'] === undefined) return
  const finish = cleanReasoned(input['finish'], ['resultIds', 'reason'], 'finish', note)
  if (!isFields(finish)) {
    input['finish'] = finish
    return
  }
  const ids = finish['resultIds']
  const isEmpty = ids === undefined || (Array.isArray(ids) && ids.every(isBlank))
  if (isEmpty && finish['reason'] === undefined) {
    delete input['finish']
    return
  }
  if (Array.isArray(ids) || ids === undefined)
    input['finish'] = { ...finish, resultIds: (ids ?? []).filter((id: unknown) => !isBlank(id)) }
  else {
    cleanList(finish, 'resultIds', 'finish', note)
    input['finish'] = finish
  }
}

/** The argument object of `update_agent_graph` as it is meant. Anything but an object is returned as it is. */
export function cleanUpdateInput(value: unknown): unknown {
  return cleanUpdate(value).input
}

/** One item of `addWork`. */
export function cleanAddWorkInput(value: unknown): unknown {
  return cleanWork(value, 'addWork', () => undefined)
}

/** The arguments of the other two tools: the same habits, told nowhere. */
export function cleanFlat(value: unknown, known: readonly string[]): unknown {
  const read = readNested(value, 'object', 'the arguments', () => undefined)
  if (!isFields(read)) return read
  const input = given(read, known, '', () => undefined)
  if (input['results'] !== undefined) cleanList(input, 'results', '', () => undefined)
  return input
}
