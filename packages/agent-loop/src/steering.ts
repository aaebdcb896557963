/**
 * Messages on their way into an open turn. A steer has its place in the queue like any other message
 * and is handed to the turn in the order of arrival; only when a turn has taken it does it leave the
 * queue. When no turn takes it, nothing has to be put back.
 *
 * While one is on its way its session starts nothing, so that nothing overtakes it.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { Block, type LaneState } from './lane-state.ts'
import { isLeaseLost, type LaneDrive } from './lane-drive.ts'
import type { Lanes } from './lanes.ts'
import type { RunLedger } from './ledger.ts'
import { RunControl } from './run-control.ts'
import { echoOf, runMessageIdOf } from './run-message.ts'
import type { RunRecord } from './run-record.ts'
import type { RunWriter } from './run-writer.ts'
import type { RunEnd, RunnerPorts } from './runner.ts'
import type { SessionLeases } from './session-lease.ts'
import { driveSteer } from './steer-drive.ts'

export interface SteeringPorts extends RunnerPorts {
  readonly lanes: Lanes
  readonly driver: LaneDrive
  readonly state: LaneState
  readonly ledger: RunLedger
  readonly writer: RunWriter
  readonly leases: SessionLeases
  readonly detached: (operation: () => void) => void
  readonly warn: (text: string) => void
}

export class Steering {
  private readonly ports: SteeringPorts
  /** Sessions whose steers are being handed over now. */
  private readonly offering = new Set<string>()
  /** Steers that no turn has taken yet, by session. */
  private readonly onTheirWay = new Map<string, Set<string>>()

  /** Steers that the open turn of a session did not take; they wait for their own. */
  private readonly refused = new Map<string, Set<string>>()

  constructor(ports: SteeringPorts) {
    this.ports = ports
  }

  /** Hands over what is to be steered, if there is an open turn to take it. */
  offer(sessionId: string): void {
    if (this.offering.has(sessionId) || this.nextFor(sessionId) === undefined) return
    this.offering.add(sessionId)
    this.ports.detached(() => {
      void this.offerAll(sessionId).finally(() => {
        this.offering.delete(sessionId)
        // What came while the last one was on its way out was not offered yet.
        this.offer(sessionId)
      })
    })
  }

  /** The turn of a session has closed; the next one may take what this one did not. */
  turnClosed(sessionId: string): void {
    this.refused.delete(sessionId)
  }

  isOnItsWay(run: RunRecord): boolean {
    return this.onTheirWay.get(run.sessionId)?.has(run.runId) === true
  }

  /** Takes copies out of the inbox that no turn has read: their messages have turns of their own. */
  clearEchoes(agent: Agent): void {
    for (const { id } of agent.inbox.nextStep) {
      if (runMessageIdOf(id) !== undefined && id.endsWith('.echo')) agent.inbox.remove(id)
    }
  }

  private async offerAll(sessionId: string): Promise<void> {
    for (let run = this.nextFor(sessionId); run !== undefined; run = this.nextFor(sessionId)) {
      try {
        if (run.request?.mode === 'steer-backlog') await this.echo(run)
        else await this.handOver(run)
      } catch (error) {
        this.refuse(run)
        this.ports.warn(`run ${run.runId} was not steered: ${String(error)}`)
      }
    }
  }

  /** The first message that may be handed over now. */
  private nextFor(sessionId: string): RunRecord | undefined {
    if (this.openAgent(sessionId) === undefined) return undefined
    for (const runId of this.ports.state.queued(sessionId)) {
      const run = this.ports.ledger.get(runId)
      if (run === undefined || run.settled !== undefined || this.isOnItsWay(run)) continue
      if (this.refused.get(sessionId)?.has(runId) === true) continue
      const mode = run.request?.mode
      if (mode === 'steer' || (mode === 'steer-backlog' && !run.echoed)) return run
    }
    return undefined
  }

  /** The agent of a session while its turn may take something more. */
  private openAgent(sessionId: string): Agent | undefined {
    if (this.ports.watcher.open(sessionId)?.isKnown !== true) return undefined
    if (this.ports.lanes.active(sessionId)?.control.stopped !== undefined) return undefined
    const agent = this.ports.openers.live(sessionId)
    return agent?.status === 'running' ? agent : undefined
  }

  private async handOver(run: RunRecord): Promise<void> {
    const { sessionId, runId } = run
    const agent = this.openAgent(sessionId)
    if (agent === undefined) return
    this.begin(run)
    const control = new RunControl()
    const handed = Promise.withResolvers<void>()
    const drive = this.drive(run, agent, control, handed.resolve)
      .catch((error: unknown) => this.fail(run, error))
      .finally(() => {
        const isOpen = this.ports.ledger.get(runId)?.settled === undefined
        if (isOpen) this.refuse(run)
        handed.resolve()
        this.end(run)
      })
    this.ports.lanes.track(runId, control, drive)
    await handed.promise
  }

  private async drive(
    run: RunRecord,
    agent: Agent,
    control: RunControl,
    onHanded: () => void,
  ): Promise<void> {
    const { driver, leases, state, clock, writer } = this.ports
    const epoch = await driver.patiently(control, () => leases.take(run.sessionId))
    if (epoch === undefined) return
    const end = await driveSteer(
      run,
      agent,
      control,
      {
        ...this.ports,
        markStarted: (started, via) => driver.patiently(control, () => writer.markStarted(started, via)),
      },
      {
        mayHandOver: () => this.openAgent(run.sessionId) === agent,
        onHanded,
        onClaimed: () => {
          state.remove(run.runId, clock.now())
          this.end(run)
        },
      },
    )
    await this.conclude(run, control, end)
  }

  private async conclude(run: RunRecord, control: RunControl, end: RunEnd | 'parked'): Promise<void> {
    if (end === 'parked' || end.kind === 'retry') return
    if (end.kind === 'settled') await this.ports.driver.settlePatiently(run, end.settlement, control)
    const isSettled = this.ports.ledger.get(run.runId)?.settled !== undefined
    if (isSettled) this.ports.state.remove(run.runId, this.ports.clock.now())
  }

  private fail(run: RunRecord, error: unknown): void {
    if (isLeaseLost(error)) this.ports.leases.lost(run.sessionId)
    else this.ports.warn(`run ${run.runId} was not steered: ${String(error)}`)
  }

  private refuse({ sessionId, runId }: RunRecord): void {
    const ofSession = this.refused.get(sessionId)
    if (ofSession === undefined) this.refused.set(sessionId, new Set([runId]))
    else ofSession.add(runId)
  }

  private async echo(run: RunRecord): Promise<void> {
    const { sessionId, runId, messageId } = run
    const { ledger, compose } = this.ports
    const isNew = await ledger.stream(sessionId).transact((fold) => {
      const known = fold.get(runId)
      if (known === undefined || known.settled !== undefined || known.echoed || known.attempt > 0) {
        return { result: false }
      }
      return { entries: [{ type: 'queue/echoed', data: { v: 1, runId, messageId } }], result: true }
    })
    const agent = this.openAgent(sessionId)
    const message = isNew && agent !== undefined ? await compose({ run, members: [] }) : undefined
    if (message !== undefined && this.openAgent(sessionId) === agent) agent?.steer(echoOf(message))
  }

  private begin({ sessionId, runId }: RunRecord): void {
    const ofSession = this.onTheirWay.get(sessionId)
    if (ofSession === undefined) this.onTheirWay.set(sessionId, new Set([runId]))
    else ofSession.add(runId)
    this.ports.lanes.block(sessionId, Block.steering)
  }

  /** A turn has taken it, or none will. Idempotent. */
  private end({ sessionId, runId }: RunRecord): void {
    const ofSession = this.onTheirWay.get(sessionId)
    if (ofSession?.delete(runId) !== true || ofSession.size > 0) return
    this.onTheirWay.delete(sessionId)
    this.ports.lanes.unblock(sessionId, Block.steering)
  }
}
