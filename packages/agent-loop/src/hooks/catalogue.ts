/**
 * The one table of hooks: how each is called, how long a handler may take, and what its failure means.
 * What answers may hold and how they are merged is `merge.ts`.
 */
import type { FailMode, FixedHookName, HookName } from './types.ts'

/**
 * - `observe`: all handlers start together, in order of priority; nobody's turn waits for them.
 * - `modify`: one after the other, each sees what the earlier ones decided; the turn waits.
 * - `draft`: as `modify`, on a value that handlers write into.
 * - `sync`: as `modify`, without waiting; a promise is refused.
 */
export type HookKind = 'observe' | 'modify' | 'draft' | 'sync'

export type HookScope = 'run' | 'attempt' | 'message' | 'session' | 'process'

export interface HookSpec {
  readonly kind: HookKind
  readonly scope: HookScope
  readonly timeoutMs: number
  readonly failMode: FailMode
}

const PROMPT_MS = 15_000
const OBSERVE_MS = 30_000

const observe = (scope: HookScope): HookSpec => ({
  kind: 'observe',
  scope,
  timeoutMs: OBSERVE_MS,
  failMode: 'open',
})
const modify = (scope: HookScope, failMode: FailMode = 'open'): HookSpec => ({
  kind: 'modify',
  scope,
  timeoutMs: PROMPT_MS,
  failMode,
})

export const CATALOGUE: Readonly<Record<FixedHookName, HookSpec>> = {
  before_model_resolve: modify('run'),
  before_prompt_build: modify('run'),
  before_agent_start: modify('run'),
  agent_end: observe('run'),
  before_compaction: observe('attempt'),
  after_compaction: observe('attempt'),
  before_tool_call: modify('attempt', 'closed'),
  after_tool_call: observe('attempt'),
  tool_result_persist: { kind: 'sync', scope: 'attempt', timeoutMs: PROMPT_MS, failMode: 'open' },
  message_received: observe('message'),
  message_sending: modify('message'),
  message_sent: observe('message'),
  session_start: observe('session'),
  session_end: observe('session'),
  gateway_start: observe('process'),
  gateway_stop: observe('process'),
  'agent:bootstrap': { kind: 'draft', scope: 'run', timeoutMs: PROMPT_MS, failMode: 'open' },
}

const COMMAND: HookSpec = observe('session')
const COMMAND_NAME = /^command:[a-z][a-z0-9_-]{0,63}$/

/** The row of a hook; none for a name that is not in the catalogue. */
export function specOf(name: string): HookSpec | undefined {
  if (Object.hasOwn(CATALOGUE, name)) return CATALOGUE[name as FixedHookName]
  return COMMAND_NAME.test(name) ? COMMAND : undefined
}

export function isHookName(name: string): name is HookName {
  return specOf(name) !== undefined
}
