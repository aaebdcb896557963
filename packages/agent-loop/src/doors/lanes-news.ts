/** What the door tells of lanes and queues. Types only: the page imports them, and nothing of the host with them. */
import type { QueuedItem } from '../queue-types.ts'
import type { LaneMetrics, LaneSnapshot } from '../types.ts'

export interface LanesNews {
  readonly lanes: readonly LaneSnapshot[]
  readonly metrics: readonly LaneMetrics[]
  /** Of the session that was asked for, then of the first sessions in which something waits. */
  readonly queues: readonly { readonly sessionId: string; readonly items: readonly QueuedItem[] }[]
}
