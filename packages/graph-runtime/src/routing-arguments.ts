/**
 * From a model's argument text to an argument object: parsing, and undoing what providers are known to
 * do to it. Whether the object fits the graph is not judged here. Pure.
 */
import { ToolArgsError, type JsonValue } from '@deepseek-ai/dsh-tools'
import { messageOf } from './errors.ts'
import type { GraphRoutingRejection, GraphRoutingRepair } from './routing-types.ts'

export type ArgumentObject = Record<string, JsonValue>

export type ReadArguments =
  | { readonly kind: 'args'; readonly args: ArgumentObject; readonly repaired: readonly GraphRoutingRepair[] }
  | {
      readonly kind: 'rejected'
      readonly rejection: GraphRoutingRejection
      readonly reason: string
      readonly error?: unknown
    }

/** The graph's side of reading its arguments. */
export interface ArgumentReader {
  readonly tool: string
  /** Whether the schema has a parameter of that name. */
  readonly hasParameter: (name: string) => boolean
  readonly violations: (args: unknown) => readonly string[]
  /** Whether known faults are undone. */
  readonly repair: boolean
  /** Whether the answer ended at its token limit, so that a missing text may be a lost one. */
  readonly truncated: boolean
}

/** Longest piece of a model's own text that is quoted back. */
const QUOTED_CHARS = 300

/** Keys that providers are known to wrap the arguments in. */
const WRAPPERS = ['arguments', 'input'] as const

/** Text from outside, cut for a message; never half a character. */
export function clip(text: string, limit = QUOTED_CHARS): string {
  return (text.length > limit ? `${text.slice(0, limit)}…` : text).toWellFormed()
}

export function isArgumentObject(value: unknown): value is ArgumentObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(text: string): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return { fault: clip(messageOf(error)) }
  }
}

/** The object inside a JSON text, `undefined` when it holds something else or is no JSON. */
function objectIn(text: string): ArgumentObject | undefined {
  const parsed = parse(text)
  return 'value' in parsed && isArgumentObject(parsed.value) ? parsed.value : undefined
}

/** Reads the argument text of one call. An empty text means no arguments. */
export function readArguments(text: string, reader: ArgumentReader): ReadArguments {
  const blank = text.trim() === ''
  if (blank && !reader.truncated) return unwrapped({}, [], reader)
  const parsed = blank ? { fault: 'they are missing' } : parse(text)
  if ('fault' in parsed) return { kind: 'rejected', ...jsonFault(reader, text, parsed.fault) }
  if (isArgumentObject(parsed.value)) return unwrapped(parsed.value, [], reader)
  const inner = reader.repair && typeof parsed.value === 'string' ? objectIn(parsed.value) : undefined
  if (inner !== undefined) return unwrapped(inner, ['encoding'], reader)
  const error = new ToolArgsError([...notAnObject(parsed.value, reader)])
  return { kind: 'rejected', rejection: 'INVALID_ARGS', reason: error.message, error }
}

function notAnObject(value: unknown, reader: ArgumentReader): readonly string[] {
  const violations = reader.violations(value)
  return violations.length > 0 ? violations : ['the arguments must be an object']
}

function jsonFault(reader: ArgumentReader, text: string, fault: string) {
  const cut = reader.truncated ? '; the answer was cut off at its token limit, so call with less text' : ''
  const quote = text.trim() === '' ? '' : `; you sent: ${clip(text)}`
  return {
    rejection: 'INVALID_JSON' as const,
    reason: `the arguments of "${reader.tool}" are not valid JSON: ${fault}${cut}${quote}`,
  }
}

/** Takes the arguments out of a wrapper that the schema does not know, where repairs are wanted. */
function unwrapped(
  args: ArgumentObject,
  repaired: readonly GraphRoutingRepair[],
  reader: ArgumentReader,
): ReadArguments {
  const inner = reader.repair ? wrappedIn(args, reader) : undefined
  return inner === undefined
    ? { kind: 'args', args, repaired }
    : { kind: 'args', args: inner, repaired: [...repaired, 'wrapper'] }
}

function wrappedIn(args: ArgumentObject, reader: ArgumentReader): ArgumentObject | undefined {
  const [only, ...rest] = Object.keys(args)
  const key = WRAPPERS.find((wrapper) => wrapper === only)
  if (key === undefined || rest.length > 0 || reader.hasParameter(key)) return undefined
  const value = args[key]
  if (typeof value === 'string') return objectIn(value)
  return isArgumentObject(value) ? value : undefined
}
