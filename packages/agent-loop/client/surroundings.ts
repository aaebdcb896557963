import type { Surroundings } from './lanes-source.ts'

/** Those of a page in a browser. */
export const PAGE: Surroundings = {
  now: () => Date.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
  isSeen: () => document.visibilityState === 'visible',
  onSeen: (act) => {
    document.addEventListener('visibilitychange', act)
    return () => document.removeEventListener('visibilitychange', act)
  },
}
