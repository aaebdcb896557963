/**
 * The hooks of messages: `message_received` when one enters an inbox, `message_sending` and `message_sent`
 * around each text that goes out. The reply of a turn goes out at the turn's end, whoever started it; what
 * the hooks made of it is the reply of its run. The session log keeps what the model said.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import { firstMessageId } from '../run-message.ts'
import type { Settlement } from '../run-record.ts'
import { readTurn } from '../session-trace.ts'
import type { Announcer } from './announcer.ts'
import type { HookDispatcher } from './dispatcher.ts'
import { sessionFacts, textOfContent, type OpenTurn } from './turn-book.ts'
import type { OutgoingMessage } from './types.ts'

/** How many replies of a session wait for their run, at most. */
const MAX_WAITING = 4

/** How many messages of runs a session remembers, at most. */
const MAX_RECEIVED = 100

/** Forms of plugin messages that tell somebody's words; the others are context. */
const MESSAGE_FORMS: ReadonlySet<string | undefined> = new Set(['notice', 'relay'])

/** How a text was handed over. */
export type Delivery =
  | { readonly kind: 'sent'; readonly content: string }
  | { readonly kind: 'cancelled'; readonly reason: string }

export class MessageHooks {
  private readonly dispatcher: HookDispatcher
  private readonly announcer: Announcer
  /** Messages of runs that were received lately, by session. */
  private readonly received = new Map<string, Set<string>>()
  /** Replies of ended turns by session and turn, until a later turn's run has taken its own. */
  private readonly replies = new Map<string, Map<number, Promise<Delivery>>>()

  /** @param ctx owns the listeners. */
  constructor(ctx: Context, dispatcher: HookDispatcher, announcer: Announcer) {
    this.dispatcher = dispatcher
    this.announcer = announcer
    ctx.on('agent/inbox/inserted', ({ agent, message }) => {
      const from = senderOf(message)
      if (from === undefined || this.isKnown(agent.id, message.id) || !dispatcher.has('message_received'))
        return
      const event = {
        ...sessionFacts(agent.session),
        from,
        content: textOfContent(message.content),
        timestamp: Date.now(),
        metadata: { messageId: message.id },
      }
      announcer.push(() => dispatcher.observe('message_received', event))
    })
    ctx.on('session/disposed', ({ id }) => {
      this.replies.delete(id)
      this.received.delete(id)
    })
  }

  /** Sends the reply of a turn that just ended on its way. */
  turnEnded(turn: OpenTurn): void {
    if (!this.isHeard()) return
    const { session } = turn.agent
    // A turn that its run gave up on had its reply sent then.
    if (this.replies.get(session.id)?.has(turn.turn) === true) return
    const { reply } = readTurn(session.events, turn.turn)
    if (reply === undefined) return
    const message = { ...turn.runFacts, to: session.id, content: reply, metadata: {} }
    const delivery = new Promise<Delivery>((resolve) => {
      this.announcer.push(() => this.deliver(message, async () => undefined).then(resolve))
    })
    this.keep(session.id, turn.turn, delivery)
  }

  /** A run's settlement with the reply as the hooks let it out. */
  async settlementOf(run: { sessionId: string; runId: string }, settlement: Settlement): Promise<Settlement> {
    const { turn, reply, ...rest } = settlement
    if (turn === undefined || reply === undefined) return settlement
    const delivery = this.deliveryOf(run, turn, reply)
    if (delivery === undefined) return settlement
    const sent = await delivery
    return { ...rest, turn, ...(sent.kind === 'sent' ? { reply: sent.content } : {}) }
  }

  /**
   * Puts one outgoing text before the hooks, hands over what they make of it, and tells how that went.
   *
   * @param send hands the text over; what it throws is told to `message_sent` and thrown on.
   */
  async deliver(message: OutgoingMessage, send: (content: string) => Promise<void>): Promise<Delivery> {
    const verdict = await this.judge(message)
    if (verdict.kind === 'cancelled') return verdict
    const { content } = verdict
    const tell = (outcome: { success: boolean; error?: string }): void =>
      void this.dispatcher.observe('message_sent', { ...message, content, ...outcome })
    try {
      await send(content)
    } catch (error) {
      tell({ success: false, error: error instanceof Error ? error.message : String(error) })
      throw error
    }
    tell({ success: true })
    return verdict
  }

  /** A message of a run may enter an inbox twice: as a copy, or again when no turn took it. */
  private isKnown(sessionId: string, messageId: string): boolean {
    const id = firstMessageId(messageId)
    if (id === undefined) return false
    const ids = this.received.get(sessionId) ?? new Set<string>()
    this.received.set(sessionId, ids)
    if (ids.has(id)) return true
    ids.add(id)
    for (const old of [...ids].slice(0, -MAX_RECEIVED)) ids.delete(old)
    return false
  }

  private async judge(message: OutgoingMessage): Promise<Delivery> {
    try {
      const { result } = await this.dispatcher.modify('message_sending', ({ content }) => ({
        ...message,
        content: content ?? message.content,
      }))
      return result.cancel === true
        ? { kind: 'cancelled', reason: 'a hook cancelled it' }
        : { kind: 'sent', content: result.content ?? message.content }
    } catch (error) {
      return { kind: 'cancelled', reason: error instanceof Error ? error.message : String(error) }
    }
  }

  /** Several runs may be told in one turn, whose reply goes out once. */
  private deliveryOf(
    run: { sessionId: string; runId: string },
    turn: number,
    reply: string,
  ): Promise<Delivery> | undefined {
    const waiting = this.replies.get(run.sessionId)
    const known = waiting?.get(turn)
    for (const older of waiting?.keys() ?? []) if (older < turn) waiting?.delete(older)
    if (known !== undefined || !this.isHeard()) return known
    // A turn that ended before this host began is sent now, as any other.
    const delivery = this.recovered(run, turn, reply)
    this.keep(run.sessionId, turn, delivery)
    return delivery
  }

  private keep(sessionId: string, turn: number, delivery: Promise<Delivery>): void {
    const waiting = this.replies.get(sessionId) ?? new Map<number, Promise<Delivery>>()
    waiting.set(turn, delivery)
    for (const old of [...waiting.keys()].slice(0, -MAX_WAITING)) waiting.delete(old)
    this.replies.set(sessionId, waiting)
  }

  private recovered(
    { sessionId, runId }: { sessionId: string; runId: string },
    turn: number,
    content: string,
  ): Promise<Delivery> {
    const message = { sessionId, runId, turn, to: sessionId, content, metadata: { recovered: true } }
    return this.deliver(message, async () => undefined)
  }

  private isHeard(): boolean {
    return this.dispatcher.has('message_sending', 'message_sent')
  }
}

/** Whose words a message holds; none for context that plugins add. */
function senderOf({ source }: UserMessage): string | undefined {
  if (source.kind === 'user') return 'user'
  if (source.kind !== 'plugin' || !MESSAGE_FORMS.has(source.form)) return undefined
  return source.plugin
}
