/** What a person may do to a work now, and why not where they may not. Pure. */
import type { GraphHead, WorkCard } from '../src/feed/wire.ts'
import { isEnded } from './graph-model.ts'
import type { Word } from './words-en.ts'

export type Verb = 'stop' | 'stopDown' | 'retry' | 'confirm'

export const VERBS: readonly Verb[] = ['confirm', 'retry', 'stop', 'stopDown']

/** @returns why a verb is not possible; `undefined` when it is. */
export function hindrance(
  verb: Verb,
  work: WorkCard,
  head: GraphHead | undefined,
  isPast: boolean,
): Word | undefined {
  if (isPast) return 'act.why.replay'
  if (head?.phase === 'closed') return 'act.why.closed'
  switch (verb) {
    case 'stop':
    case 'stopDown':
      return isEnded(work.status) ? 'act.why.ended' : undefined
    case 'retry':
      if (work.replacedBy !== undefined) return 'act.why.replaced'
      return RETRIED.has(work.status) ? undefined : 'act.why.notFailed'
    case 'confirm':
      return work.waits?.for === 'person' || work.waits?.for === 'model' ? undefined : 'act.why.notHeld'
  }
}

const RETRIED: ReadonlySet<WorkCard['status']> = new Set(['failed', 'cancelled', 'stopped', 'skipped'])
