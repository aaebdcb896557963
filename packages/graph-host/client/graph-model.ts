/**
 * What the page knows of one graph, and how a message of the feed changes it. Pure: each message
 * leads to another model, and what did not change keeps its identity.
 */
import type { FeedMessage, GraphHead, WorkCard, WorkCardStatus } from '../src/feed/wire.ts'

export type Counts = Readonly<Record<WorkCardStatus, number>>

export interface GraphModel {
  /** `none`: the session has no graph. `loading`: works are still to come. */
  readonly phase: 'connecting' | 'none' | 'loading' | 'live' | 'refused'
  /** False while the page has no connection: what it shows may be old. */
  readonly connected: boolean
  readonly head: GraphHead | undefined
  /** In order of addition. */
  readonly works: ReadonlyMap<string, WorkCard>
  readonly counts: Counts
  /** Works that a person has to say a word about. */
  readonly held: number
  /** Grows when a work or an input came or went; then the picture is laid out anew. */
  readonly shape: number
  readonly refusal: string | undefined
  /** Of a snapshot that is under way: the old works stay until it is whole. */
  readonly incoming: readonly WorkCard[] | undefined
}

const NO_COUNTS: Counts = {
  waiting: 0,
  ready: 0,
  claimed: 0,
  running: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  stopped: 0,
  superseded: 0,
  skipped: 0,
}

export const STATUSES = Object.keys(NO_COUNTS) as readonly WorkCardStatus[]

export const EMPTY_MODEL: GraphModel = {
  phase: 'connecting',
  connected: false,
  head: undefined,
  works: new Map(),
  counts: NO_COUNTS,
  held: 0,
  shape: 0,
  refusal: undefined,
  incoming: undefined,
}

/** @returns the same model for a connection state that it has already. */
export function withConnection(model: GraphModel, connected: boolean): GraphModel {
  if (model.connected === connected) return model
  if (connected || model.incoming === undefined) return { ...model, connected }
  // A snapshot that broke off in the middle begins anew: what is there is not whole.
  return { ...model, connected, incoming: undefined, phase: 'loading' }
}

export function reduce(model: GraphModel, message: FeedMessage): GraphModel {
  switch (message.type) {
    // Of another kind of look.
    case 'run':
    case 'supervision':
      return model
    case 'none':
      return { ...EMPTY_MODEL, phase: 'none', connected: true, shape: model.shape + 1 }
    case 'refused':
      return { ...model, phase: 'refused', connected: true, refusal: message.message }
    case 'snapshot': {
      const isOther = model.head?.graphId !== message.head.graphId
      const kept = isOther ? { ...EMPTY_MODEL, shape: model.shape + 1 } : model
      const phase = kept.works.size === 0 ? 'loading' : 'live'
      return { ...kept, phase, connected: true, head: message.head, refusal: undefined, incoming: [] }
    }
    case 'works': {
      const { head, works, last = false } = message
      if (model.incoming === undefined) return withWorks(model, head, works)
      const incoming = [...model.incoming, ...works]
      return last ? whole(model, head, incoming) : { ...model, incoming }
    }
  }
}

function whole(model: GraphModel, head: GraphHead, cards: readonly WorkCard[]): GraphModel {
  const works = new Map(cards.map((card) => [card.id, card]))
  return { ...counted(works), ...about(head), works, shape: model.shape + 1 }
}

function withWorks(model: GraphModel, head: GraphHead, changed: readonly WorkCard[]): GraphModel {
  if (changed.length === 0) return { ...model, ...about(head) }
  const works = new Map(model.works)
  let isOther = false
  for (const card of changed.toSorted((a, b) => a.ordinal - b.ordinal)) {
    isOther ||= !hasSameLines(works.get(card.id), card)
    works.set(card.id, card)
  }
  return { ...counted(works), ...about(head), works, shape: model.shape + (isOther ? 1 : 0) }
}

/** What a message that ends with works says about the graph as a whole. */
function about(head: GraphHead): Pick<GraphModel, 'phase' | 'connected' | 'head' | 'refusal' | 'incoming'> {
  return { phase: 'live', connected: true, head, refusal: undefined, incoming: undefined }
}

function hasSameLines(before: WorkCard | undefined, after: WorkCard): boolean {
  if (before === undefined || before.replacedBy !== after.replacedBy) return false
  return before.inputIds.length === after.inputIds.length
}

function counted(works: ReadonlyMap<string, WorkCard>): Pick<GraphModel, 'counts' | 'held'> {
  const counts = { ...NO_COUNTS }
  let held = 0
  for (const { status, waits } of works.values()) {
    counts[status] += 1
    if (waits?.for === 'person') held += 1
  }
  return { counts, held }
}

/** Works that are over in whatever way. */
export function endedIn({ counts }: Pick<GraphModel, 'counts'>): number {
  return (
    counts.completed + counts.failed + counts.cancelled + counts.stopped + counts.superseded + counts.skipped
  )
}

export function isEnded(status: WorkCardStatus): boolean {
  return !(status === 'waiting' || status === 'ready' || status === 'claimed' || status === 'running')
}

/** What a person looks for first: a failure, then a held work. */
export function firstTrouble(works: ReadonlyMap<string, WorkCard>): WorkCard | undefined {
  let held: WorkCard | undefined
  for (const work of works.values()) {
    if (work.status === 'failed' && work.replacedBy === undefined) return work
    if (work.waits?.for === 'person') held ??= work
  }
  return held
}

/** The work that has waited longest for something other than another work, or else any that waits. */
export function oldestWait(works: ReadonlyMap<string, WorkCard>): WorkCard | undefined {
  let found: WorkCard | undefined
  for (const work of works.values()) {
    const { waits } = work
    if (waits === undefined) continue
    if (waits.for !== 'works') return work
    found ??= work
  }
  return found
}
