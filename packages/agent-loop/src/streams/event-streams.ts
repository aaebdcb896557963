/**
 * The event streams of all runs: follows DSH's sessions and the run ledger, keeps one hub for each run
 * that has events here, and serves the subscribers. Changes nothing of a run, and is never waited for.
 *
 * A hub is freed when its run has been over for the retention; then the durable log answers.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId, type Session, type SessionEvent, type TurnEndReason } from '@deepseek-ai/dsh-session'
import type { DurableLog } from 'dsh-durable-log'
import type { Clock } from '../clock.ts'
import type { RunEntry } from '../entries.ts'
import { AgentLoopError } from '../errors.ts'
import type { RunTale } from '../replies/payloads.ts'
import { MessagingTools } from '../replies/messaging-tools.ts'
import { turnPayloads } from '../replies/turn-payloads.ts'
import type { MessagingTool, ReplyOptions, ReplyPayload } from '../replies/types.ts'
import type { RunRecord } from '../run-record.ts'
import { EVENT_STREAM_PREFIX } from './event-entries.ts'
import type { RingLimits } from './event-ring.ts'
import { ObservedTurns } from './observed-turns.ts'
import { RunHub, type HubPorts } from './run-hub.ts'
import {
  runNews,
  runSource,
  sessionNews,
  SessionSource,
  type SourcePorts,
  type SourceRun,
} from './reader-sources.ts'
import { observedRunId } from '../run-listeners.ts'
import { endOf, RunReader } from './run-reader.ts'
import { sanitizeToolResults } from './sanitize-results.ts'
import type { SessionFeed } from './session-feed.ts'
import { checkSubscribeRequest, MAX_RUN_ID } from './subscribe-request.ts'
import { iterate } from './subscription.ts'
import type { ContentLimits } from './tool-content.ts'
import { eventsBehind, openTurnEvents, TurnRuns } from './turn-runs.ts'
import type { AgentEvent, EventBody, SubscribeRequest } from './types.ts'
import { Wakes } from './wakes.ts'

export interface EventStreamsOptions {
  /** Owns the listeners; injects `agents` and `sessions`. */
  readonly ctx: Context
  readonly log: DurableLog
  readonly clock: Clock
  /** Times the freeing of what is over; its timers do not keep a process alive. */
  readonly background: Clock
  readonly warn: (text: string) => void
  /** The run with this id, also one that another process accepted. */
  readonly find: (runId: string) => Promise<RunRecord | undefined>
  /** The same, as far as this process has read. */
  readonly get: (runId: string) => RunRecord | undefined
  /** The runs of a session as far as they are read, in the order of acceptance. */
  readonly runsOf: (sessionId: string) => Iterable<RunRecord>
  readonly limits: StreamLimits
}

export interface StreamLimits {
  /** How long the events of a run stay in memory when it is over, milliseconds. */
  readonly retentionMs: number
  readonly ring: RingLimits
  /** What of a tool's result goes into the session's log. */
  readonly logged: ContentLimits
  /** What of a tool's result goes onto the stream. */
  readonly emitted: ContentLimits
}

export class EventStreams {
  private readonly options: EventStreamsOptions
  private readonly hubs = new Map<string, RunHub>()
  private readonly turns = new TurnRuns()
  private readonly observed: ObservedTurns
  private readonly tools = new MessagingTools()
  private readonly wakes = new Wakes()
  private readonly feeds = new Map<string, Set<SessionFeed>>()
  /** Undoes the timer that frees a hub. */
  private readonly expiries = new Map<string, () => void>()
  private readonly hubPorts: HubPorts
  private readonly sourcePorts: SourcePorts
  private readonly unsubscribe: () => void
  private isClosed = false

  constructor(options: EventStreamsOptions) {
    const { ctx, log, clock, limits, warn } = options
    this.options = options
    const now = (): number => clock.now()
    this.hubPorts = {
      log,
      now,
      warn,
      ring: limits.ring,
      limits: limits.emitted,
      receiptOf: (call) => this.tools.receiptOf(call, warn),
      changed: (hub) => this.onChanged(hub),
    }
    this.observed = new ObservedTurns({
      log,
      now,
      hubFor: (run) => this.hubFor(run),
    })
    const readerPorts = { log, now, hub: (runId: string) => this.hubs.get(runId), find: options.find }
    this.sourcePorts = {
      wakes: this.wakes,
      assertOpen: () => this.assertOpen(),
      find: (runId) => this.find(runId),
      runsOf: (sessionId) => this.runsOf(sessionId),
      reader: (run, afterSeq) => new RunReader(run, afterSeq, readerPorts),
      follow: (sessionId, feed) => this.follow(sessionId, feed),
    }
    this.unsubscribe = log.subscribe(EVENT_STREAM_PREFIX, ({ stream }) =>
      this.wakes.wake(runNews(stream.slice(EVENT_STREAM_PREFIX.length))),
    )
    sanitizeToolResults(ctx, limits.logged)
    ctx.on('session/event', (session, event) => {
      for (const run of this.turns.follow(session, event)) {
        const hub = this.hubs.get(run.runId)
        // The hub of a run that is taken up in the middle is told this event, too.
        if (hub === undefined) this.replay(this.takeUp(run), eventsBehind(session, this.messageOf(run)))
        else hub.tell(hub.translator.push(event))
      }
      this.observed.follow(session.id, event)
    })
  }

  /**
   * Told of each entry of a run stream, in order.
   *
   * @param isOwn whether this process wrote it; others tell the events of theirs themselves.
   */
  folded(run: RunRecord, entry: RunEntry, isOwn: boolean): void {
    try {
      if (entry.type === 'run/settled') this.onSettled(run, isOwn)
      else if (run.settled === undefined) this.onOpen(run, entry, isOwn)
    } catch (error) {
      // The run goes on, whatever is wrong with its events.
      this.options.warn(`events of run ${run.runId} are not told: ${String(error)}`)
    }
  }

  /** A turn is open that is no run of ours. */
  turnBegan(session: Session, turn: number): void {
    const isNamed = observedRunId(session.id, turn).length <= MAX_RUN_ID
    if (isNamed && !this.isClosed) this.observed.begin(session.id, turn, openTurnEvents(session))
  }

  /** A turn is over that was no run of ours. */
  turnEnded(sessionId: string, turn: number, reason: TurnEndReason): void {
    this.observed.end(sessionId, turn, reason)
  }

  /** @throws AgentLoopError `invalid` at once; the iteration rejects with `run-not-found` or `closed`. */
  subscribe(input: SubscribeRequest): AsyncIterable<AgentEvent> {
    this.assertOpen()
    const request = checkSubscribeRequest(input)
    const { sourcePorts } = this
    const isOne = request.sessionId === undefined
    const source = isOne ? runSource(request, sourcePorts) : new SessionSource(request, sourcePorts)
    return iterate(source, this.options.clock, request.signal)
  }

  /** @throws AgentLoopError `conflict` when the tool is registered already. @returns the undo. */
  registerMessagingTool(tool: MessagingTool): () => void {
    this.assertOpen()
    return this.tools.register(tool)
  }

  /**
   * What a run says to a person in all, for its result.
   *
   * @param events the events of its turn, from its message on.
   */
  payloadsOf(
    events: readonly SessionEvent[],
    end: RunTale['end'],
    options: ReplyOptions = {},
  ): readonly ReplyPayload[] {
    return turnPayloads(events, { end, options, ports: this.hubPorts })
  }

  /** How much is held: for metrics and tests. */
  get held(): { readonly hubs: number; readonly characters: number; readonly waiting: number } {
    let characters = 0
    for (const { ring } of this.hubs.values()) characters += ring.held.characters
    return { hubs: this.hubs.size, characters, waiting: this.wakes.size }
  }

  /** Brings what is pending to the log and ends every subscription with `closed`. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.unsubscribe()
    for (const disarm of this.expiries.values()) disarm()
    this.expiries.clear()
    this.wakes.wakeAll()
    await Promise.all([...this.hubs.values()].map((hub) => hub.flush()))
    this.hubs.clear()
  }

  private assertOpen(): void {
    if (!this.isClosed) return
    throw new AgentLoopError(
      'closed',
      'the agent-loop host is shutting down; subscribe again after its start',
    )
  }

  private onOpen(run: RunRecord, entry: RunEntry, isOwn: boolean): void {
    this.turns.add(run, this.messageOf(run))
    if (entry.type !== 'run/started') return
    this.onStarted(run, isOwn)
    // Those that are told in its turn have begun with it.
    for (const runId of run.members) {
      const member = this.options.get(runId)
      if (member === undefined || member.settled !== undefined) continue
      this.turns.add(member, run.messageId)
      this.onStarted(member, isOwn)
    }
  }

  private onStarted(run: RunRecord, isOwn: boolean): void {
    if (!isOwn) return this.announce(run)
    const { sessionId } = run
    // An attempt has its room behind those before it.
    const hub = this.hubFor({ ...run, attempt: run.attempt - 1 })
    hub.tell(startOf(run))
    const agent = this.options.ctx.agents.get(SessionId(sessionId))
    if (agent?.status === 'running') this.replay(hub, this.turns.missed(agent.session, this.messageOf(run)))
  }

  private onSettled(run: RunRecord, isOwn: boolean): void {
    this.turns.remove(run)
    const hub = this.hubs.get(run.runId)
    if (hub !== undefined) return hub.end(endOf(run))
    if (!isOwn) return this.announce(run)
    const session = this.options.ctx.sessions.get(SessionId(run.sessionId))
    const late = this.takeUp(run)
    // Its turn was over before this process could follow it; the session knows what it said.
    if (session !== undefined && run.attempt > 0) {
      this.replay(late, eventsBehind(session, this.messageOf(run)))
    }
    late.end(endOf(run))
  }

  /** The hub of a run, made at its first event in this process. */
  private hubFor(run: { runId: string; sessionId: string; attempt: number }): RunHub {
    let hub = this.hubs.get(run.runId)
    if (hub !== undefined) return hub
    hub = new RunHub(run, this.hubPorts)
    this.hubs.set(run.runId, hub)
    for (const feed of this.feeds.get(run.sessionId) ?? []) feed.add(run.runId)
    return hub
  }

  /** The hub of a run that an earlier process, or an earlier host, has started. */
  private takeUp(run: RunRecord): RunHub {
    const hub = this.hubFor(run)
    hub.tell(startOf(run))
    return hub
  }

  /** The message that tells the run. */
  private messageOf({ leader, messageId }: RunRecord): string {
    return (leader === undefined ? undefined : this.options.get(leader)?.messageId) ?? messageId
  }

  private async find(runId: string): Promise<SourceRun | undefined> {
    const run = await this.options.find(runId)
    return run === undefined ? await this.observed.find(runId) : this.sourceRun(run)
  }

  /** Runs in the order of their acceptance, and among them the turns that nobody accepted. */
  private runsOf(sessionId: string): readonly SourceRun[] {
    const runs = [...this.options.runsOf(sessionId)].map((run) => this.sourceRun(run))
    const observed = this.observed.ofSession(sessionId)
    if (observed.length === 0) return runs
    return [...runs, ...observed].toSorted((one, other) => one.beganAt - other.beganAt)
  }

  private sourceRun({ runId, sessionId, acceptedAt, attempt, settled }: RunRecord): SourceRun {
    const hasBegun = attempt > 0 || this.hubs.has(runId)
    return { runId, sessionId, beganAt: acceptedAt, hasBegun, isOver: settled !== undefined }
  }

  private replay(hub: RunHub, events: readonly SessionEvent[]): void {
    for (const event of events) hub.tell(hub.translator.push(event))
  }

  /** A run of another process has something to say. */
  private announce({ runId, sessionId, settled }: RunRecord): void {
    for (const feed of this.feeds.get(sessionId) ?? []) {
      feed.add(runId)
      // It is told of once more at most.
      if (settled !== undefined) feed.forget(runId)
    }
    this.wakes.wake(runNews(runId))
    this.wakes.wake(sessionNews(sessionId))
  }

  private follow(sessionId: string, feed: SessionFeed): () => void {
    const feeds = this.feeds.get(sessionId) ?? new Set()
    this.feeds.set(sessionId, feeds.add(feed))
    return () => {
      feeds.delete(feed)
      if (feeds.size === 0 && this.feeds.get(sessionId) === feeds) this.feeds.delete(sessionId)
    }
  }

  private onChanged(hub: RunHub): void {
    if (hub.isOver && !this.isClosed) this.expire(hub)
    this.wakes.wake(runNews(hub.runId))
    this.wakes.wake(sessionNews(hub.sessionId))
  }

  private expire(hub: RunHub): void {
    const { background, limits } = this.options
    this.expiries.set(
      hub.runId,
      background.after(limits.retentionMs, () => void this.free(hub)),
    )
  }

  private async free(hub: RunHub): Promise<void> {
    await hub.flush()
    if (this.isClosed) return
    // The log is away: nobody else has these events.
    if (hub.hasUnwritten) return this.expire(hub)
    this.expiries.delete(hub.runId)
    this.hubs.delete(hub.runId)
    this.observed.forget(hub.runId)
    for (const feed of this.feeds.get(hub.sessionId) ?? []) feed.forget(hub.runId)
  }
}

function startOf({ attempt, startedAt }: RunRecord): readonly EventBody[] {
  if (startedAt === undefined) return []
  return [{ stream: 'lifecycle', data: { phase: 'start', attempt, startedAt } }]
}
