/**
 * Hooks as one piece: the registrations of plugins, the bridge to DSH's own extension points, and the
 * start and stop of the host. The rest of the package knows only this class.
 *
 *     stop: agent_end of open turns ─► session_end of each session ─► gateway_stop ─► nobody is called
 */
import type { Context } from '@deepseek-ai/cordis'
import type { DurableLog } from 'dsh-durable-log'
import type { Clock } from '../clock.ts'
import { AgentLoopError } from '../errors.ts'
import type { ModelDetours } from '../model-detours.ts'
import type { RunRecord, Settlement } from '../run-record.ts'
import { Announcer } from './announcer.ts'
import { ArgumentRewriter } from './argument-rewriter.ts'
import { HookDispatcher } from './dispatcher.ts'
import { MessageHooks, type Delivery } from './message-hooks.ts'
import { PromptHooks } from './prompt-hooks.ts'
import { HookRegistry, type Registration } from './registry.ts'
import { SessionHooks } from './session-hooks.ts'
import type { HookSettings } from './settings.ts'
import { ToolHooks } from './tool-hooks.ts'
import { TurnBook } from './turn-book.ts'
import type { HookEvent, HookHandler, HookName, HookOptions, OutgoingMessage } from './types.ts'

/** The state of a Cordis fiber that is going away; DSH's build has no object for the enum. */
const UNLOADING = 5

/** The part of the shutdown budget that is kept for `gateway_stop`. */
const STOP_SHARE = 0.25

export interface HookHostOptions {
  /** Owns the listeners; injects `agents`. */
  readonly ctx: Context
  readonly log: DurableLog
  readonly clock: Clock
  readonly settings: HookSettings
  readonly detours: ModelDetours
  readonly runIdOf: (sessionId: string, messageId: string) => string | undefined
}

export class HookHost {
  private readonly ctx: Context
  private readonly clock: Clock
  private readonly settings: HookSettings
  private readonly registry: HookRegistry
  private readonly dispatcher: HookDispatcher
  private readonly messages: MessageHooks
  private readonly sessions: SessionHooks
  private started: HookEvent<'gateway_start'> | undefined
  private stopping: Promise<void> | undefined

  constructor({ ctx, log, clock, settings, detours, runIdOf }: HookHostOptions) {
    this.ctx = ctx
    this.clock = clock
    this.settings = settings
    const logger = ctx.logger('agent-loop-host')
    this.registry = new HookRegistry(settings)
    const { registry } = this
    const dispatcher = new HookDispatcher({ registry, clock, warn: (text) => void logger.warn('%s', text) })
    this.dispatcher = dispatcher
    const book = new TurnBook(ctx, {
      clock,
      runIdOf,
      onEnd: (turn, reason) => {
        this.sessions.turnEnded(turn, reason)
        this.messages.turnEnded(turn)
      },
    })
    const announcer = new Announcer()
    this.messages = new MessageHooks(ctx, dispatcher, announcer)
    this.sessions = new SessionHooks(ctx, {
      announcer,
      dispatcher,
      book,
      clock,
      isProcessGoing: () => this.isProcessGoing(),
    })
    new PromptHooks({ dispatcher, book, announcer, detours }).listen(ctx)
    const rewriter = new ArgumentRewriter(ctx, log)
    new ToolHooks({ announcer, dispatcher, book, clock, rewriter }).listen(ctx)
  }

  /**
   * Registers a handler as an effect of the caller. While the host goes away, the undo waits until the
   * last hooks were called, so that a plugin that goes with it still hears them.
   *
   * @throws `invalid` or `closed`.
   */
  hook<N extends HookName>(
    caller: Context,
    name: N,
    handler: HookHandler<N>,
    options?: HookOptions,
  ): () => void {
    if (this.stopping !== undefined) {
      throw new AgentLoopError('closed', 'the agent-loop host is shutting down; it takes no hooks')
    }
    return caller.effect(() => this.register(caller.fiber.name, name, handler, options), `hook ${name}`)
  }

  /** Registers a handler under the name of a plugin. @returns the undo. */
  register(plugin: string, name: unknown, handler: unknown, options?: unknown): () => void | Promise<void> {
    const registration = this.registry.add(plugin, name, handler, options)
    this.tellStart(registration)
    return () => {
      if (!this.isGoing()) return this.registry.remove(registration)
      return this.stop().finally(() => this.registry.remove(registration))
    }
  }

  /** Tells that the host is there; a handler that is registered later is told when it comes. */
  async start(): Promise<void> {
    const port = (this.ctx.get('webServer') as { readonly port?: number } | undefined)?.port
    this.started = port === undefined ? {} : { port }
    await this.dispatcher.observe('gateway_start', this.started)
  }

  /** @see MessageHooks.settlementOf */
  outgoing(run: RunRecord, settlement: Settlement): Promise<Settlement> {
    return this.messages.settlementOf(run, settlement)
  }

  /** @see MessageHooks.deliver */
  deliver(message: OutgoingMessage, send: (content: string) => Promise<void>): Promise<Delivery> {
    return this.messages.deliver(message, send)
  }

  /** Calls the last hooks within the budget, then none any more. Idempotent; never rejects. */
  stop(): Promise<void> {
    this.stopping ??= this.callLast().finally(() => this.dispatcher.close())
    return this.stopping
  }

  private async callLast(): Promise<void> {
    const { shutdownMs } = this.settings
    const endsSessions = this.isProcessGoing()
    const forStop = shutdownMs * STOP_SHARE
    if (endsSessions) await this.within(shutdownMs - forStop, this.sessions.endAll())
    const reason = endsSessions ? 'shutdown' : 'unload'
    await this.within(forStop, this.dispatcher.observe('gateway_stop', { reason }))
  }

  private async within(budgetMs: number, work: Promise<void>): Promise<void> {
    const over = Promise.withResolvers<void>()
    const disarm = this.clock.after(budgetMs, over.resolve)
    try {
      await Promise.race([work, over.promise])
    } finally {
      disarm()
    }
  }

  private tellStart(registration: Registration): void {
    const { started } = this
    if (started === undefined || registration.name !== 'gateway_start') return
    queueMicrotask(() => void this.dispatcher.tell(registration, started))
  }

  private isGoing(): boolean {
    return this.stopping !== undefined || this.ctx.fiber.state === UNLOADING || this.isProcessGoing()
  }

  /** Whether sessions end with this host: the whole tree goes, or what holds the agents. */
  private isProcessGoing(): boolean {
    return this.ctx.root.fiber.state === UNLOADING || this.ctx.get('agents') === undefined
  }
}
