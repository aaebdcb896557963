/** Waiting for runs of the agent-loop host, and what its shutdown means for those who wait. */
import type { AgentLoopHost, RunOutcome } from 'dsh-agent-loop-host'

/** Window of one wait; waiting is repeated until the run has ended. */
const WAIT_WINDOW_MS = 600_000

/** Resolves with the end of a run. @throws the signal's reason, or what the host refuses with. */
export async function runEnd(loop: AgentLoopHost, runId: string, signal?: AbortSignal): Promise<RunOutcome> {
  for (;;) {
    const window = { runId, timeoutMs: WAIT_WINDOW_MS }
    const outcome = await loop.wait(signal === undefined ? window : { ...window, signal })
    signal?.throwIfAborted()
    if (outcome.status !== 'timeout') return outcome
  }
}

/**
 * The agent-loop host is going away, or takes nothing more before it does. This plugin needs it and
 * goes with it; until then nothing may be decided: what is open in the log goes on in the next process.
 */
export function isLoopClosing(error: unknown): boolean {
  const { code } = error instanceof Error ? (error as { readonly code?: unknown }) : {}
  return code === 'closed' || code === 'draining'
}

/** Rejects with the signal's reason once it fires. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
