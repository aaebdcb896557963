/**
 * The event streams of all runs: follows DSH's sessions and the run ledger, keeps one hub for each run
 * that has events here, and serves the subscribers. Changes nothing of a run, and is never waited for.
 *
 * A hub is freed when its run has been over for the retention; then the durable log answers.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { DurableLog } from 'dsh-durable-log'
import type { Clock } from '../clock.ts'
import type { RunEntry } from '../entries.ts'
import { AgentLoopError } from '../errors.ts'
import { MessagingTools } from '../replies/messaging-tools.ts'
import type { MessagingTool } from '../replies/types.ts'
import type { RunRecord } from '../run-fold.ts'
import { EVENT_STREAM_PREFIX } from './event-entries.ts'
import type { RingLimits } from './event-ring.ts'
import { RunHub, type HubPorts } from './run-hub.ts'
import { endOf, RunReader, type ReaderPorts } from './run-reader.ts'
import { sanitizeToolResults } from './sanitize-results.ts'
import { SessionFeed } from './session-feed.ts'
import { checkSubscribeRequest } from './subscribe-request.ts'
import { iterate, type ReaderSource } from './subscription.ts'
import type { ContentLimits } from './tool-content.ts'
import { TurnRuns } from './turn-runs.ts'
import type { AgentEvent, SubscribeRequest } from './types.ts'
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
  private readonly tools = new MessagingTools()
  private readonly wakes = new Wakes()
  private readonly feeds = new Map<string, Set<SessionFeed>>()
  /** Undoes the timer that frees a hub. */
  private readonly expiries = new Map<string, () => void>()
  private readonly hubPorts: HubPorts
  private readonly readerPorts: ReaderPorts
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
    this.readerPorts = { log, now, hub: (runId) => this.hubs.get(runId), find: options.find }
    this.unsubscribe = log.subscribe(EVENT_STREAM_PREFIX, ({ stream }) =>
      this.wakes.wake(`run:${stream.slice(EVENT_STREAM_PREFIX.length)}`),
    )
    sanitizeToolResults(ctx, limits.logged)
    ctx.on('session/event', (session, event) => {
      for (const run of this.turns.follow(session, event)) {
        const hub = this.hubs.get(run.runId)
        if (hub === undefined) this.catchUp(this.hubFor(run), run)
        else hub.tell(hub.translator.push(event))
      }
    })
  }

  /**
   * Told of each entry of a run stream, in order.
   *
   * @param isOwn whether this process wrote it; others tell the events of theirs themselves.
   */
  folded(run: RunRecord, entry: RunEntry, isOwn: boolean): void {
    if (entry.type === 'run/settled') return this.onSettled(run, isOwn)
    if (run.settled !== undefined) return
    this.turns.add(run)
    if (entry.type !== 'run/started') return
    if (!isOwn) return this.announce(run)
    const { attempt, startedAt } = entry.data
    const hub = this.hubFor({ ...run, attempt: attempt - 1 })
    hub.tell([{ stream: 'lifecycle', data: { phase: 'start', attempt, startedAt } }])
    if (this.options.ctx.agents.get(SessionId(run.sessionId))?.status === 'running') this.catchUp(hub, run)
  }

  /** @throws AgentLoopError `invalid` at once; the iteration rejects with `run-not-found` or `closed`. */
  subscribe(input: SubscribeRequest): AsyncIterable<AgentEvent> {
    this.assertOpen()
    const request = checkSubscribeRequest(input)
    const source = request.sessionId === undefined ? this.runSource(request) : this.sessionSource(request)
    return iterate(source, this.options.clock, request.signal)
  }

  /** @throws AgentLoopError `conflict` when the tool is registered already. @returns the undo. */
  registerMessagingTool(tool: MessagingTool): () => void {
    this.assertOpen()
    return this.tools.register(tool)
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

  private onSettled(run: RunRecord, isOwn: boolean): void {
    this.turns.remove(run)
    const isHere = this.hubs.has(run.runId)
    if (isOwn || isHere) this.hubFor(run).end(endOf(run))
    else this.announce(run)
  }

  /** The hub of a run, made at its first event in this process. */
  private hubFor(run: RunRecord): RunHub {
    let hub = this.hubs.get(run.runId)
    if (hub !== undefined) return hub
    hub = new RunHub(run, this.hubPorts)
    this.hubs.set(run.runId, hub)
    for (const feed of this.feeds.get(run.sessionId) ?? []) feed.add(run.runId)
    return hub
  }

  /** Tells what the run's turn said before the run was known here, when its message is in it already. */
  private catchUp(hub: RunHub, run: RunRecord): void {
    const session = this.options.ctx.sessions.get(SessionId(run.sessionId))
    if (session === undefined) return
    for (const event of this.turns.missed(session, run.messageId)) hub.tell(hub.translator.push(event))
  }

  /** A run of another process has something to say. */
  private announce({ runId, sessionId }: RunRecord): void {
    for (const feed of this.feeds.get(sessionId) ?? []) feed.add(runId)
    this.wakes.wake(`run:${runId}`)
    this.wakes.wake(`session:${sessionId}`)
  }

  private onChanged(hub: RunHub): void {
    const { runId, sessionId } = hub
    if (hub.isOver && !this.isClosed) {
      const { background, limits } = this.options
      this.expiries.set(
        runId,
        background.after(limits.retentionMs, () => void this.free(hub)),
      )
    }
    this.wakes.wake(`run:${runId}`)
    this.wakes.wake(`session:${sessionId}`)
  }

  private async free(hub: RunHub): Promise<void> {
    await hub.flush()
    this.expiries.delete(hub.runId)
    this.hubs.delete(hub.runId)
    for (const feed of this.feeds.get(hub.sessionId) ?? []) feed.forget(hub.runId)
  }

  private reader(run: { runId: string; sessionId: string }, afterSeq: number): RunReader {
    return new RunReader(run, afterSeq, this.readerPorts)
  }

  private runSource({ runId = '', afterSeq = 0 }: SubscribeRequest): ReaderSource {
    return {
      first: async () => [this.reader(await this.known(runId), afterSeq)],
      more: () => {
        this.assertOpen()
        return []
      },
      isComplete: () => true,
      onNews: (_readers, callback) => this.wakes.on(`run:${runId}`, callback),
      ended: () => undefined,
    }
  }

  private sessionSource({ sessionId = '', runId, afterSeq }: SubscribeRequest): ReaderSource {
    const later: RunRecord[] = []
    let backlog: RunRecord[] = []
    let feed: SessionFeed | undefined
    const open = (): void => {
      feed = new SessionFeed(
        sessionId,
        [...backlog, ...later].map((run) => run.runId),
      )
      this.feeds.set(sessionId, (this.feeds.get(sessionId) ?? new Set()).add(feed))
    }
    return {
      first: async () => {
        if (runId !== undefined) this.assertIn(await this.known(runId), sessionId)
        const runs = [...this.options.runsOf(sessionId)]
        const from = runId === undefined ? 0 : runs.findIndex((run) => run.runId === runId)
        const isPast = (run: RunRecord): boolean => run.settled !== undefined
        if (runId !== undefined || afterSeq === 0) backlog = runs.slice(from).filter(isPast)
        later.push(...runs.slice(from).filter((run) => !isPast(run) && this.hasBegun(run)))
        open()
        return []
      },
      more: (isIdle) => {
        this.assertOpen()
        const position = (run: RunRecord): number => (run.runId === runId ? (afterSeq ?? 0) : 0)
        const past = isIdle ? backlog.shift() : undefined
        if (past !== undefined) return [this.reader(past, position(past))]
        if (backlog.length > 0 || (later.length > 0 && !isIdle)) return []
        const begun = later.splice(0).map((run) => this.reader(run, position(run)))
        const fresh = (feed?.take() ?? []).map((id) => this.reader({ runId: id, sessionId }, 0))
        return [...begun, ...fresh]
      },
      isComplete: () => false,
      onNews: (readers, callback) => {
        const names = [`session:${sessionId}`, ...readers.map((reader) => `run:${reader.runId}`)]
        const undos = names.map((name) => this.wakes.on(name, callback))
        return () => undos.forEach((undo) => undo())
      },
      ended: () => {
        const feeds = this.feeds.get(sessionId)
        if (feed !== undefined) feeds?.delete(feed)
        if (feeds?.size === 0) this.feeds.delete(sessionId)
      },
    }
  }

  private hasBegun(run: RunRecord): boolean {
    return run.attempt > 0 || this.hubs.has(run.runId)
  }

  private async known(runId: string): Promise<RunRecord> {
    const run = await this.options.find(runId)
    if (run !== undefined) return run
    throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} was ever accepted`)
  }

  private assertIn({ runId, sessionId }: RunRecord, asked: string): void {
    if (sessionId === asked) return
    throw new AgentLoopError(
      'invalid',
      `subscribe refused: run ${JSON.stringify(runId)} belongs to session ${JSON.stringify(sessionId)}`,
    )
  }
}
