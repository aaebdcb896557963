/**
 * What is let go: all of a root (purge), or the texts of its finished graphs that nothing can need
 * (compact). Owns the order of removals, so that a crash in the middle leaves something that the
 * next call finds and finishes: a graph goes after its results, the registry after its graphs.
 */
import type { DurableLog } from 'dsh-durable-log'
import { graphStream, rootStream } from './entries.ts'
import { GraphControlError } from './errors.ts'
import type { GraphLedgers } from './graph-ledgers.ts'
import { registeredStream } from './graph-list.ts'
import { resultPrefix, resultStream } from './results.ts'

export interface RetentionParts {
  readonly log: DurableLog
  readonly ledgers: GraphLedgers
}

/** @param graphIds every graph that the root lists; one of another root is left alone. */
export async function purgeRoot(
  { log, ledgers }: RetentionParts,
  rootSessionId: string,
  graphIds: readonly string[],
): Promise<number> {
  const own: string[] = []
  for (const graphId of graphIds) if (await isOwnAndIdle(ledgers, graphId, rootSessionId)) own.push(graphId)
  for (const graphId of own) {
    for (const stream of await streamsUnder(log, resultPrefix(graphId))) await log.remove(stream)
    await ledgers.remove(graphId, () => log.remove(graphStream(graphId)))
  }
  await log.remove(registeredStream(rootSessionId))
  await log.remove(rootStream(rootSessionId))
  return own.length
}

export async function compactGraphs(
  { log, ledgers }: RetentionParts,
  root: string,
  graphIds: readonly string[],
): Promise<number> {
  let removed = 0
  for (const graphId of graphIds) {
    const { closed, finish, live, records, rootSessionId } = await ledgers.read(graphId)
    if (rootSessionId !== root || !closed || live.claims.size > 0) continue
    const results = (finish?.resultIds ?? []).flatMap((recordId) => records.get(recordId) ?? [])
    const kept = new Set(results.map((record) => resultStream(graphId, record)))
    for (const stream of await streamsUnder(log, resultPrefix(graphId))) {
      if (kept.has(stream)) continue
      await log.remove(stream)
      removed += 1
    }
  }
  return removed
}

/** A damaged graph can be purged: that is one cure of it. */
async function isOwnAndIdle(ledgers: GraphLedgers, graphId: string, root: string): Promise<boolean> {
  try {
    const { live, rootSessionId, seq } = await ledgers.read(graphId)
    // Listed and never opened, or gone with an earlier call.
    if (seq === 0) return false
    if (rootSessionId !== undefined && rootSessionId !== root) return false
    if (live.claims.size === 0) return true
  } catch (error) {
    if (error instanceof GraphControlError && error.code === 'quarantined') return true
    throw error
  }
  throw new GraphControlError(
    'work-conflict',
    `graph ${graphId} has activations that run; stop the graph, wait for them, and purge then`,
  )
}

async function streamsUnder(log: DurableLog, prefix: string): Promise<readonly string[]> {
  const streams: string[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await log.list({ prefix, ...(cursor === undefined ? {} : { cursor }) })
    streams.push(...page.streams.map((head) => head.stream))
    cursor = page.cursor
  }
  return streams
}
