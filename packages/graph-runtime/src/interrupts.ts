/**
 * Tells an interrupted graph from a finished one. LangGraph resolves either way; an interrupted state
 * carries `__interrupt__`, a list of questions that is empty at a static breakpoint. Answering them is
 * not this file's matter.
 */
import { GraphInterruptedError, type GraphInterrupt } from './errors.ts'
import { findLossy } from './lossless.ts'

const MARK = '__interrupt__'

/** Longest text of the questions in the message. */
const SHOWN_CHARS = 2000

function jsonOrText(value: unknown): unknown {
  if (findLossy(value) === undefined) return value
  try {
    return String(value)
  } catch {
    return 'a value that cannot be shown'
  }
}

function interruptOf(raw: unknown): GraphInterrupt {
  if (typeof raw !== 'object' || raw === null) return { value: jsonOrText(raw) }
  const id: unknown = Reflect.get(raw, 'id')
  const value = jsonOrText(Reflect.get(raw, 'value'))
  return Object.freeze(typeof id === 'string' ? { id, value } : { value })
}

/** The questions a state stopped at, an empty list for a breakpoint, `undefined` for a finished state. */
export function interruptsOf(state: unknown): readonly GraphInterrupt[] | undefined {
  if (typeof state !== 'object' || state === null || !Object.hasOwn(state, MARK)) return undefined
  const raw: unknown = Reflect.get(state, MARK)
  return Array.isArray(raw) ? Object.freeze(raw.map(interruptOf)) : undefined
}

function shown(interrupts: readonly GraphInterrupt[]): string {
  const text = interrupts
    .map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('; ')
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
}

/** The error for a graph that stopped before its end. */
export function interruptedError(
  graph: string,
  interrupts: readonly GraphInterrupt[],
): GraphInterruptedError {
  const message =
    interrupts.length === 0
      ? `graph "${graph}" stopped at a breakpoint and did not finish; compile it without interruptBefore and interruptAfter`
      : `graph "${graph}" stopped to ask and did not finish: ${shown(interrupts)}; let its parameters carry the answer, or remove the interrupt`
  return new GraphInterruptedError(graph, message, interrupts)
}
