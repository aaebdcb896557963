/**
 * Fuzzes the door of the graphs: whatever arguments a model sends, through the real tool runtime and
 * a real store. A call is understood or refused with a code; a refusal writes nothing; an update that
 * is understood commits one update; what was written is read again by another store; no answer has
 * more than 16 KiB.
 */
import { memoryLog, type DurableLog } from 'dsh-durable-log'
import { epochGraphId, GraphControlStore, type GraphState } from 'dsh-graph-control'
import {
  createAgentGraphController,
  type AgentGraphController,
  type ControllerOptions,
  type DrivingAgentGraphController,
} from '../src/index.ts'
import { bootCore, callTool, HandExecutor, makeAgent, mountTools, textOf } from '../tests/core.ts'
import { Chance, randomCall } from './random-call.ts'

export interface FuzzResult {
  readonly target: string
  readonly runs: number
  readonly failed: number
  /** The first 20 failures; `runs: 1` with such a seed repeats it. */
  readonly failures: { seed: number; text: string }[]
}

const KEPT_FAILURES = 20
const HARD_LIMIT = 16 * 1024
const CODE = /^[a-z][a-z_-]+$/u

const CATALOG = {
  agents: [{ id: 'default' }, { id: 'writer' }],
  presets: [{ id: 'reviewer' }],
  graphs: [{ id: 'digest' }],
  models: [{ id: 'm1', efforts: ['low', 'high'] }],
}

const [EARLIER, CURRENT] = [epochGraphId('root', 1), epochGraphId('root', 2)]

/** @param options.seed of the first run; each next run takes the next seed. */
export async function run(options: { runs: number; seed: number }): Promise<FuzzResult> {
  const ctx = await bootCore()
  try {
    await mountTools(ctx)
    const agent = await makeAgent(ctx, 'root')
    let controller: AgentGraphController | undefined
    ctx.provide('agentGraphController', { forSession: () => controller })
    const failures: { seed: number; text: string }[] = []
    let failed = 0
    for (let index = 0; index < options.runs; index += 1) {
      const seed = (options.seed + index) >>> 0
      const graphs = await prepare()
      controller = graphs.controller
      const call = (tool: string, args: unknown) => callTool(ctx, agent, tool, args)
      const text = await attempt(new Chance(seed), graphs, call).catch(
        (error: unknown) => `threw ${error instanceof Error ? error.stack : String(error)}`,
      )
      await graphs.controller.dispose()
      await graphs.store.close()
      if (text === undefined) continue
      failed += 1
      if (failures.length < KEPT_FAILURES) failures.push({ seed, text: text.slice(0, 1_500) })
    }
    return { target: 'calls', runs: options.runs, failed, failures }
  } finally {
    await ctx.root.fiber.dispose()
  }
}

interface Graphs {
  readonly log: DurableLog
  readonly store: GraphControlStore
  readonly controller: DrivingAgentGraphController
  readonly ids: readonly string[]
}

/** `done` is completed, `ready` is ready, `later` waits for it; an earlier graph finished with `old`. */
async function prepare(): Promise<Graphs> {
  const log = memoryLog()
  const store = await GraphControlStore.open(log)
  const records = [await complete(store, EARLIER, 1, 'old'), await complete(store, CURRENT, 2, 'done')]
  await commit(store, CURRENT, 'more', ['ready', 'later'])
  const options: ControllerOptions = {
    executor: new HandExecutor(),
    catalog: () => CATALOG,
    checkArgs: () => [],
  }
  // Another process holds the lease: what is written, the calls alone wrote.
  const leases = {
    acquire: async () => undefined,
    whenFree: (signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
  }
  const controller = createAgentGraphController({ store, rootSessionId: 'root', leases, options })
  return {
    log,
    store,
    controller,
    ids: ['done', 'ready', 'later', 'old', EARLIER, CURRENT, 'graph', ...records],
  }
}

async function commit(
  store: GraphControlStore,
  graphId: string,
  updateId: string,
  workIds: readonly string[],
) {
  const source = { sessionId: 'root', runId: 'r', turnId: 't', toolCallId: `${graphId} ${updateId}` }
  await store.commitScheduleUpdate({
    schemaVersion: 1,
    updateId: `${graphId} ${updateId}`,
    updateFingerprint: updateId,
    graphId,
    source,
    stop: [],
    addWork: workIds.map((workId, at) => ({
      workId,
      target: { kind: 'agent', id: 'default' },
      instruction: 'do it',
      inputIds: workIds.slice(0, at),
    })),
  })
}

/** Opens an epoch with one completed work; the first one is finished with it. @returns its record. */
async function complete(
  store: GraphControlStore,
  graphId: string,
  epoch: number,
  workId: string,
): Promise<string> {
  await store.advanceEpoch({ rootSessionId: 'root', expectedEpoch: epoch - 1 })
  await commit(store, graphId, 'first', [workId])
  const operator = { graphId, operatorId: `${workId} op`, targetSessionId: `${workId} session` }
  await store.provisionOperator({
    provisionId: `${workId} provision`,
    provisionFingerprint: 'p',
    workId,
    ...operator,
    initialTurnId: `${workId} turn`,
    initialRunId: `${workId} run`,
    expectedScheduleRevision: 1,
  })
  await store.claimIntent({
    schemaVersion: 1,
    claimId: `${workId} claim`,
    graphId,
    intentId: `${workId} intent`,
    workId,
    intentFingerprint: 'i',
    targetOperatorId: operator.operatorId,
    targetSessionId: operator.targetSessionId,
    targetTurnId: `${workId} turn`,
    targetRunId: `${workId} run`,
  })
  await store.beginAgentGraphIntentExecutionAtScheduleRevision(graphId, `${workId} intent`, 1)
  const { record } = await store.settleActivation({
    graphId,
    claimId: `${workId} claim`,
    attempt: 1,
    outcome: 'completed',
    conclusion: `result of ${workId}`,
  })
  const recordId = record?.recordId ?? ''
  if (epoch > 1) return recordId
  await store.commitScheduleUpdate({
    schemaVersion: 1,
    updateId: 'finish',
    updateFingerprint: 'finish',
    graphId,
    source: { sessionId: 'root', runId: 'r', turnId: 't', toolCallId: 'finish' },
    addWork: [],
    stop: [],
    finish: { resultIds: [recordId], reason: 'done' },
  })
  return recordId
}

async function entriesOf(log: DurableLog): Promise<number> {
  const { streams } = await log.list()
  return streams.reduce((sum, head) => sum + head.seq, 0)
}

async function updatesOf(store: GraphControlStore): Promise<number> {
  let count = 0
  for (const { graphId } of await store.listEpochs('root'))
    count += (await store.listScheduleUpdates(graphId)).length
  return count
}

/** One call; nothing when all is well. */
async function attempt(
  chance: Chance,
  graphs: Graphs,
  call: (tool: string, args: unknown) => ReturnType<typeof callTool>,
): Promise<string | undefined> {
  const { tool, args } = randomCall(chance, graphs.ids)
  const [before, updates] = [await entriesOf(graphs.log), await updatesOf(graphs.store)]
  const result = await call(tool, args)
  const told = `${tool} ${JSON.stringify(args)?.slice(0, 700)}: ${textOf(result).slice(0, 300)}`
  const sizes = [textOf(result), JSON.stringify(result.value ?? null)].map((form) => Buffer.byteLength(form))
  if (Math.max(...sizes) > HARD_LIMIT) return `${sizes.join(' and ')} bytes; ${told}`
  if (result.isError) {
    const code = result.error?.info?.code
    if (code === undefined || !CODE.test(code)) return `the code ${String(code)}; ${told}`
    return (await entriesOf(graphs.log)) === before ? undefined : `refused, and written; ${told}`
  }
  const added = (await updatesOf(graphs.store)) - updates
  const isCreated = (result.value as { update?: { created?: boolean } }).update?.created === true
  if (added !== (isCreated ? 1 : 0)) return `${added} updates; ${told}`
  return differs(graphs)
}

/** What another store reads of the log is what this one holds. */
async function differs({ log, store }: Graphs): Promise<string | undefined> {
  const again = await GraphControlStore.open(log)
  try {
    for (const { graphId } of await store.listEpochs('root')) {
      const [ours, theirs] = [await store.readGraph(graphId), await again.readGraph(graphId)]
      if (pictureOf(ours) !== pictureOf(theirs)) return `${graphId} is read as another graph`
    }
    return undefined
  } finally {
    await again.close()
  }
}

function pictureOf(state: GraphState | undefined): string {
  if (state === undefined) return 'none'
  const { seq, phase, counts, changeSeq, seenChangeSeq, works } = state
  return JSON.stringify([seq, phase, counts, changeSeq, seenChangeSeq, [...works.values()]])
}

if (import.meta.main) {
  const [runs = '1000', seed = '1'] = process.argv.slice(2)
  console.log(JSON.stringify(await run({ runs: Number(runs), seed: Number(seed) })))
}
