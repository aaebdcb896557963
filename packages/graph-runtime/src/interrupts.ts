/**
 * Tells an interrupted graph from a finished one, and why it could not go on. LangGraph resolves either
 * way; an interrupted state carries `__interrupt__`, a list of questions that is empty at a static
 * breakpoint. Asking somebody is not this file's matter.
 */
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import { GraphInterruptedError, type GraphInterrupt } from './errors.ts'
import { findLossy } from './lossless.ts'
import { compactJson } from './pretty-json.ts'

/** Key of the state under which LangGraph lists what it stopped at. */
export const INTERRUPTS = '__interrupt__'

/** Longest text of the questions in a message. */
const SHOWN_CHARS = 2000

function jsonOrText(value: unknown): unknown {
  if (findLossy(value) === undefined) return value
  try {
    return String(value)
  } catch {
    return 'a value that cannot be shown'
  }
}

/** A schema as plain JSON: zod hangs more on it than JSON shows. */
function plainSchema(schema: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(schema)) as unknown
  } catch {
    return undefined
  }
}

function interruptOf(raw: unknown): GraphInterrupt {
  if (typeof raw !== 'object' || raw === null) return Object.freeze({ value: jsonOrText(raw) })
  const id: unknown = Reflect.get(raw, 'id')
  const schema = plainSchema(Reflect.get(raw, 'response_schema'))
  return Object.freeze({
    ...(typeof id === 'string' ? { id } : {}),
    value: jsonOrText(Reflect.get(raw, 'value')),
    ...(schema === undefined ? {} : { responseSchema: schema }),
  })
}

/** The questions a state stopped at, an empty list for a breakpoint, `undefined` for a finished state. */
export function interruptsOf(state: unknown): readonly GraphInterrupt[] | undefined {
  if (typeof state !== 'object' || state === null || !Object.hasOwn(state, INTERRUPTS)) return undefined
  const raw: unknown = Reflect.get(state, INTERRUPTS)
  return Array.isArray(raw) ? Object.freeze(raw.map(interruptOf)) : undefined
}

function shown(interrupts: readonly GraphInterrupt[]): string {
  const text = interrupts
    .map(({ value }) => (typeof value === 'string' ? value : compactJson(value as JsonValue)))
    .join('; ')
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
}

/** The error for a graph that stopped at a breakpoint. */
export function breakpointError(graph: string): GraphInterruptedError {
  return new GraphInterruptedError(
    graph,
    `graph "${graph}" stopped at a breakpoint and did not finish; compile it without interruptBefore and interruptAfter`,
    [],
  )
}

/**
 * The error for a graph that asked and got no answer.
 *
 * @param missing what kept it from an answer, and what to do about it; a clause.
 */
export function unansweredError(
  graph: string,
  interrupts: readonly GraphInterrupt[],
  missing: string,
  cause?: unknown,
): GraphInterruptedError {
  return new GraphInterruptedError(
    graph,
    `graph "${graph}" stopped to ask and did not finish: ${shown(interrupts)}; ${missing}`,
    interrupts,
    cause === undefined ? undefined : { cause },
  )
}
