/** Those who are told about runs in this process. Contains what they throw. */
import type { RunListener } from './types.ts'

export class RunListeners {
  private readonly entries = new Set<{ readonly listener: RunListener }>()
  private readonly warn: (text: string) => void

  constructor(warn: (text: string) => void) {
    this.warn = warn
  }

  add(listener: RunListener): () => void {
    // The same object twice is told twice and taken away one at a time.
    const entry = { listener }
    this.entries.add(entry)
    return () => void this.entries.delete(entry)
  }

  tell(told: (listener: RunListener) => void): void {
    for (const { listener } of this.entries) {
      try {
        told(listener)
      } catch (error) {
        this.warn(`a listener of runs failed: ${String(error)}`)
      }
    }
  }
}

/** The id under which a turn that is not ours is told of. */
export function observedRunId(sessionId: string, turn: number): string {
  return `turn_${sessionId}_${turn}`
}

/** The session of such an id; undefined when it is not of that form. */
export function observedSessionOf(runId: string): string | undefined {
  return /^turn_(.+)_\d+$/s.exec(runId)?.[1]
}
