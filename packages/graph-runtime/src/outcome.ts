/**
 * From a graph's final state to the result of a call: what the author wants of it, messages as plain
 * objects, then the checks. The result is lossless JSON that fits the author's schema, or an error.
 */
import { validateJsonSchemaValue, type JsonValue } from '@deepseek-ai/dsh-tools'
import { copyJson, setOwn } from './copy-json.ts'
import { GraphOutputError, GraphResultError } from './errors.ts'
import { findLossy, type LossyValue } from './lossless.ts'
import { plainMessages } from './messages.ts'
import type { CheckedSettings } from './settings.ts'
import type { GraphCallContext } from './types.ts'

function cureOf(lossy: LossyValue): string {
  if (lossy.kind !== 'undefined')
    return 'convert it to plain JSON before the graph ends, or make the result with output'
  if (lossy.path === 'result') return 'end with a value, null if there is none'
  return 'return null, drop the key, or set undefinedValues to "omit"'
}

/** The named keys of the state, those that it has. */
function keysOf(name: string, state: unknown, keys: readonly string[]): unknown {
  if (typeof state !== 'object' || state === null || Array.isArray(state)) {
    const kind = state === null ? 'null' : Array.isArray(state) ? 'an array' : `a ${typeof state}`
    throw new GraphResultError(
      name,
      { path: 'result', kind },
      'resultKeys need a state with keys; use output instead',
    )
  }
  const kept: Record<string, unknown> = {}
  for (const key of keys) if (Object.hasOwn(state, key)) setOwn(kept, key, Reflect.get(state, key))
  return kept
}

function lossless(name: string, value: unknown, omitUndefined: boolean): JsonValue {
  const options = { omitUndefined }
  let kept = value
  let lossy = findLossy(kept, options)
  if (lossy !== undefined) {
    const plain = plainMessages(kept)
    if (plain !== undefined) {
      kept = plain.value
      lossy = findLossy(kept, options)
    }
  }
  if (lossy !== undefined) throw new GraphResultError(name, lossy, cureOf(lossy))
  return (omitUndefined ? copyJson(kept, options) : kept) as JsonValue
}

function checked(name: string, wanted: unknown, settings: CheckedSettings): JsonValue {
  const value = lossless(name, wanted, settings.omitUndefined)
  if (settings.outputSchema !== undefined) {
    const violations = validateJsonSchemaValue(settings.outputSchema, value, 'result')
    if (violations.length > 0) throw new GraphOutputError(name, violations)
  }
  return value
}

/**
 * Makes the result.
 *
 * @param state the final state as the graph left it; not one that stopped to ask.
 * @returns a promise only where the author's `output` makes the result.
 * @throws {GraphResultError} it is not lossless JSON; {@link GraphOutputError} it breaks the author's
 *   schema; what the author's `output` threw, which is the graph's own error and passes unchanged.
 */
export function resultOf(
  name: string,
  state: unknown,
  settings: CheckedSettings,
  context: GraphCallContext,
): JsonValue | Promise<JsonValue> {
  const { output, resultKeys } = settings
  if (output !== undefined) {
    return Promise.resolve(output(state, context)).then((wanted) => checked(name, wanted, settings))
  }
  return checked(name, resultKeys === undefined ? state : keysOf(name, state, resultKeys), settings)
}
