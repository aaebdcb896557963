/**
 * Checks how a router is set up and keeps a frozen copy. The filter is copied but not judged: which
 * graphs there are is known only when something is routed.
 */
import { ReasoningEffortId, type GenerateOptions } from '@deepseek-ai/dsh-llm'
import type { CallServices } from './call-services.ts'
import { GraphRoutingConfigError } from './routing-errors.ts'
import { fallbackOf, type Fallback } from './routing-fallback.ts'
import type { GraphRoutingConfig, GraphRoutingHistory } from './routing-types.ts'

/** What every model call of a router has in common. */
export type ModelCall = Pick<
  GenerateOptions,
  'provider' | 'model' | 'system' | 'temperature' | 'maxTokens' | 'reasoningEffort'
>

export interface CheckedRouting {
  readonly call: ModelCall
  /** As it was given, so that a wrong one is reported when it is used. */
  readonly filter: unknown
  readonly maxRetries: number
  readonly fallback: Fallback
  readonly multiple: 'first' | 'reject'
  readonly repair: boolean
  readonly stopOnRepeat: boolean
  readonly history: GraphRoutingHistory
}

const DEFAULT_RETRIES = 3

const DEFAULT_SYSTEM = [
  'You route a request to one tool.',
  'Choose exactly one of the tools, the one that serves the user’s request, and call it once with complete arguments.',
  'Always call a tool; do not answer the request in words.',
  'When a call is rejected, read the reason, then correct the call or choose another tool.',
].join('\n')

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** Reads one optional field; a value that is not accepted is a problem and counts as absent. */
function read<T>(
  config: object,
  key: keyof GraphRoutingConfig,
  accepts: (value: unknown) => value is T,
  rule: string,
  problems: string[],
): T | undefined {
  const value: unknown = Reflect.get(config, key)
  if (value === undefined || accepts(value)) return value
  problems.push(`${key} must be ${rule}`)
  return undefined
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isCap(value: unknown): value is number {
  return isCount(value) && value > 0
}

function isTemperature(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isMultiple(value: unknown): value is 'first' | 'reject' {
  return value === 'first' || value === 'reject'
}

/** Whether the value is a list of messages, as far as a request needs it. */
export function isHistory(value: unknown): value is GraphRoutingHistory {
  return Array.isArray(value) && value.every(isMessage)
}

function isMessage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const role: unknown = Reflect.get(value, 'role')
  if (role !== 'user' && role !== 'assistant' && role !== 'system') return false
  const content: unknown = Reflect.get(value, 'content')
  return isObject(Reflect.get(value, 'source')) && Array.isArray(content) && content.every(isObject)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether a provider route leads to DeepSeek, whose known faults are repaired unasked. */
function isDeepSeek(provider: string): boolean {
  return /^deepseek(?:-|$)/i.test(provider)
}

function copyFilter(filter: unknown): unknown {
  if (typeof filter !== 'object' || filter === null) return filter
  const entries = Object.entries(filter).map(([key, names]: [string, unknown]) => [
    key,
    Array.isArray(names) ? Object.freeze(names.slice()) : names,
  ])
  return Object.freeze(Object.fromEntries(entries))
}

function callOf(config: object, problems: string[]): ModelCall {
  const [provider, model] = (['provider', 'model'] as const).map((key) => {
    const value: unknown = Reflect.get(config, key)
    if (!isText(value)) problems.push(`${key} must be a non-empty string`)
    return isText(value) ? value : ''
  })
  const temperature = read(config, 'temperature', isTemperature, 'a number of at least 0', problems)
  const maxTokens = read(config, 'maxTokens', isCap, 'a whole number of at least 1', problems)
  const effort = read(config, 'reasoningEffort', isText, 'a non-empty string', problems)
  return Object.freeze({
    provider: provider ?? '',
    model: model ?? '',
    system: read(config, 'system', isText, 'a non-empty string', problems) ?? DEFAULT_SYSTEM,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(effort === undefined ? {} : { reasoningEffort: ReasoningEffortId(effort) }),
  })
}

/**
 * @param services what a fallback graph may use of the host.
 * @throws {GraphRoutingConfigError} everything that is wrong, together.
 */
export function checkRouting(config: unknown, services: CallServices): CheckedRouting {
  if (typeof config !== 'object' || config === null) {
    throw new GraphRoutingConfigError(['pass an object with provider and model'])
  }
  const problems: string[] = []
  const call = callOf(config, problems)
  const history = read(config, 'history', isHistory, 'a list of messages', problems) ?? []
  const checked: CheckedRouting = {
    call,
    filter: copyFilter(Reflect.get(config, 'filter')),
    maxRetries:
      read(config, 'maxRetries', isCount, 'a whole number of at least 0', problems) ?? DEFAULT_RETRIES,
    fallback: fallbackOf(Reflect.get(config, 'fallback'), services, problems),
    multiple: read(config, 'multiple', isMultiple, '"first" or "reject"', problems) ?? 'first',
    repair: read(config, 'repair', isFlag, 'true or false', problems) ?? isDeepSeek(call.provider),
    stopOnRepeat: read(config, 'stopOnRepeat', isFlag, 'true or false', problems) ?? false,
    history: Object.freeze(history.slice()),
  }
  if (problems.length > 0) throw new GraphRoutingConfigError(problems)
  return Object.freeze(checked)
}
