/**
 * One host of the measurement, a process of its own: sessions that go through operators' works, as
 * graph-host does, on a log in PostgreSQL. The model's answer is a wait.
 *
 * A turn: the update that adds a work, its operator, its claim and its begin, the run that is accepted;
 * the wait; the end of the run and of the work. Started by `measure.ts`, which it talks to over IPC.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { postgresLog, type DurableLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { benchGraphId, claimOf, provisionOf, updateOf } from '../../packages/graph-control/bench/graphs.ts'

export interface HostTask {
  readonly connectionString: string
  readonly schema: string
  readonly host: number
  readonly sessions: number
  readonly waitMs: number
  readonly pollIntervalMs: number
}

/** What a host did since it was asked the last time. */
export interface HostReport {
  readonly turns: number
  readonly appends: number
  readonly cpuMs: number
  readonly seconds: number
  /** Medians, of those that there were. */
  readonly appendMs: number
  readonly claimMs: number
  readonly turnMs: number
}

/** A graph does not grow beyond this, so that each turn costs the same. */
const TURNS_OF_A_GRAPH = 20

class Host {
  private readonly task: HostTask
  private readonly log: DurableLog
  private readonly store: GraphControlStore
  private readonly appends: () => number
  private appended = 0
  private turns = 0
  private isStopped = false
  private began = performance.now()
  private cpu = process.cpuUsage()
  private taken = { write: [] as number[], claim: [] as number[], turn: [] as number[] }
  readonly running: Promise<unknown>

  private constructor(task: HostTask, log: DurableLog, store: GraphControlStore, appends: () => number) {
    this.appends = appends
    this.task = task
    this.log = log
    this.store = store
    this.running = Promise.all(Array.from({ length: task.sessions }, (_, session) => this.session(session)))
  }

  static async open(task: HostTask): Promise<Host> {
    const { connectionString, pollIntervalMs, schema } = task
    const log = postgresLog({ connectionString, schema, pollIntervalMs })
    let appends = 0
    counting(log, () => (appends += 1))
    const store = await GraphControlStore.open(log)
    log.subscribe('run/', () => undefined)
    return new Host(task, log, store, () => appends)
  }

  report(): HostReport {
    const { user, system } = process.cpuUsage(this.cpu)
    const { claim, turn, write } = this.taken
    const { turns } = this
    const report: HostReport = {
      turns,
      appends: this.appends() - this.appended,
      cpuMs: (user + system) / 1_000,
      seconds: (performance.now() - this.began) / 1_000,
      appendMs: median(write),
      claimMs: median(claim),
      turnMs: median(turn),
    }
    this.began = performance.now()
    this.cpu = process.cpuUsage()
    this.appended = this.appends()
    this.turns = 0
    this.taken = { write: [], claim: [], turn: [] }
    return report
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.running
    await this.store.close()
    await this.log.close()
  }

  private async session(session: number): Promise<void> {
    for (let turn = 0; !this.isStopped; turn += 1) await this.turn(`${this.task.host}-${session}`, turn)
  }

  private async turn(session: string, turn: number): Promise<void> {
    const { store } = this
    const began = performance.now()
    const name = `${session}-${Math.floor(turn / TURNS_OF_A_GRAPH)}`
    const graphId = benchGraphId(name)
    if (turn % TURNS_OF_A_GRAPH === 0)
      await this.timed(() => store.advanceEpoch({ rootSessionId: `root of ${name}`, expectedEpoch: 0 }))
    const update = updateOf(graphId, `call-${turn}`, 1)
    const workId = update.addWork[0]?.workId ?? ''
    const claim = claimOf(graphId, workId)
    await this.timed(() => store.commitScheduleUpdate(update))
    const expectedScheduleRevision = (await store.readGraph(graphId))?.revision ?? 0
    await this.timed(() =>
      store.provisionOperator({ ...provisionOf(graphId, workId), expectedScheduleRevision }),
    )
    const claimed = performance.now()
    await this.timed(() => store.claimIntent(claim))
    await this.timed(() =>
      store.beginAgentGraphIntentExecutionAtScheduleRevision(
        graphId,
        claim.intentId,
        expectedScheduleRevision,
      ),
    )
    this.taken.claim.push(performance.now() - claimed)
    const accepted = { runId: claim.targetRunId, text: 'x'.repeat(160) }
    await this.timed(() =>
      this.log.append(`run/${session}`, 'any', [{ type: 'run/accepted', data: accepted }]),
    )
    if (this.task.waitMs > 0) await wait(this.task.waitMs)
    const settled = { runId: claim.targetRunId, state: 'ok' }
    await this.timed(() => this.log.append(`run/${session}`, 'any', [{ type: 'run/settled', data: settled }]))
    await this.timed(() =>
      store.settleActivation({
        graphId,
        claimId: claim.claimId,
        attempt: 1,
        outcome: 'completed',
        conclusion: 'What was found. '.repeat(8),
      }),
    )
    this.turns += 1
    this.taken.turn.push(performance.now() - began - this.task.waitMs)
  }

  private async timed(write: () => Promise<unknown>): Promise<void> {
    const began = performance.now()
    await write()
    this.taken.write.push(performance.now() - began)
  }
}

/** Tells of each append that reaches the log, whoever made it. */
function counting(log: DurableLog, count: () => void): DurableLog {
  const append = log.append.bind(log)
  log.append = (stream, ...rest) => {
    count()
    return append(stream, ...rest)
  }
  return log
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}

let host: Promise<Host> | undefined

process.on('message', (message: { task?: HostTask; ask?: 'report' | 'stop' }) => {
  void answer(message).then((reply) => process.send?.(reply))
})
// Its parent is gone.
process.on('disconnect', () => process.exit(1))

async function answer({ ask, task }: { task?: HostTask; ask?: 'report' | 'stop' }): Promise<object> {
  if (task !== undefined) {
    host = Host.open(task)
    await host
    return { ready: true }
  }
  const open = await host
  if (open === undefined) throw new Error('no task was given')
  if (ask === 'report') return open.report()
  await open.stop()
  setImmediate(() => process.disconnect?.())
  return { stopped: true }
}
