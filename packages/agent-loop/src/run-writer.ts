/**
 * Everything that is written about a run after its acceptance: started, deferred, settled. Each write
 * is decided against the stream as it is then, so that the first end of a run is its only one and a
 * process that lost the session writes nothing more.
 */
import type { Clock } from './clock.ts'
import type { RunEntry } from './entries.ts'
import { AgentLoopError } from './errors.ts'
import type { RunLedger } from './ledger.ts'
import { membersOf } from './queue-policy.ts'
import type { RunFold } from './run-fold.ts'
import type { RunRecord, Settlement } from './run-record.ts'
import type { StartedRun } from './runner.ts'

export interface RunWriterPorts {
  readonly ledger: RunLedger
  readonly clock: Clock
  /** Of the lease this process has on a session. */
  readonly epochOf: (sessionId: string) => number | undefined
  /** This host, where several share the lanes. */
  readonly hostId: string | undefined
  /** How many messages are collected into one turn at most. */
  readonly collectAtMost: (sessionId: string) => number
}

export class RunWriter {
  private readonly ports: RunWriterPorts

  constructor(ports: RunWriterPorts) {
    this.ports = ports
  }

  /**
   * @returns the run and those that are told with it as they are now; none when it is settled already.
   * @throws `lease-lost`, or what the log throws.
   */
  async markStarted(run: RunRecord, via: 'turn' | 'steer'): Promise<StartedRun | undefined> {
    const { sessionId, runId } = run
    const stream = this.ports.ledger.stream(sessionId)
    const members = await stream.transact((fold) => {
      const known = fold.get(runId)
      if (known === undefined || known.settled !== undefined) return { result: undefined }
      const epoch = this.assertLease(fold)
      const together = via === 'turn' ? this.together(fold, known) : []
      const startedAt = this.ports.clock.now()
      const data = {
        v: 2 as const,
        runId,
        attempt: known.attempt + 1,
        startedAt,
        via,
        epoch,
        ...(together.length === 0 ? {} : { members: [...together] }),
      }
      return { entries: [...this.hosted(fold), { type: 'run/started', data }], result: together }
    })
    const started = stream.fold.get(runId)
    if (members === undefined || started === undefined) return undefined
    return { run: started, members: members.flatMap((id) => stream.fold.get(id) ?? []) }
  }

  /** Puts a run back that could not be handed over. @throws `lease-lost`, or what the log throws. */
  async defer(run: RunRecord, retryAt: number, why: NonNullable<Settlement['error']>): Promise<void> {
    await this.ports.ledger.stream(run.sessionId).transact((fold) => {
      if (fold.get(run.runId)?.settled !== undefined) return { result: undefined }
      this.assertLease(fold)
      const data = { v: 1 as const, runId: run.runId, retryAt, error: why }
      return { entries: [{ type: 'run/deferred', data }], result: undefined }
    })
  }

  /**
   * Writes the end of a run, and of those told in its turn, unless they have one.
   *
   * @param asHolder whether only the process that has the session may write it.
   */
  async settle(run: RunRecord, settlement: Settlement, asHolder: boolean): Promise<void> {
    await this.ports.ledger.stream(run.sessionId).transact((fold) => {
      const known = fold.get(run.runId)
      const ids = [run.runId, ...(known?.members ?? [])]
      const open = ids.filter((id) => fold.get(id)?.settled === undefined)
      if (open.length === 0) return { result: undefined }
      if (asHolder) this.assertLease(fold)
      const endedAt = this.ports.clock.now()
      const entries = open.map((runId): RunEntry => ({
        type: 'run/settled',
        data: { v: 3, runId, ...settlement, endedAt },
      }))
      return { entries, result: undefined }
    })
  }

  /** Where several hosts share the lanes, a session's next turn is best had where its agent lives. */
  private hosted({ host }: RunFold): readonly RunEntry[] {
    const { hostId } = this.ports
    return hostId === undefined || hostId === host
      ? []
      : [{ type: 'session/hosted', data: { v: 1, host: hostId } }]
  }

  /** A run that was started before keeps those it was told with, as far as they are open. */
  private together(fold: RunFold, run: RunRecord): readonly string[] {
    if (run.attempt > 0) return run.members.filter((id) => fold.get(id)?.settled === undefined)
    return membersOf(fold, run, this.ports.collectAtMost(run.sessionId)).map(({ runId }) => runId)
  }

  private assertLease(fold: RunFold): number {
    const epoch = this.ports.epochOf(fold.sessionId)
    if (epoch !== undefined && fold.epoch <= epoch) return epoch
    throw new AgentLoopError(
      'lease-lost',
      `another process runs session ${JSON.stringify(fold.sessionId)} since epoch ${fold.epoch}`,
    )
  }
}
