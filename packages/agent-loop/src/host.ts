/**
 * The host of runs: accepts them durably, answers how they went, and brings lanes, ledger, openers
 * and the watcher of turns together. Its verbs are those of `AgentLoopHost`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'
import { DurableLogError, type DurableLog, type LeaseStore } from 'dsh-durable-log'
import { abortRuns } from './abort-runs.ts'
import { decideAcceptance, type Acceptance } from './acceptance.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { LaneEngine } from './engines/lane-engine.ts'
import { AgentLoopError } from './errors.ts'
import { HostParts } from './host-parts.ts'
import type { LeavingPorts } from './leaving-run.ts'
import type { ModelDetours } from './model-detours.ts'
import type { QueueDoor, SessionSettings } from './queue-types.ts'
import {
  checkAbortRequest,
  checkDefaults,
  checkRunRequest,
  checkSessionId,
  checkWaitRequest,
  type CheckedRunRequest,
} from './request.ts'
import type { RunFold } from './run-fold.ts'
import { viewOf, type RunRecord } from './run-record.ts'
import type { Decision } from './run-stream.ts'
import { SessionHomes } from './session-homes.ts'
import { settingsOf } from './session-settings.ts'
import type { EventStreams } from './streams/event-streams.ts'
import type {
  AcceptedRun,
  AgentLoopHost,
  LaneMetrics,
  LaneSnapshot,
  RunListener,
  RunOutcome,
  RunView,
  SessionOpener,
} from './types.ts'

const DEFAULT_WAIT_MS = 30_000
const DEFAULT_DRAIN_MS = 30_000

export interface RunHostOptions {
  /** Owns the listeners and the agents that are resumed; injects `agents` and `sessions`. */
  readonly ctx: Context
  readonly log: DurableLog
  readonly clock: Clock
  readonly config: Config
  readonly engine?: LaneEngine | undefined
  /** Leases of sessions; they have a clock of their own. */
  readonly leases: LeaseStore
  readonly leaseClock: Clock
  readonly background: Clock
  readonly outgoing: LeavingPorts['outgoing']
  readonly detours: ModelDetours
}

export class RunHost implements Omit<AgentLoopHost, 'hook' | 'subscribe' | 'registerMessagingTool'> {
  readonly queue: QueueDoor
  private readonly options: RunHostOptions
  private readonly parts: HostParts
  /** Among several hosts on one log. */
  readonly homes: SessionHomes
  /** Runs whose acceptance failed in the log, which may have stored it all the same. */
  private readonly unsure = new Set<string>()
  /** Runs that are being accepted here. */
  private readonly accepting = new Set<string>()
  private drains = false
  private closing: Promise<void> | undefined

  constructor(options: RunHostOptions) {
    this.options = options
    this.parts = new HostParts(options, {
      accepted: (run, isOwn) => this.onAccepted(run, isOwn),
      settled: (run) => this.onSettled(run),
      viewOf: (run) => this.view(run),
    })
    this.homes = new SessionHomes(this.parts)
    this.queue = this.parts.queueDoor(() => this.assertOpen())
  }

  get events(): EventStreams {
    return this.parts.streams
  }

  /** Reads what is stored and takes up the runs of sessions that are live here. */
  async recover(): Promise<void> {
    this.parts.watcher.resume(this.options.ctx.agents.list())
    await this.parts.recovery.start()
  }

  /** The open run of a session whose message has this id. */
  runIdOf(sessionId: string, messageId: string): string | undefined {
    return this.parts.runIdOf(sessionId, messageId)
  }

  /** Takes up every open run, also those of sessions that nobody opened here. */
  adoptAll(): void {
    if (this.closing === undefined) this.parts.recovery.adoptAll()
  }

  async accept(input: unknown): Promise<AcceptedRun> {
    this.assertOpen()
    const request = checkRunRequest(input)
    const { sessionId } = request
    const lane = this.laneFor(request)
    const { ledger } = this.parts
    const stream = ledger.stream(sessionId)
    const giveBack = ledger.reserve(request.runId, sessionId)
    this.accepting.add(request.runId)
    try {
      const { runId, isNew, isStarted, isSummoned } = await stream.transact((fold) =>
        this.decide(fold, request, lane),
      )
      const run = stream.fold.get(runId)
      if (run === undefined) throw new Error(`run ${runId} vanished while it was accepted`)
      this.takeUp(run, this.homes.isOurs(run, isNew || this.unsure.delete(runId), isSummoned), isStarted)
      if (isNew && run.request?.mode === 'interrupt') this.interrupt(run)
      return { runId, status: 'accepted', acceptedAt: run.acceptedAt }
    } catch (error) {
      if (error instanceof DurableLogError) this.unsure.add(request.runId)
      throw error
    } finally {
      this.accepting.delete(request.runId)
      giveBack()
    }
  }

  async wait(input: unknown): Promise<RunOutcome> {
    this.assertOpen()
    const { runId, timeoutMs = DEFAULT_WAIT_MS, signal } = checkWaitRequest(input)
    signal?.throwIfAborted()
    const { ledger, waiters } = this.parts
    const known = await ledger.find(runId)
    if (known === undefined) {
      throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} was ever accepted`)
    }
    this.assertOpen()
    if (known.settled === undefined && timeoutMs > 0) {
      const leave = this.enterWait(known)
      try {
        await waiters.wait(runId, timeoutMs, signal)
      } finally {
        leave()
      }
    }
    const run = await ledger.find(runId)
    if (run === undefined) throw new Error(`run ${runId} vanished while it was waited for`)
    return outcomeOf(this.view(run))
  }

  async abort(input: unknown): Promise<{ aborted: boolean; runIds: readonly string[] }> {
    this.assertOpen()
    return await abortRuns(this.parts, checkAbortRequest(input))
  }

  async read(runId: string): Promise<RunView | undefined> {
    this.assertOpen()
    const run = await this.parts.ledger.find(runId)
    return run === undefined ? undefined : this.view(run)
  }

  lanes(): readonly LaneSnapshot[] {
    return this.parts.snapshots()
  }

  metrics(): readonly LaneMetrics[] {
    return this.parts.book.metrics(this.options.clock.now())
  }

  async configure(sessionId: unknown, input: unknown): Promise<SessionSettings> {
    this.assertOpen()
    const id = checkSessionId('configure', sessionId)
    const changes = checkDefaults(input)
    const stream = this.parts.ledger.stream(id)
    await stream.transact(() => ({
      entries: [{ type: 'session/configured', data: { v: 1, changes } }],
      result: undefined,
    }))
    return settingsOf(stream.fold.defaults, this.options.config.queue)
  }

  async settings(sessionId: unknown): Promise<SessionSettings> {
    this.assertOpen()
    const stream = this.parts.ledger.stream(checkSessionId('settings', sessionId))
    await stream.refresh()
    return settingsOf(stream.fold.defaults, this.options.config.queue)
  }

  async drain({ limitMs = DEFAULT_DRAIN_MS }: { limitMs?: number } = {}): Promise<{
    left: readonly string[]
  }> {
    this.assertOpen()
    this.drains = true
    return { left: await this.parts.lanes.drain(limitMs) }
  }

  isDraining(): boolean {
    return this.drains
  }

  watchLanes(listener: () => void): () => void {
    this.assertOpen()
    return this.parts.moves.watch(listener)
  }

  observe(listener: RunListener): () => void {
    this.assertOpen()
    return this.parts.listeners.add(listener)
  }

  registerOpener(opener: SessionOpener): () => void {
    this.assertOpen()
    const unregister = this.parts.openers.register(opener)
    const endProbe = this.parts.recovery.probe(opener)
    return () => {
      unregister()
      endProbe()
    }
  }

  /** Refuses everything new, lets go of what runs, and resolves when nothing is under way. Idempotent. */
  close(): Promise<void> {
    this.closing ??= this.parts.close()
    return this.closing
  }

  private assertOpen(): void {
    if (this.closing === undefined) return
    throw new AgentLoopError('closed', 'the agent-loop host is shutting down; ask again after its start')
  }

  /** @throws `invalid` for a lane that is not declared. */
  private laneFor({ lane, sessionId }: CheckedRunRequest): string {
    const { book } = this.parts
    if (lane !== undefined && !book.isDeclared(lane)) {
      throw new AgentLoopError(
        'invalid',
        `accept refused: lane: ${JSON.stringify(lane)} is not declared; declared are ${book.declared.join(', ')}`,
      )
    }
    if (lane !== undefined) return lane
    const agent = this.options.ctx.agents.get(SessionId(sessionId))
    return agent?.session.header.origin === 'subagent' && book.isDeclared('subagent') ? 'subagent' : 'main'
  }

  private decide(fold: RunFold, request: CheckedRunRequest, lane: string): Decision<Acceptance> {
    this.assertOpen()
    const { clock, config } = this.options
    const { homes } = this
    const { book } = this.parts
    const retryAfterMs = book.retryAfterMs(lane)
    return decideAcceptance(fold, request, {
      now: clock.now(),
      settings: settingsOf(fold.defaults, config.queue),
      lane,
      maxQueuedPerSession: config.maxQueuedPerSession,
      laneFull: book.hasRoom(lane, request.sessionId) ? undefined : retryAfterMs,
      retryAfterMs,
      draining: this.drains,
      summons: () => homes.summonsOf(request, lane),
      startEpoch: this.parts.lanes.startEpoch(request.sessionId, book.keyOf(lane, request.sessionId)),
    })
  }

  /** A run in the log that is neither queued here nor ours is driven by the process that accepted it. */
  private takeUp(run: RunRecord, isOurs: boolean, isStarted = false): void {
    if (run.settled !== undefined || this.closing !== undefined) return
    const { lanes, steering } = this.parts
    if (lanes.has(run)) lanes.release(run.sessionId)
    else if (isOurs) lanes.enqueue(run, isStarted)
    steering.offer(run.sessionId)
  }

  private interrupt(run: RunRecord): void {
    const active = this.parts.lanes.active(run.sessionId)
    if (active === undefined || active.runId === run.runId) return
    active.control.stop({ kind: 'interrupt', by: run.runId })
  }

  /** Whoever waits inside a turn must not wait for what the turn itself holds up. */
  private enterWait(run: RunRecord): () => void {
    const { lanes, ledger, book, selfWaits, heldTurns } = this.parts
    const { sessionId } = heldTurns
    if (sessionId === undefined) return () => undefined
    const runId = lanes.active(sessionId)?.runId
    const holder = runId === undefined ? undefined : ledger.get(runId)
    const lane = holder === undefined ? undefined : book.laneOf(holder)
    const hasBegun = run.attempt > 0 || lanes.control(run.runId) !== undefined
    const awaited = { runId: run.runId, sessionId: run.sessionId, lane: book.laneOf(run), hasBegun }
    return selfWaits.enter({ sessionId, runId, lane }, awaited)
  }

  private view(run: RunRecord): RunView {
    const { config, clock } = this.options
    this.parts.ledger.stream(run.sessionId).fold.forgetBefore(clock.now() - config.retentionMs)
    const view = viewOf(this.parts.ledger.get(run.runId) ?? run)
    return this.isQueued(run, view) ? { ...view, state: 'queued' } : view
  }

  /** A steer that no turn took waits like any other run. */
  private isQueued({ runId, via }: RunRecord, { state }: RunView): boolean {
    const { lanes } = this.parts
    if (state === 'accepted') return lanes.isQueued(runId) || lanes.control(runId) !== undefined
    return (
      state === 'running' && via === 'steer' && lanes.isQueued(runId) && lanes.control(runId) === undefined
    )
  }

  /** A run that another process accepted for a session that is ours is ours to run. */
  private onAccepted(run: RunRecord, isOwn: boolean): void {
    const { listeners } = this.parts
    listeners.tell((listener) => listener.accepted?.(this.view(run)))
    // The acceptance itself takes up what it has stored; what others stored has its place before what follows.
    if (this.closing !== undefined || (isOwn && this.accepting.has(run.runId))) return
    if (!this.homes.takesFromOthers(run.sessionId)) return
    // What follows in the same append is folded first.
    queueMicrotask(() => {
      this.takeUp(this.parts.ledger.get(run.runId) ?? run, true)
      if (run.request?.mode === 'interrupt') this.interrupt(run)
    })
  }

  private onSettled(run: RunRecord): void {
    this.unsure.delete(run.runId)
    const { lanes, waiters, listeners, book } = this.parts
    lanes.remove(run)
    // Only a run that another process settled is still under way here.
    lanes.control(run.runId)?.stop({ kind: 'abort', cause: 'another process settled the run' })
    book.countSettled(run)
    waiters.settled(run.runId)
    listeners.tell((listener) => listener.settled?.(this.view(run)))
  }
}

function outcomeOf(view: RunView): RunOutcome {
  const { state, startedAt, endedAt, reply, usage, error, result } = view
  const hasEnded = endedAt !== undefined
  return {
    status: !hasEnded ? 'timeout' : state === 'ok' ? 'ok' : 'error',
    state,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(reply === undefined ? {} : { reply }),
    ...(usage === undefined ? {} : { usage }),
    ...(error === undefined ? {} : { error }),
    ...(result === undefined ? {} : { result }),
  }
}
