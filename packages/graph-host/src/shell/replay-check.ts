/**
 * Whether what is read fast is what the log says: every graph is folded once from its first entry and
 * once from its snapshot, and the two are compared. Reads only.
 */
import type { DurableLog } from 'dsh-durable-log'
import { GraphControlError, GraphControlStore, stableHash, type GraphState } from 'dsh-graph-control'

export interface ReplayFinding {
  readonly graphId: string
  readonly seq: number
  readonly snapshotSeq: number | undefined
  readonly verdict: 'same' | 'different' | 'unreadable'
  /** Fields that differ, or why it cannot be read. */
  readonly detail?: string
}

/** A graph that moves on between the two foldings is looked at again, this often. */
const MAX_ROUNDS = 8
const FIELDS = [
  'rootSessionId',
  'seq',
  'revision',
  'changeSeq',
  'seenChangeSeq',
  'phase',
  'closed',
  'finish',
  'createdAt',
  'fence',
  'usage',
  'works',
  'operators',
  'bindings',
  'claims',
  'records',
  'wakes',
  'wait',
  'counts',
  'live',
] as const satisfies readonly (keyof GraphState)[]

export async function checkReplay(log: DurableLog, graphId: string): Promise<ReplayFinding> {
  const whole: DurableLog = Object.assign(Object.create(log) as DurableLog, {
    loadSnapshot: async () => undefined,
  })
  const snapshotSeq = await snapshotSeqOf(log, graphId)
  try {
    for (let round = 1; ; round += 1) {
      const [fast, slow] = [await stateOf(log, graphId), await stateOf(whole, graphId)]
      const different = FIELDS.filter((field) => digestOf(fast?.[field]) !== digestOf(slow?.[field]))
      const seq = slow?.seq ?? 0
      if (different.length === 0) return { graphId, seq, snapshotSeq, verdict: 'same' }
      if (fast?.seq === slow?.seq || round === MAX_ROUNDS)
        return { graphId, seq, snapshotSeq, verdict: 'different', detail: different.join(', ') }
    }
  } catch (error) {
    if (!(error instanceof GraphControlError) || error.code !== 'quarantined') throw error
    return { graphId, seq: 0, snapshotSeq, verdict: 'unreadable', detail: error.message }
  }
}

async function snapshotSeqOf(log: DurableLog, graphId: string): Promise<number | undefined> {
  try {
    return (await log.loadSnapshot(`graph/${graphId}`))?.seq
  } catch {
    // A snapshot that cannot be read is passed over by the store as well.
    return undefined
  }
}

/** A store of its own each time: what an earlier one has in memory proves nothing. */
async function stateOf(log: DurableLog, graphId: string): Promise<GraphState | undefined> {
  const store = await GraphControlStore.open(log)
  try {
    return await store.readGraph(graphId)
  } finally {
    await store.close()
  }
}

function digestOf(value: unknown): string {
  return stableHash(plainOf(value) ?? null)
}

/** Maps as lists of pairs in their order; what is absent is left out. */
function plainOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plainOf)
  if (isMap(value)) return [...value.entries()].map(([key, held]) => [key, plainOf(held)])
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, held]) => (held === undefined ? [] : [[key, plainOf(held)]])),
  )
}

function isMap(value: object): value is ReadonlyMap<string, unknown> {
  return 'entries' in value && typeof value.entries === 'function' && 'get' in value
}
