/** The defaults of a session: what was set for it over what is configured for all. Pure. */
import type { QueueSettings, SessionSettings } from './queue-types.ts'
import type { DefaultsChange } from './request-schemas.ts'

/** What is set, after another change; what a change takes back is not there any more. */
export function mergedDefaults(set: DefaultsChange, changes: DefaultsChange): DefaultsChange {
  const { queue, ...others } = changes
  const merged = withoutNulls({ ...set, ...withoutUndefined(others) })
  const queued = withoutNulls({ ...set.queue, ...withoutUndefined(queue ?? {}) })
  const { queue: _old, ...rest } = merged
  return Object.keys(queued).length === 0 ? rest : { ...rest, queue: queued }
}

/** What holds for a session. */
export function settingsOf(set: DefaultsChange, configured: QueueSettings): SessionSettings {
  const { queue, ...others } = set
  return {
    ...(withoutUndefined(others) as Omit<SessionSettings, 'queue'>),
    queue: { ...configured, ...(withoutUndefined(queue ?? {}) as Partial<QueueSettings>) },
  }
}

function withoutUndefined<T extends object>(value: T): T {
  return without(value, undefined)
}

function withoutNulls<T extends object>(value: T): T {
  return without(value, null)
}

function without<T extends object>(value: T, absent: null | undefined): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== absent)) as T
}
