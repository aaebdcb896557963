/** Events of the graph host on the Cordis bus. */
import type { Context } from '@deepseek-ai/cordis'
import { textOfError } from './errors.ts'

/** A graph of a root session moved on. */
export interface GraphChange {
  readonly graphId: string
  readonly rootSessionId: string
  /** Position in the graph's stream; grows with every change. */
  readonly seq: number
  readonly revision: number
}

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * After each commit to a graph whose root is served by this host, also for status changes of
     * its works. A listener that throws is contained.
     * @mode emit
     */
    'graph/change'(change: GraphChange): void
  }
}

/**
 * Tells every listener. Cordis would let the first that throws starve the others, and would drop a
 * promise that rejects; here each failure is contained and logged.
 */
export function announceGraphChange(ctx: Context, change: GraphChange): void {
  const warn = (error: unknown) =>
    void ctx.logger('dsh-graph-host').warn('%s', `a listener of graph/change failed: ${textOfError(error)}`)
  for (const listener of ctx.events.dispatch('emit', ['graph/change', change])) {
    try {
      void Promise.resolve(listener(change)).catch(warn)
    } catch (error) {
      warn(error)
    }
  }
}
