/** Events of the graph host on the Cordis bus. */

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
