/** Stores on real media, and the few steps that most tests begin with. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DurableLog, kvUnitLog, memoryLog, sqliteLog } from 'dsh-durable-log'
import { memoryKvUnit } from 'dsh-durable-log/testing'
import { expect, onTestFinished } from 'vitest'
import {
  type Claim,
  type ClaimRequest,
  epochGraphId,
  graphClaimId,
  graphIntentId,
  GraphControlStore,
  type GraphControlErrorCode,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  type GraphState,
  graphUpdateId,
  type ProvisionRequest,
  type ScheduleUpdate,
  type ScheduleUpdateRequest,
  type SettleRequest,
  stableHash,
  type WorkRequest,
} from '../src/index.ts'

export const ROOT = 'root-session'
export const GRAPH = epochGraphId(ROOT, 1)

export type Medium = 'memory' | 'sqlite' | 'kv'
export const MEDIA: readonly Medium[] = ['memory', 'sqlite', 'kv']

export interface OpenedLog {
  readonly log: DurableLog
  /** The same medium as a process that starts later finds it. */
  reopen(): Promise<DurableLog>
}

/** A log on a fresh medium, gone when the test is over. */
export async function openLog(medium: Medium): Promise<OpenedLog> {
  if (medium === 'memory') {
    const log = memoryLog()
    onTestFinished(() => log.close())
    return { log, reopen: async () => log }
  }
  if (medium === 'kv') return openUnit()
  const folder = await mkdtemp(join(tmpdir(), 'graph-control-'))
  const path = join(folder, 'log.sqlite')
  const opened: DurableLog[] = [sqliteLog({ path })]
  onTestFinished(async () => {
    await Promise.all(opened.map((log) => log.close()))
    await rm(folder, { recursive: true, force: true })
  })
  return {
    log: opened[0] as DurableLog,
    reopen: async () => {
      await Promise.all(opened.map((log) => log.close()))
      opened.push(sqliteLog({ path }))
      return opened.at(-1) as DurableLog
    },
  }
}

/** A storage unit of DSH; a restart finds it as a crash leaves it. */
function openUnit(): OpenedLog {
  const unit = memoryKvUnit()
  const opened = [kvUnitLog(unit)]
  onTestFinished(() => Promise.all(opened.map((log) => log.close())).then(() => undefined))
  return {
    log: opened[0] as DurableLog,
    reopen: async () => {
      opened.push(kvUnitLog(unit.reopen()))
      return opened.at(-1) as DurableLog
    },
  }
}

export interface OpenedStore extends OpenedLog {
  readonly store: GraphControlStore
  reopenStore(): Promise<GraphControlStore>
}

/** A store whose clock ticks once for every operation, so that times tell the order. */
export async function openStore(medium: Medium = 'memory'): Promise<OpenedStore> {
  const opened = await openLog(medium)
  const store = await storeOn(opened.log)
  return { ...opened, store, reopenStore: async () => storeOn(await opened.reopen()) }
}

export async function storeOn(log: DurableLog): Promise<GraphControlStore> {
  let time = 1_000
  const store = await GraphControlStore.open(log, { now: () => (time += 1) })
  onTestFinished(() => store.close())
  return store
}

/** A store with the first epoch of {@link ROOT} open. */
export async function openGraph(medium: Medium = 'memory'): Promise<OpenedStore> {
  const opened = await openStore(medium)
  await opened.store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
  return opened
}

export function work(workId: string, parts: Partial<WorkRequest> = {}): WorkRequest {
  return {
    workId,
    target: { kind: 'agent', id: 'default' },
    instruction: `do ${workId}`,
    inputIds: [],
    ...parts,
  }
}

export type UpdateParts = Partial<
  Pick<ScheduleUpdateRequest, 'addWork' | 'stop' | 'retry' | 'finish' | 'draft' | 'graphId'>
>

/** An update as tool call `toolCallId` of the root would make it. */
export function update(toolCallId: string, parts: UpdateParts = {}): ScheduleUpdateRequest {
  const graphId = parts.graphId ?? GRAPH
  const source = { sessionId: ROOT, runId: 'graph_run_1', turnId: 'graph_turn_1', toolCallId }
  const payload = { addWork: parts.addWork ?? [], stop: parts.stop ?? [] }
  const { retry, finish, draft } = parts
  const optional = {
    ...(retry === undefined ? {} : { retry }),
    ...(finish === undefined ? {} : { finish }),
    ...(draft === undefined ? {} : { draft }),
  }
  return {
    schemaVersion: 1,
    updateId: graphUpdateId({ graphId, ...source }),
    updateFingerprint: stableHash({ ...payload, ...optional }),
    graphId,
    source,
    ...payload,
    ...optional,
  }
}

export async function commit(
  store: GraphControlStore,
  toolCallId: string,
  parts: UpdateParts,
): Promise<ScheduleUpdate> {
  return (await store.commitScheduleUpdate(update(toolCallId, parts))).update
}

export async function graph(store: GraphControlStore, graphId = GRAPH): Promise<GraphState> {
  const state = await store.readGraph(graphId)
  if (state === undefined) throw new Error(`graph ${graphId} has no entries`)
  return state
}

export async function statuses(store: GraphControlStore): Promise<Record<string, string>> {
  const { works } = await graph(store)
  return Object.fromEntries([...works].map(([workId, { status }]) => [workId, status]))
}

/** A work id as part of a run id: short, and without the mark of a later attempt. */
function label(workId: string): string {
  return workId.length > 100 ? stableHash(workId) : workId.replaceAll('#', '.')
}

export function provisionRequest(workId: string, revision: number): ProvisionRequest {
  const operatorId = graphOperatorId(GRAPH, workId)
  return {
    provisionId: graphProvisionId(GRAPH, workId),
    provisionFingerprint: stableHash({ workId }),
    graphId: GRAPH,
    workId,
    operatorId,
    targetSessionId: graphOperatorSessionId(GRAPH, operatorId),
    initialTurnId: `turn-of-${label(workId)}`,
    initialRunId: `run-of-${label(workId)}`,
    expectedScheduleRevision: revision,
  }
}

/** @param retries how often the work was retried: its turn and run are new each time. */
export function claimRequest(workId: string, operatorOf = workId, retries = 0): ClaimRequest {
  const operatorId = graphOperatorId(GRAPH, operatorOf)
  const intentId = graphIntentId(GRAPH, workId, retries)
  const again = retries === 0 ? '' : `~${retries}`
  return {
    schemaVersion: 1,
    claimId: graphClaimId(GRAPH, intentId),
    graphId: GRAPH,
    intentId,
    workId,
    intentFingerprint: stableHash({ intent: workId }),
    targetOperatorId: operatorId,
    targetSessionId: graphOperatorSessionId(GRAPH, operatorId),
    targetTurnId: `turn-of-${label(workId)}${again}`,
    targetRunId: `run-of-${label(workId)}${again}`,
  }
}

/** Provisions the operator of a work, at whatever revision the graph is. */
export async function provision(store: GraphControlStore, workId: string): Promise<void> {
  await store.provisionOperator(provisionRequest(workId, (await graph(store)).revision))
}

/** Provisions and claims a work, also one that is done once more. */
export async function claim(store: GraphControlStore, workId: string): Promise<Claim> {
  const { works } = await graph(store)
  if (works.get(workId)?.operatorId === undefined) await provision(store, workId)
  const retries = works.get(workId)?.retries ?? 0
  return (await store.claimIntent(claimRequest(workId, workId, retries))).claim
}

/** Provisions, claims and begins a work. */
export async function begin(store: GraphControlStore, workId: string): Promise<Claim> {
  const { claimId, intentId } = await claim(store, workId)
  const { revision } = await graph(store)
  await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, revision)
  const begun = (await graph(store)).claims.get(claimId)
  if (begun === undefined) throw new Error(`no claim ${claimId}`)
  return begun
}

export function settlement(workId: string, parts: Partial<SettleRequest> = {}): SettleRequest {
  const { claimId } = claimRequest(workId)
  return {
    graphId: GRAPH,
    claimId,
    attempt: 1,
    outcome: 'completed',
    conclusion: `result of ${workId}`,
    ...parts,
  }
}

/** Runs a work to its end; answers the id of its record. */
export async function complete(store: GraphControlStore, workId: string, text?: string): Promise<string> {
  const { claimId } = await begin(store, workId)
  const parts = text === undefined ? {} : { conclusion: text }
  const { record } = await store.settleActivation(settlement(workId, { claimId, ...parts }))
  return record?.recordId ?? ''
}

export async function fail(store: GraphControlStore, workId: string, reason = 'it broke'): Promise<void> {
  const { claimId } = await begin(store, workId)
  const { conclusion: _, ...request } = settlement(workId, { claimId })
  await store.settleActivation({ ...request, outcome: 'failed', reason })
}

/**
 * What an operation is refused with; an operation that is not refused, or that wrote something
 * all the same, is the failure of the test.
 */
export async function refusal(store: GraphControlStore, operation: () => Promise<unknown>): Promise<unknown> {
  const before = (await store.readGraph(GRAPH))?.seq
  const error: unknown = await operation().then(
    (value) => expect.fail(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect((await store.readGraph(GRAPH))?.seq, 'a refused operation wrote something').toBe(before)
  return error
}

/** A refusal with this code, whose text names what it should. */
export function refusedAs(code: GraphControlErrorCode, text: string | RegExp = ''): object {
  const message: unknown =
    typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text)
  return { name: 'GraphControlError', code, message }
}

/** A log of which some operations are the test's own. */
export function overriding(log: DurableLog, parts: Partial<DurableLog>): DurableLog {
  return {
    append: (...args) => log.append(...args),
    read: (...args) => log.read(...args),
    list: (...args) => log.list(...args),
    saveSnapshot: (...args) => log.saveSnapshot(...args),
    loadSnapshot: (...args) => log.loadSnapshot(...args),
    remove: (...args) => log.remove(...args),
    subscribe: (...args) => log.subscribe(...args),
    close: () => log.close(),
    ...parts,
  }
}

/** A state as plain values, for comparison. */
export function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if ('entries' in value && typeof value.entries === 'function') {
    return [...(value as ReadonlyMap<string, unknown>).entries()].map(plain)
  }
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, plain(held)]))
}

/** Random numbers that a seed repeats (mulberry32). */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const LOOKUPS = ['busyOperators', 'sources', 'provisions', 'sessions', 'turns', 'runs', 'intents']

/** A state as plain values, without the order of what is only looked up and never walked. */
export function behaviour(state: unknown): unknown {
  const sorted = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, held]: [string, unknown]) => [
        key,
        LOOKUPS.includes(key)
          ? (held as [string, string][]).toSorted()
          : key === 'live' || key === 'index'
            ? sorted(held)
            : held,
      ]),
    )
  }
  return sorted(plain(state))
}
