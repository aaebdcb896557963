/**
 * A graph as it may be compared with another run of the same script: what was asked for, how it ended,
 * what every operator left, and which works shared one. Left out is what a crash may change: times,
 * attempts, tokens, wakes, and ids that stand for a moment.
 */
import { sqliteLog } from 'dsh-durable-log'
import { GraphControlStore, type GraphState, type Work } from 'dsh-graph-control'

const PAGE_CHARS = 1_000_000

/** All graphs of a root in a log on SQLite, as JSON with a line for each fact. */
export async function canonicalGraphs(path: string, rootSessionId: string): Promise<string> {
  const log = sqliteLog({ path })
  const store = await GraphControlStore.open(log)
  try {
    const graphs: unknown[] = []
    for (const { graphId } of await store.listEpochs(rootSessionId)) {
      const state = await store.readGraph(graphId)
      graphs.push(state === undefined ? 'never opened' : await canonicalGraph(store, state))
    }
    return JSON.stringify(graphs, undefined, 1)
  } finally {
    await store.close()
    await log.close()
  }
}

async function canonicalGraph(store: GraphControlStore, state: GraphState): Promise<object> {
  const works = [...state.works.values()].toSorted((one, other) => (one.workId < other.workId ? -1 : 1))
  const { finish, phase } = state
  return {
    phase,
    finish: { reason: finish?.reason, results: finish?.resultIds.map((id) => nameOf(state, id)) },
    works: await Promise.all(works.map((work) => canonicalWork(store, state, work))),
  }
}

async function canonicalWork(store: GraphControlStore, state: GraphState, work: Work): Promise<object> {
  const operator = state.operators.get(work.operatorId ?? '')
  const results: object[] = []
  for (const recordId of work.recordIds) {
    const { text } = await store.readResult(state.graphId, recordId, { limit: PAGE_CHARS })
    results.push({ name: nameOf(state, recordId), text })
  }
  const { forEach, inputIds, instruction, itemWorkIds, joinedBy } = work
  const { reason, replay, status, target, title, when, workId } = work
  return {
    workId,
    title,
    instruction,
    inputIds: inputIds.map((id) => (state.records.has(id) ? nameOf(state, id) : id)),
    when,
    forEach,
    replay,
    joinedBy,
    itemWorkIds,
    target: target.kind,
    status,
    reason,
    operatorOf: operator?.workId,
    results,
  }
}

/** A record by the work that left it and its place there. */
function nameOf({ records, works }: GraphState, recordId: string): string {
  const record = records.get(recordId)
  const at = works.get(record?.workId ?? '')?.recordIds.indexOf(recordId)
  return `${record?.workId ?? recordId}/${record?.name ?? record?.kind ?? 'unknown'}/${at ?? 'unknown'}`
}
