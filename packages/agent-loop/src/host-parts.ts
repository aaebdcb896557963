/**
 * The parts of a host and how they are joined: who is told what by whom. Owns their order at the
 * shutdown. Decides nothing.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { TurnEndReason } from '@deepseek-ai/dsh-session'
import { lanesOf, PER_TARGET_LANE, type Config } from './config.ts'
import type { Clock } from './clock.ts'
import { composeMessage } from './compose.ts'
import type { RunEntry } from './entries.ts'
import { EmbeddedLanes } from './engines/embedded-lanes.ts'
import type { LaneEngine } from './engines/lane-engine.ts'
import { leaseMsOf } from './engines/open-lanes.ts'
import { ForcedReleases } from './forced-release.ts'
import { HeldTurns } from './held-turn.ts'
import { letOut, type LeavingPorts } from './leaving-run.ts'
import { LaneBook } from './lane-book.ts'
import { Block, LaneState } from './lane-state.ts'
import { LaneMoves } from './lane-moves.ts'
import { Lanes } from './lanes.ts'
import { RunLedger } from './ledger.ts'
import type { ModelDetours } from './model-detours.ts'
import { Openers } from './openers.ts'
import { queueDoor } from './queue-door.ts'
import type { QueueDoor } from './queue-types.ts'
import { OvertakenAgents } from './overtaken-agents.ts'
import { Recovery } from './recovery.ts'
import { installRunOptions } from './run-options.ts'
import { observedRunId, RunListeners } from './run-listeners.ts'
import { answeredMessageId, runMessageIdOf } from './run-message.ts'
import type { RunRecord } from './run-record.ts'
import { RunWriter } from './run-writer.ts'
import type { RunnerPorts } from './runner.ts'
import { SelfWaits } from './self-wait.ts'
import { SessionLeases } from './session-lease.ts'
import { settingsOf } from './session-settings.ts'
import { TAKEN_OVER } from './settlement.ts'
import { EventStreams } from './streams/event-streams.ts'
import { streamLimits } from './streams/limits.ts'
import { Steering } from './steering.ts'
import { isPersonsStop, TurnWatcher, type OpenTurn, type TurnWatch } from './turn-watch.ts'
import type { LaneSnapshot, RunView } from './types.ts'
import { Waiters } from './waiters.ts'
import type { DurableLog, LeaseStore } from 'dsh-durable-log'

/** Whoever was given a session's turn by the lane engine waits for the rest of a lease only. */
const LEASE_RETRY_MS = { alone: 2_000, shared: 500 }

export interface HostPartsOptions {
  readonly ctx: Context
  readonly log: DurableLog
  readonly clock: Clock
  readonly config: Config
  /** Who gets a slot when; default: the lanes of this host alone. */
  readonly engine?: LaneEngine | undefined
  readonly leases: LeaseStore
  readonly leaseClock: Clock
  /** Times what nobody waits for. */
  readonly background: Clock
  /** What hooks make of a settlement. */
  readonly outgoing: LeavingPorts['outgoing']
  /** Shared with the hooks, which choose models, too. */
  readonly detours: ModelDetours
}

export interface HostEvents {
  accepted(run: RunRecord, isOwn: boolean): void
  settled(run: RunRecord): void
  viewOf(run: RunRecord): RunView
}

export class HostParts {
  readonly streams: EventStreams
  readonly ledger: RunLedger
  readonly openers: Openers
  readonly watcher: TurnWatcher
  readonly book: LaneBook
  readonly leases: SessionLeases
  readonly lanes: Lanes
  readonly steering: Steering
  readonly writer: RunWriter
  readonly recovery: Recovery
  readonly overtaken: OvertakenAgents
  readonly waiters: Waiters
  readonly listeners: RunListeners
  readonly moves: LaneMoves
  readonly selfWaits = new SelfWaits()
  readonly heldTurns: HeldTurns
  readonly engine: LaneEngine
  private readonly state: LaneState
  private readonly releases: ForcedReleases
  private readonly options: HostPartsOptions
  private readonly warn: (text: string) => void

  constructor(options: HostPartsOptions, events: HostEvents) {
    const { ctx, log, clock, config, leaseClock, background, outgoing, detours } = options
    const { agents, sessions } = ctx
    this.options = options
    const logger = ctx.logger('agent-loop-host')
    const warn = (text: string): void => void logger.warn(text)
    this.warn = warn
    const detached = (operation: () => void): void => runDetached(agents, operation)
    const widths = new Map(Array.from(lanesOf(config), ([name, { width }]) => [name, width] as const))
    this.engine = options.engine ?? new EmbeddedLanes({ widths, ageMs: config.ageMs })
    this.moves = new LaneMoves(warn)
    this.state = new LaneState({
      engine: this.engine,
      widths,
      perTarget: [PER_TARGET_LANE],
      onMoved: this.moves.moved,
    })
    this.book = new LaneBook({ config, state: this.state })
    this.waiters = new Waiters(clock)
    this.listeners = new RunListeners(warn)
    this.streams = new EventStreams({
      ctx,
      log,
      clock,
      background,
      warn,
      limits: streamLimits(config.events),
      find: (runId) => this.ledger.find(runId),
      get: (runId) => this.ledger.get(runId),
      runsOf: (sessionId) => this.ledger.stream(sessionId).fold.all(),
    })
    this.ledger = new RunLedger(log, {
      accepted: (run, isOwn) => events.accepted(run, isOwn),
      folded: (run, entry, isOwn) => {
        this.streams.folded(run, entry, isOwn)
        this.moves.moved()
        if (!isOwn) this.onForeign(run, entry)
      },
      settled: (run) => events.settled(run),
      quarantined: (error) => warn(error.message),
      readFailed: (sessionId, error) =>
        warn(`the runs of session ${JSON.stringify(sessionId)} were not read: ${String(error)}`),
    })
    this.openers = new Openers(ctx, (sessionId) => this.ledger.stream(sessionId).fold.described)
    this.watcher = new TurnWatcher(ctx, {
      opened: (agentId) => {
        this.lanes.block(agentId, Block.observed)
        this.lanes.unblock(agentId, Block.stopped)
      },
      begun: (agentId, turn) => this.onBegun(agentId, turn),
      claimed: (watch, turn) => this.onClaimed(watch, turn),
      closed: (agentId, turn, reason) => this.onClosed(agentId, turn, reason),
    })
    this.heldTurns = new HeldTurns(ctx)
    this.releases = new ForcedReleases(ctx, (agentId) => this.watcher.open(agentId)?.turn)
    this.leases = new SessionLeases({
      store: options.leases,
      clock: leaseClock,
      ttlMs: leaseMsOf(config),
      retryMs: this.engine.isShared ? LEASE_RETRY_MS.shared : LEASE_RETRY_MS.alone,
      isBusy: (sessionId) => this.needsLease(sessionId),
      onLost: (sessionId) => this.onLeaseLost(sessionId),
      onMaybeFree: (sessionId) => this.lanes.release(sessionId),
      warn,
    })
    const queueOf = (sessionId: string) =>
      settingsOf(this.ledger.stream(sessionId).fold.defaults, config.queue).queue
    this.writer = new RunWriter({
      ledger: this.ledger,
      clock,
      epochOf: (sessionId) => this.leases.epoch(sessionId),
      hostId: this.engine.hostId,
      collectAtMost: (sessionId) => queueOf(sessionId).cap,
    })
    const leaving: LeavingPorts = {
      now: () => clock.now(),
      payloads: (told, end, how) => this.streams.payloadsOf(told, end, how),
      outgoing,
    }
    const running: Omit<RunnerPorts, 'markStarted'> = {
      clock,
      openers: this.openers,
      watcher: this.watcher,
      flush: (session) => sessions.flush(session),
      compose: (started) => composeMessage(ctx, started),
      limitsOf: (run) => ({
        timeoutMs: this.book.timeoutOf(run),
        idleTimeoutMs: run.request?.idleTimeoutMs,
      }),
      letOut: (run, session, settlement) => letOut(run, session, settlement, leaving),
      graceMs: config.graceMs,
      afterCrash: config.afterCrash,
      attempts: config.attempts,
      hasOtherHosts: this.engine.isShared,
      forceRelease: (agent, turn) => this.forceRelease(agent, turn),
    }
    const { state, book, ledger, writer, openers } = this
    const shared = { ...running, state, ledger, writer, leases: this.leases, detached, warn }
    this.lanes = new Lanes({
      ...shared,
      book,
      queueOf,
      retryDelayMs: config.retryDelayMs,
      takeOver: (sessionId) => this.takeOver(sessionId),
      onOver: (sessionId) => this.overtaken.closeIdle(sessionId),
    })
    this.steering = new Steering({
      ...shared,
      lanes: this.lanes,
      driver: this.lanes.driver,
      markStarted: (run, via) => writer.markStarted(run, via),
    })
    this.recovery = new Recovery({ ledger, lanes: this.lanes, openers, warn })
    this.overtaken = new OvertakenAgents({
      openers,
      isAtWork: (sessionId) =>
        this.watcher.open(sessionId) !== undefined || this.lanes.active(sessionId) !== undefined,
      warn,
    })
    this.engine.connect({
      stirred: () => this.lanes.pump(),
      summoned: (sessionId) => this.onSummoned(sessionId),
      lost: (sessionId) => this.leases.lost(sessionId),
      warn,
    })
    ctx.on('agent/created', ({ agent }) => {
      this.overtaken.forget(agent.id)
      this.recovery.onAgentCreated(agent)
    })
    ctx.on('agent/disposed', ({ agent }) => this.overtaken.forget(agent.id))
    ctx.on('agent/session-start', ({ agent }) => this.recovery.clearInbox(agent))
    ctx.on('agent/status', ({ agent, status }) => {
      if (status === 'idle') this.steering.clearEchoes(agent)
    })
    installRunOptions(ctx, {
      detours,
      runOf: (agent) => this.runOfTurn(agent),
      runOfMessage: (agent, messageId) => this.runOfMessage(agent.id, messageId),
    })
  }

  queueDoor(assertOpen: () => void): QueueDoor {
    const { ledger, lanes, steering, writer } = this
    return queueDoor({ ledger, lanes, steering, writer, assertOpen })
  }

  snapshots(): readonly LaneSnapshot[] {
    return this.state.views().flatMap(({ sessionId, running, queued }) => {
      const turn = this.watcher.open(sessionId)
      const isObserved = turn !== undefined && turn.isKnown && !turn.isOurs
      if (running === undefined && queued.length === 0 && !isObserved) return []
      const observed = isObserved ? { observed: observedOf(sessionId, turn) } : {}
      return [{ sessionId, running, queued, ...observed }]
    })
  }

  async close(): Promise<void> {
    this.waiters.close()
    this.recovery.close()
    await this.lanes.close()
    await this.engine.close()
    await this.ledger.close()
    await this.leases.close()
    await this.streams.close()
  }

  /**
   * Alone, a process keeps a session for what waits in it. Where lanes are shared, its next turn may be
   * another host's, who must not be kept from it by one that only waits, too.
   */
  private needsLease(sessionId: string): boolean {
    if (this.watcher.open(sessionId) !== undefined) return true
    return this.engine.isShared ? this.state.running(sessionId) !== undefined : this.state.isBusy(sessionId)
  }

  /** What a session has to run, whoever accepted it. */
  private async onSummoned(sessionId: string): Promise<void> {
    const stream = this.ledger.stream(sessionId)
    await stream.refresh()
    const { fold } = stream
    this.lanes.adopt(
      sessionId,
      fold.open().flatMap((runId) => fold.get(runId) ?? []),
    )
  }

  /** Another host has written about a run. */
  private onForeign(run: RunRecord, entry: RunEntry): void {
    const { sessionId, runId } = run
    if (entry.type === 'queue/moved') this.lanes.move(runId, entry.data.before)
    this.engine.nudge()
    const isElsewhere = entry.type === 'run/started' && entry.data.epoch !== this.leases.epoch(sessionId)
    if (isElsewhere && this.engine.isShared) this.overtaken.add(sessionId)
  }

  /** Reads what other hosts did with a session that comes here. @returns whether it can be run here. */
  private async takeOver(sessionId: string): Promise<boolean> {
    if (!this.engine.isShared) return true
    await this.ledger.stream(sessionId).refresh()
    return await this.overtaken.close(sessionId)
  }

  private onBegun(sessionId: string, turn: OpenTurn): void {
    if (!turn.isOurs) {
      // Its turn is not ours to delay, but nobody else's run is to begin beside it.
      if (this.engine.isShared) this.leases.take(sessionId).catch(() => undefined)
      const { runId } = observedOf(sessionId, turn)
      const session = this.openers.live(sessionId)?.session
      if (session !== undefined) this.streams.turnBegan(session, turn.turn)
      this.listeners.tell((listener) =>
        listener.started?.({ runId, sessionId, turn: turn.turn, observed: true }),
      )
    }
    this.steering.offer(sessionId)
  }

  private onClaimed(watch: TurnWatch, turn: number): void {
    const sessionId = watch.agent.id
    const run = this.runOfMessage(sessionId, watch.messageId)
    for (const runId of run === undefined ? [] : [run.runId, ...run.members]) {
      this.listeners.tell((listener) => listener.started?.({ runId, sessionId, turn, observed: false }))
    }
  }

  private onClosed(sessionId: string, turn: OpenTurn, reason: TurnEndReason): void {
    this.releases.closed(sessionId)
    this.steering.turnClosed(sessionId)
    if (turn.isKnown && !turn.isOurs) {
      const { runId } = observedOf(sessionId, turn)
      this.streams.turnEnded(sessionId, turn.turn, reason)
      this.listeners.tell((listener) =>
        listener.observedEnded?.({ runId, sessionId, turn: turn.turn, reason: reason.kind }),
      )
      if (isPersonsStop(reason) && this.state.isBusy(sessionId)) this.lanes.block(sessionId, Block.stopped)
    }
    this.lanes.unblock(sessionId, Block.observed)
    this.overtaken.closeIdle(sessionId)
  }

  private onLeaseLost(sessionId: string): void {
    const active = this.lanes.active(sessionId)
    this.lanes.lose(sessionId)
    const turn = this.watcher.open(sessionId)
    if (active === undefined || turn?.isOurs !== true) return
    this.openers.live(sessionId)?.cancel(TAKEN_OVER, { keepInbox: true })
  }

  private forceRelease(agent: Agent, turn: number): void {
    const runId = this.lanes.active(agent.id)?.runId
    const run = runId === undefined ? undefined : this.ledger.get(runId)
    if (run !== undefined) this.book.countForcedRelease(this.book.laneOf(run))
    this.releases.release(agent, turn)
  }

  private runOfTurn(agent: Agent): RunRecord | undefined {
    const active = this.lanes.active(agent.id)
    return active !== undefined && this.watcher.open(agent.id)?.isOurs === true
      ? this.ledger.get(active.runId)
      : undefined
  }

  /** The open run that a message answers; a copy of one answers none. */
  runIdOf(sessionId: string, messageId: string): string | undefined {
    return this.ledger.stream(sessionId).fold.withOwnMessage(answeredMessageId(messageId))?.runId
  }

  private runOfMessage(sessionId: string, messageId: string): RunRecord | undefined {
    const id = runMessageIdOf(messageId)
    return id === undefined ? undefined : this.ledger.stream(sessionId).fold.withOwnMessage(id)
  }
}

/** Runs an operation outside of any turn; not at all when the agents are going away, and this host next. */
function runDetached(agents: Context['agents'], operation: () => void): void {
  let isRunning = false
  try {
    agents.withoutInitiator(() => {
      isRunning = true
      operation()
    })
  } catch (error) {
    if (isRunning) throw error
  }
}

function observedOf(sessionId: string, { turn }: OpenTurn): { runId: string; turn: number } {
  return { runId: observedRunId(sessionId, turn), turn }
}
