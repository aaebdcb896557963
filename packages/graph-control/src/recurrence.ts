/** When a recurring wake comes again. Pure. */
import type { Wake } from './types.ts'

const OCCURRENCE = /^(?<base>.*)#occurrence-(?<index>\d+)$/u

/**
 * The wake that follows this one, due at the first time after `at` that the beat of the first one
 * meets: times that passed meanwhile are left out. `undefined` for a wake that does not recur.
 */
export function nextOccurrence(wake: Wake, at: number): Wake | undefined {
  const { recurMs, dueAt, rootSessionId, snapshotVersion } = wake
  if (recurMs === undefined || dueAt === undefined) return undefined
  const beats = Math.max(1, Math.floor((at - dueAt) / recurMs) + 1)
  const { base = wake.wakeId, index = '1' } = OCCURRENCE.exec(wake.wakeId)?.groups ?? {}
  return {
    wakeId: `${base}#occurrence-${Number(index) + 1}`,
    snapshotVersion,
    rootSessionId,
    status: 'pending',
    attempts: 0,
    dueAt: dueAt + beats * recurMs,
    recurMs,
    createdAt: at,
    updatedAt: at,
  }
}
