/** A log whose appends a test can hold up, and whose news it can keep from a host. */
import { DurableLogError, type DurableLog, type Entry } from 'dsh-durable-log'

export interface HeldLog {
  readonly log: DurableLog
  /** Resolves when an append is held. */
  readonly held: Promise<void>
  /** Lets held appends go on, and all that come. */
  release(): void
  /** Fails held appends, and all that come, as a server that is away does. */
  fail(): void
}

/** @param holds whether an append is to be held. */
export function heldLog(
  log: DurableLog,
  holds: (stream: string, entries: readonly Entry[]) => boolean,
  { isDeaf = false } = {},
): HeldLog {
  const gate = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  gate.promise.catch(() => undefined)
  let isOpen = false
  const pass = async (stream: string, entries: readonly Entry[]): Promise<void> => {
    if (isOpen || !holds(stream, entries)) return
    held.resolve()
    await gate.promise
  }
  const methods: Pick<DurableLog, 'append' | 'appendWith' | 'subscribe'> = {
    append: async (stream, expectedSeq, entries, options) => {
      await pass(stream, entries)
      return await log.append(stream, expectedSeq, entries, options)
    },
    appendWith: async (stream, expectedSeq, entries, work, options) => {
      await pass(stream, entries)
      if (log.appendWith === undefined) throw new DurableLogError('invalid', 'this log has no SQL')
      return await log.appendWith(stream, expectedSeq, entries, work, options)
    },
    subscribe: (prefix, listener) => (isDeaf ? () => undefined : log.subscribe(prefix, listener)),
  }
  return {
    log: new Proxy(log, {
      get: (target, key) => {
        if (key === 'append' || key === 'appendWith' || key === 'subscribe') return methods[key]
        const member = Reflect.get(target, key) as unknown
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      },
    }),
    held: held.promise,
    release: () => {
      isOpen = true
      gate.resolve()
    },
    fail: () => gate.reject(new DurableLogError('unavailable', 'the test has cut it off')),
  }
}
