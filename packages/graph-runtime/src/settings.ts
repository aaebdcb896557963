/**
 * Checks an author's declaration, field by field and as a whole, and keeps a frozen copy of it.
 * Everything wrong is found at once. Nothing here runs the author's code, apart from reading the fields.
 */
import {
  valueSchemaSpecToJsonSchema,
  type JsonSchemaNode,
  type ParameterSchemaSpec,
} from '@deepseek-ai/dsh-tools'
import { messageOf } from './errors.ts'
import { declaredParameters, unfitDefaults, type GraphParameters } from './parameters.ts'
import {
  isBudget,
  isCount,
  isFunction,
  isNameList,
  isPick,
  isPlainRecord,
  isStore,
  isText,
  isThreadId,
  oneOf,
} from './setting-rules.ts'
import type { GraphOutput, GraphSettings, GraphThreadId, GraphValidate } from './types.ts'

/** How often a call may ask a person unless the author says otherwise. */
const QUESTION_ROUNDS = 20

/** Which parameters to read off the graph: none of them, all, or the named ones. */
export type Derivation = 'none' | 'all' | readonly string[]

/** A checked declaration. Absent fields are absent, so that nothing undefined is ever passed on. */
export interface CheckedSettings {
  readonly description?: string
  /** The author's own parameters. */
  readonly parameters?: GraphParameters
  /** What stands in for them. */
  readonly derive: Derivation
  /** Whether the author said where the parameters come from. */
  readonly chosen: boolean
  readonly validate?: GraphValidate
  readonly threadId?: GraphThreadId
  readonly ephemeralThread: boolean
  readonly serialize: boolean
  readonly configurable?: Readonly<Record<string, unknown>>
  /** Options of LangGraph that are forwarded as they are. */
  readonly forwarded: Readonly<Record<string, unknown>>
  readonly timeoutMs?: number
  readonly inherit: boolean
  readonly drain: boolean
  readonly applyDefaults: boolean
  readonly output?: GraphOutput
  readonly resultKeys?: readonly string[]
  readonly outputSchema?: JsonSchemaNode
  readonly maxResultChars?: number
  readonly questionRounds: number
  readonly omitUndefined: boolean
  readonly concurrencySafe: boolean
}

/** What went wrong, as clauses that name the field. */
export type Problems = string[]

/** Reads an optional flag. */
export function flag(options: object, key: string, fallback: boolean, problems: Problems): boolean {
  const value: unknown = Reflect.get(options, key)
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  problems.push(`${key} must be true or false`)
  return fallback
}

type Read = <T>(
  key: keyof GraphSettings,
  accepts: (value: unknown) => value is T,
  rule: string,
) => T | undefined

function reader(options: object, problems: Problems): Read {
  return (key, accepts, rule) => {
    const value: unknown = Reflect.get(options, key)
    if (value === undefined) return undefined
    if (accepts(value)) return value
    problems.push(`${key} must be ${rule}`)
    return undefined
  }
}

/** The fields that have a value. */
function present<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) kept[key] = value
  return kept as T
}

function frozenCopy<T extends object>(value: T | undefined): Readonly<T> | undefined {
  return value === undefined ? undefined : Object.freeze({ ...value })
}

interface ParameterChoice {
  readonly parameters: GraphParameters | undefined
  readonly derive: Derivation
}

function parameterChoice(given: unknown, problems: Problems): ParameterChoice {
  if (given === undefined || given === 'auto') return { parameters: undefined, derive: 'all' }
  if (given === 'input') return { parameters: undefined, derive: 'none' }
  if (isPick(given)) {
    if (isNameList(given.pick)) return { parameters: undefined, derive: Object.freeze([...given.pick]) }
    problems.push('parameters.pick must list at least one key, none of them twice')
    return { parameters: undefined, derive: 'none' }
  }
  try {
    // Whatever is no parameter spec is refused with the reason.
    return { parameters: declaredParameters(given as ParameterSchemaSpec), derive: 'none' }
  } catch (error) {
    problems.push(`parameters: ${messageOf(error)}`)
    return { parameters: undefined, derive: 'none' }
  }
}

function outputSchema(given: GraphSettings['outputSchema'], problems: Problems): JsonSchemaNode | undefined {
  if (given === undefined) return undefined
  try {
    return valueSchemaSpecToJsonSchema(given)
  } catch (error) {
    problems.push(`outputSchema: ${messageOf(error)}`)
    return undefined
  }
}

/** Options that LangGraph reads off the config of a call. An undefined one would count as given. */
function forwarded(read: Read): Readonly<Record<string, unknown>> {
  return Object.freeze(
    present<Record<string, unknown>>({
      recursionLimit: read('recursionLimit', isCount, 'a whole number of at least 1'),
      context: frozenCopy(read('context', isPlainRecord, 'a plain object')),
      durability: read('durability', oneOf('exit', 'async', 'sync'), '"exit", "async" or "sync"'),
      store: read('store', isStore, 'a LangGraph store'),
    }),
  )
}

/** Fields that do not go together. */
function checkTogether(settings: CheckedSettings, problems: Problems): void {
  const { ephemeralThread, threadId, configurable, serialize, output, resultKeys } = settings
  if (settings.applyDefaults && settings.parameters !== undefined) {
    for (const fault of unfitDefaults(settings.parameters.schema)) {
      problems.push(`applyDefaults needs defaults that fit their own schema: ${fault}`)
    }
  }
  const thread = threadId ?? configurable?.['thread_id']
  if (ephemeralThread && thread !== undefined) {
    problems.push('ephemeralThread makes a thread for each call; leave it out to use a threadId')
  }
  if (serialize && thread === undefined) {
    problems.push('serialize: "thread" needs a threadId; without one no two calls share a thread')
  }
  if (output !== undefined && resultKeys !== undefined) {
    problems.push('resultKeys and output both make the result; keep one of them')
  }
}

/** Checks the settings of `options`; what is wrong is added to `problems` and left out of the result. */
export function checkSettings(options: GraphSettings, problems: Problems): CheckedSettings {
  const read = reader(options, problems)
  const given: unknown = options.parameters
  const settings = Object.freeze(
    present<CheckedSettings>({
      ...parameterChoice(given, problems),
      chosen: given !== undefined,
      forwarded: forwarded(read),
      configurable: frozenCopy(read('configurable', isPlainRecord, 'a plain object')),
      description: read('description', isText, 'a non-empty string'),
      validate: read('validate', isFunction, 'a function') as GraphValidate | undefined,
      threadId: read('threadId', isThreadId, 'a non-empty string or a function'),
      ephemeralThread: flag(options, 'ephemeralThread', false, problems),
      serialize: read('serialize', oneOf('thread'), '"thread"') === 'thread',
      timeoutMs: read('timeoutMs', isBudget, 'a positive finite number of milliseconds'),
      inherit: flag(options, 'inherit', false, problems),
      drain: flag(options, 'drain', false, problems),
      applyDefaults: flag(options, 'applyDefaults', false, problems),
      output: read('output', isFunction, 'a function') as GraphOutput | undefined,
      resultKeys: read('resultKeys', isNameList, 'a list of at least one key, none of them twice')?.slice(),
      outputSchema: outputSchema(options.outputSchema, problems),
      maxResultChars: read('maxResultChars', isCount, 'a whole number of at least 1'),
      questionRounds: read('questionRounds', isCount, 'a whole number of at least 1') ?? QUESTION_ROUNDS,
      omitUndefined: read('undefinedValues', oneOf('reject', 'omit'), '"reject" or "omit"') === 'omit',
      concurrencySafe: flag(options, 'concurrencySafe', false, problems),
    }),
  )
  checkTogether(settings, problems)
  return settings
}
