/**
 * The host of runs: accepts them durably, answers how they went, and brings lanes, ledger, openers
 * and the watcher of turns together. Its verbs are those of `AgentLoopHost`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { DurableLogError, type DurableLog } from 'dsh-durable-log'
import type { Clock } from './clock.ts'
import { AgentLoopError } from './errors.ts'
import { Lanes } from './lanes.ts'
import { RunLedger } from './ledger.ts'
import { Openers } from './openers.ts'
import { Recovery } from './recovery.ts'
import { checkAbortRequest, checkRunRequest, checkWaitRequest, type CheckedRunRequest } from './request.ts'
import { viewOf, type RunFold, type RunRecord } from './run-fold.ts'
import { isRunMessageId, messageIdOf } from './run-message.ts'
import type { Decision } from './run-stream.ts'
import type { RunnerPorts } from './runner.ts'
import { endingOfStop } from './settlement.ts'
import { EventStreams, type StreamLimits } from './streams/event-streams.ts'
import { TurnWatcher } from './turn-watch.ts'
import type { AcceptedRun, AgentLoopHost, LaneSnapshot, RunOutcome, RunView, SessionOpener } from './types.ts'
import { Waiters } from './waiters.ts'

const DEFAULT_WAIT_MS = 30_000

export interface RunHostOptions {
  /** Owns the listeners and the agents that are resumed; injects `agents` and `sessions`. */
  readonly ctx: Context
  readonly log: DurableLog
  readonly clock: Clock
  readonly defaultTimeoutMs: number
  readonly graceMs: number
  readonly outgoing: RunnerPorts['outgoing']
  readonly events: { readonly limits: StreamLimits; readonly background: Clock }
}

export class RunHost implements Omit<AgentLoopHost, 'hook' | 'subscribe' | 'registerMessagingTool'> {
  readonly events: EventStreams
  private readonly clock: Clock
  private readonly ledger: RunLedger
  private readonly openers: Openers
  private readonly traffic: Lanes
  private readonly recovery: Recovery
  private readonly waiters: Waiters
  /** Runs whose acceptance failed in the log, which may have stored it all the same. */
  private readonly unsure = new Set<string>()
  private closing: Promise<void> | undefined

  constructor({ ctx, log, clock, defaultTimeoutMs, graceMs, outgoing, events }: RunHostOptions) {
    const { agents, sessions } = ctx
    const logger = ctx.logger('agent-loop-host')
    const warn = (text: string): void => void logger.warn(text)
    this.clock = clock
    this.waiters = new Waiters(clock)
    this.openers = new Openers(ctx)
    this.events = new EventStreams({
      ...events,
      ctx,
      log,
      clock,
      warn,
      find: (runId) => this.ledger.find(runId),
      runsOf: (sessionId) => this.ledger.stream(sessionId).fold.all(),
    })
    this.ledger = new RunLedger(log, {
      folded: (run, entry, isOwn) => this.events.folded(run, entry, isOwn),
      settled: (run) => this.onSettled(run),
      quarantined: (error) => warn(error.message),
      readFailed: (sessionId, error) =>
        warn(`the runs of session ${JSON.stringify(sessionId)} were not read: ${String(error)}`),
    })
    this.traffic = new Lanes({
      clock,
      ledger: this.ledger,
      openers: this.openers,
      watcher: new TurnWatcher(ctx),
      flush: (session) => sessions.flush(session),
      detached: (operation) => agents.withoutInitiator(operation),
      warn,
      outgoing,
      defaultTimeoutMs,
      graceMs,
    })
    const { ledger, openers, traffic: lanes } = this
    this.recovery = new Recovery({ ledger, lanes, openers, warn })
    ctx.on('agent/created', ({ agent }) => this.recovery.onAgentCreated(agent))
    ctx.on('agent/session-start', ({ agent }) => this.recovery.clearInbox(agent))
  }

  /** Reads what is stored and takes up the runs of sessions that are live here. */
  recover(): Promise<void> {
    return this.recovery.start()
  }

  /** The open run of a session whose message has this id. */
  runIdOf(sessionId: string, messageId: string): string | undefined {
    if (!isRunMessageId(messageId)) return undefined
    const { fold } = this.ledger.stream(sessionId)
    return fold.open().find((runId) => fold.get(runId)?.messageId === messageId)
  }

  /** Takes up every open run, also those of sessions that nobody opened here. */
  adoptAll(): void {
    if (this.closing === undefined) this.recovery.adoptAll()
  }

  async accept(input: unknown): Promise<AcceptedRun> {
    this.assertOpen()
    const request = checkRunRequest(input)
    const { sessionId } = request
    const stream = this.ledger.stream(sessionId)
    const giveBack = this.ledger.reserve(request.runId, sessionId)
    try {
      const { runId, isNew } = await stream.transact((fold) => this.decideAccept(fold, request))
      const run = stream.fold.get(runId)
      if (run === undefined) throw new Error(`run ${runId} vanished while it was accepted`)
      this.takeUp(run, isNew || this.unsure.delete(runId))
      return { runId, status: 'accepted', acceptedAt: run.acceptedAt }
    } catch (error) {
      if (error instanceof DurableLogError) this.unsure.add(request.runId)
      throw error
    } finally {
      giveBack()
    }
  }

  async wait(input: unknown): Promise<RunOutcome> {
    this.assertOpen()
    const { runId, timeoutMs = DEFAULT_WAIT_MS, signal } = checkWaitRequest(input)
    signal?.throwIfAborted()
    if ((await this.ledger.find(runId)) === undefined) {
      throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} was ever accepted`)
    }
    this.assertOpen()
    if (!this.isSettled(runId) && timeoutMs > 0) await this.waiters.wait(runId, timeoutMs, signal)
    const run = await this.ledger.find(runId)
    if (run === undefined) throw new Error(`run ${runId} vanished while it was waited for`)
    return outcomeOf(run)
  }

  async abort(input: unknown): Promise<{ aborted: boolean; runIds: readonly string[] }> {
    this.assertOpen()
    const request = checkAbortRequest(input)
    const stop = { kind: 'abort' as const, cause: request.cause }
    const runs = await this.openRunsOf(request)
    // All leave the queue first: otherwise the lane would promote one while the others are settled.
    const idle = runs.filter(
      (run) => this.traffic.remove(run) || this.traffic.control(run.runId) === undefined,
    )
    for (const run of runs) this.traffic.control(run.runId)?.stop(stop)
    try {
      for (const run of idle) await this.traffic.settle(run, endingOfStop(stop))
    } catch (error) {
      for (const run of idle) if (!this.isSettled(run.runId)) this.traffic.enqueue(run)
      throw error
    }
    return { aborted: runs.length > 0, runIds: runs.map((run) => run.runId) }
  }

  async read(runId: string): Promise<RunView | undefined> {
    this.assertOpen()
    const run = await this.ledger.find(runId)
    return run === undefined ? undefined : viewOf(run)
  }

  lanes(): readonly LaneSnapshot[] {
    return this.traffic.snapshots()
  }

  registerOpener(opener: SessionOpener): () => void {
    this.assertOpen()
    const unregister = this.openers.register(opener)
    const endProbe = this.recovery.probe(opener)
    return () => {
      unregister()
      endProbe()
    }
  }

  /** Refuses everything new, lets go of what runs, and resolves when nothing is under way. Idempotent. */
  close(): Promise<void> {
    this.closing ??= (async () => {
      this.waiters.close()
      this.recovery.close()
      await this.traffic.close()
      await this.ledger.close()
      await this.events.close()
    })()
    return this.closing
  }

  private assertOpen(): void {
    if (this.closing === undefined) return
    throw new AgentLoopError('closed', 'the agent-loop host is shutting down; ask again after its start')
  }

  private decideAccept(
    fold: RunFold,
    request: CheckedRunRequest,
  ): Decision<{ runId: string; isNew: boolean }> {
    this.assertOpen()
    const { runId, idempotencyKey: key, fingerprint, message, provenance, timeoutMs } = request
    const known = fold.withKey(key)
    if (known?.fingerprint === fingerprint) return { result: { runId: known.runId, isNew: false } }
    if (known !== undefined) throw taken('idempotency key', key, known)
    const namesake = fold.get(runId)
    if (namesake !== undefined) throw taken('run id', runId, namesake)
    const data = {
      v: 1 as const,
      runId,
      key,
      fingerprint,
      messageId: messageIdOf(runId),
      acceptedAt: this.clock.now(),
      request: { message, provenance, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
    }
    return { entry: { type: 'run/accepted', data }, result: { runId, isNew: true } }
  }

  /** A run in the log that is neither queued here nor ours is driven by the process that accepted it. */
  private takeUp(run: RunRecord, isOurs: boolean): void {
    if (run.settled !== undefined || this.closing !== undefined) return
    if (this.traffic.has(run)) this.traffic.release(run.sessionId)
    else if (isOurs) this.traffic.enqueue(run)
  }

  private async openRunsOf(request: {
    runId?: string | undefined
    sessionId?: string | undefined
  }): Promise<readonly RunRecord[]> {
    const { runId, sessionId } = request
    if (runId === undefined) {
      const stream = this.ledger.stream(sessionId ?? '')
      await stream.refresh()
      const { fold } = stream
      return fold.open().flatMap((id) => fold.get(id) ?? [])
    }
    const run = await this.ledger.find(runId)
    if (run === undefined || run.settled !== undefined) return []
    if (sessionId === undefined || sessionId === run.sessionId) return [run]
    throw new AgentLoopError(
      'invalid',
      `abort refused: run ${JSON.stringify(runId)} belongs to session ${JSON.stringify(run.sessionId)}`,
    )
  }

  private isSettled(runId: string): boolean {
    return this.ledger.get(runId)?.settled !== undefined
  }

  private onSettled(run: RunRecord): void {
    this.unsure.delete(run.runId)
    this.traffic.remove(run)
    // Only a run that another process settled is still under way here.
    this.traffic.control(run.runId)?.stop({ kind: 'abort', cause: 'another process settled the run' })
    this.waiters.settled(run.runId)
  }
}

function taken(what: string, name: string, run: RunRecord): AgentLoopError {
  return new AgentLoopError(
    'conflict',
    `${what} ${JSON.stringify(name)} of session ${JSON.stringify(run.sessionId)} belongs to another ` +
      `request (run ${run.runId}); repeat that request unchanged or choose another ${what}`,
  )
}

function outcomeOf(run: RunRecord): RunOutcome {
  const { state, startedAt, endedAt, reply, usage, error } = viewOf(run)
  return {
    status: run.settled === undefined ? 'timeout' : state === 'ok' ? 'ok' : 'error',
    state,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(reply === undefined ? {} : { reply }),
    ...(usage === undefined ? {} : { usage }),
    ...(error === undefined ? {} : { error }),
  }
}
