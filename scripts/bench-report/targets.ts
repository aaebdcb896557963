/** What is to be reached, by the key of the figure (figure-keys.ts). A figure without a row is only told. */

/** `ratio`: of the figure; `median`, `p95`: in its own unit. */
export type Measure = 'ratio' | 'median' | 'p95'

export interface Target {
  readonly measure: Measure
  readonly atMost?: number
  readonly atLeast?: number
}

const atMost = (bound: number, measure: Measure = 'ratio'): Target => ({ measure, atMost: bound })
const atLeast = (bound: number, measure: Measure = 'ratio'): Target => ({ measure, atLeast: bound })

export const TARGETS: Readonly<Record<string, Target>> = {
  'agent-loop accept': atMost(2),
  'agent-loop event-fanout-memory': atMost(1.05),
  'agent-loop lane-throughput': atLeast(2),
  'agent-loop lane-million enqueue': atMost(1.5),
  'agent-loop lane-million remove by id': atMost(1.5),
  'agent-loop lane-million dequeue': atMost(1.5),
  'agent-loop pg-boss-lanes': atLeast(0.8),
  'agent-loop pg-boss-hosts four': atLeast(2.5),
  'agent-loop turn-overhead, SQLite': atMost(1.02),
  'agent-loop turn-overhead in ms, SQLite': atMost(3, 'median'),
  'durable-log append-single': atLeast(0.85),
  'durable-log append-concurrent': atLeast(8),
  'durable-log postgres-append': atLeast(0.8),
  'graph-control commit': atMost(1.3),
  'graph-control commit #2': atMost(1.3),
  'graph-control commit #3': atMost(1.3),
  'graph-control claim-begin': atMost(2.3),
  'graph-control claim-begin #2': atMost(2.3),
  'graph-control claim-begin #3': atMost(2.3),
  'graph-control update-flat': atMost(1.5),
  'graph-control view-flat': atMost(1.5),
  'graph-control reconcile-flat': atMost(1.5),
  'graph-control update-flat #2': atMost(1.5),
  'graph-control view-flat #2': atMost(1.5),
  'graph-control reconcile-flat #2': atMost(1.5),
  'graph-control fold': atLeast(1),
  'graph-control fold #2': atLeast(1),
  'graph-control open': atMost(1),
  'graph-control open #2': atMost(1),
  'graph-control memory': atMost(1),
  'graph-control memory #2': atMost(1),
  'graph-host throughput': atMost(1.5),
  'graph-host wave-ideal': atMost(1.15),
  // 10 ms above the 95th percentile of a bare follow-up, which is about 1 ms.
  'graph-host wake-latency': atMost(11, 'p95'),
  'graph-runtime call-overhead': atMost(1.05),
  'graph-runtime call-retained': atMost(1),
  'graph-runtime import': atMost(30, 'median'),
  'graph-runtime lossless': atLeast(8),
  'graph-runtime lossless-10MB': atMost(1.5),
  'graph-runtime lossless-100MB': atMost(1.5),
  'graph-runtime mount': atMost(60, 'median'),
  'graph-runtime mount-reading': atMost(60, 'median'),
  'graph-runtime mount-tool': atMost(150, 'median'),
  'graph-runtime router': atMost(200, 'median'),
  'graph-runtime router-with-listeners': atMost(200, 'median'),
  'graph-runtime router-with-two-retries': atMost(200, 'median'),
  'tool-graph [update-flat] 1000 works': atMost(1.5),
  'tool-graph [update-flat] 10000 works': atMost(1.5),
  'tool-graph [view-flat] 1000 works': atMost(1.5),
  'tool-graph [view-flat] 10000 works': atMost(1.5),
  // The 95th percentile of a view of 10,000 works under 5 ms, an update under 2 ms beyond its append.
  'tool-graph view that acknowledges, 10000 works': atMost(5, 'p95'),
  'tool-graph update beyond its append, 10000 works': atMost(2, 'median'),
}

/** The share of what is allowed that a value takes: at most 1 where the target is met. */
export function shareOf({ atMost: most, atLeast: least }: Target, value: number): number {
  if (most !== undefined) return value / most
  return (least ?? 0) / value
}
