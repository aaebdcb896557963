/**
 * The place in the author's code that called a function of ours, for warnings and for telling an
 * edited module from a second graph of the same name. The stack is taken at once and put into text
 * only when somebody asks.
 */
import type { Origin } from './definition-record.ts'

/** `at <function> (<place>)`, or `at <place>` at the top of a module; a place may hold spaces and brackets. */
const FRAME = /^at (?:async )?(?:.*? \((?<inner>.+)\)|(?<bare>.+))$/u
const PLACE = /^(?<file>.+):(?<line>\d+):(?<column>\d+)$/u

function capture(below: (...args: never[]) => unknown): { readonly stack?: unknown } {
  const holder = {}
  const limit = Error.stackTraceLimit
  try {
    Error.stackTraceLimit = 1
    Error.captureStackTrace(holder, below)
  } catch {
    // A runtime with locked intrinsics gives no places.
  } finally {
    if (Error.stackTraceLimit !== limit) Error.stackTraceLimit = limit
  }
  return holder
}

function parse(stack: unknown): Origin {
  const last = typeof stack === 'string' ? (stack.split('\n').at(-1)?.trim() ?? '') : ''
  const frame = FRAME.exec(last)?.groups
  const found = PLACE.exec(frame?.['inner'] ?? frame?.['bare'] ?? '')?.groups
  if (found?.['file'] === undefined) return { file: undefined, place: undefined }
  const file = found['file'].replace(/[?#].*$/, '')
  return { file, place: `${file}:${found['line']}:${found['column']}` }
}

/**
 * Where `below` was called.
 *
 * @param below the function of ours that the author called; its frame and those above are left out.
 */
export function callSite(below: (...args: never[]) => unknown): () => Origin {
  const holder = capture(below)
  let origin: Origin | undefined
  return () => (origin ??= parse(holder.stack))
}
