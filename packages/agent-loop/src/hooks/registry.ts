/**
 * Who listens to which hook, in the order of the calls. Checks a registration and settles its deadline;
 * calls nobody.
 */
import { AgentLoopError } from '../errors.ts'
import { CATALOGUE, specOf, type HookSpec } from './catalogue.ts'
import { MAX_TIMEOUT_MS, type HookSettings } from './settings.ts'
import type { FailMode, HookContext, HookName } from './types.ts'

/** A handler of any hook; what it gets and gives is checked where it is called. */
export type AnyHandler = (event: unknown, context: HookContext) => unknown

export interface Registration {
  readonly name: HookName
  readonly spec: HookSpec
  readonly handler: AnyHandler
  readonly plugin: string
  readonly priority: number
  readonly timeoutMs: number
  readonly failMode: FailMode
  /** A promise of a synchronous hook counts as `closed` unless its registration said `open` itself. */
  readonly promiseMode: FailMode
  /** Fires when the registration is undone. */
  readonly gone: AbortSignal
}

interface Entry {
  readonly registration: Registration
  readonly leave: AbortController
}

/** An async function is known as one before it is ever called. */
const AsyncFunction = (async () => undefined).constructor

export class HookRegistry {
  private readonly settings: HookSettings
  /** Each list in the order of the calls. */
  private readonly entries = new Map<HookName, Entry[]>()

  constructor(settings: HookSettings) {
    this.settings = settings
  }

  /** @throws `invalid`, naming every problem; nothing is registered then. */
  add(plugin: string, name: unknown, handler: unknown, options: unknown): Registration {
    const leave = new AbortController()
    const registration = { ...this.check(plugin, name, handler, options), gone: leave.signal }
    const list = this.entries.get(registration.name) ?? []
    const after = list.findIndex((entry) => entry.registration.priority < registration.priority)
    // A new list each time, so that a call under way keeps the one it began with.
    this.entries.set(
      registration.name,
      list.toSpliced(after === -1 ? list.length : after, 0, { registration, leave }),
    )
    return registration
  }

  /** Undoes a registration and ends its calls under way. Idempotent. */
  remove(registration: Registration): void {
    const { name } = registration
    const list = this.entries.get(name) ?? []
    const entry = list.find((known) => known.registration === registration)
    if (entry === undefined) return
    const rest = list.filter((known) => known !== entry)
    if (rest.length === 0) this.entries.delete(name)
    else this.entries.set(name, rest)
    entry.leave.abort(
      new AgentLoopError('hook-failed', `hook ${name} of plugin "${registration.plugin}" was undone`),
    )
  }

  has(name: HookName): boolean {
    return this.entries.has(name)
  }

  /** In the order of the calls, as they are now. */
  list(name: HookName): readonly Registration[] {
    return (this.entries.get(name) ?? []).map((entry) => entry.registration)
  }

  private check(
    plugin: string,
    name: unknown,
    handler: unknown,
    options: unknown = {},
  ): Omit<Registration, 'gone'> {
    const spec = typeof name === 'string' ? specOf(name) : undefined
    const given = typeof options === 'object' && options !== null ? (options as Record<string, unknown>) : {}
    const problems = [
      ...(spec === undefined ? [`there is no hook ${JSON.stringify(name)}; there are ${known()}`] : []),
      ...(typeof handler === 'function' ? [] : ['the handler is no function']),
      ...problemsOfOptions(options, given),
      ...(spec?.kind === 'observe' && given['failMode'] === 'closed'
        ? ['a hook that only observes cannot fail closed']
        : []),
      ...(spec?.kind === 'sync' && handler instanceof AsyncFunction
        ? ['the hook is synchronous, and an async function gives a promise']
        : []),
    ]
    if (spec === undefined || problems.length > 0) {
      throw new AgentLoopError('invalid', `hook of plugin "${plugin}" refused: ${problems.join('; ')}`)
    }
    const failMode = given['failMode'] as FailMode | undefined
    return {
      name: name as HookName,
      spec,
      handler: handler as AnyHandler,
      plugin,
      priority: (given['priority'] as number | undefined) ?? 0,
      timeoutMs: this.deadline(plugin, name as HookName, spec, given['timeoutMs'] as number | undefined),
      failMode: failMode ?? spec.failMode,
      promiseMode: failMode ?? 'closed',
    }
  }

  private deadline(plugin: string, name: HookName, spec: HookSpec, asked: number | undefined): number {
    const { plugins, timeouts, maxTimeoutMs } = this.settings
    if (Object.hasOwn(plugins, plugin)) return plugins[plugin] ?? spec.timeoutMs
    if (Object.hasOwn(timeouts, name)) return timeouts[name] ?? spec.timeoutMs
    return Math.min(asked ?? spec.timeoutMs, maxTimeoutMs)
  }
}

function problemsOfOptions(options: unknown, given: Record<string, unknown>): readonly string[] {
  if (typeof options !== 'object' || options === null) return ['the options are no object']
  const { priority, timeoutMs, failMode, ...rest } = given
  const unknown = Object.keys(rest)
  return [
    ...(unknown.length === 0 ? [] : [`unknown option ${unknown.join(', ')}`]),
    ...(priority === undefined || Number.isFinite(priority) ? [] : ['priority is no finite number']),
    ...(timeoutMs === undefined || isDelay(timeoutMs)
      ? []
      : [`timeoutMs is no whole number from 1 to ${MAX_TIMEOUT_MS}`]),
    ...(failMode === undefined || failMode === 'open' || failMode === 'closed'
      ? []
      : ['failMode is neither "open" nor "closed"']),
  ]
}

function isDelay(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_TIMEOUT_MS
}

function known(): string {
  return [...Object.keys(CATALOGUE), 'command:<name>'].join(', ')
}
