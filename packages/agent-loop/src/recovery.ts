/**
 * What a host does with runs from before its time. They keep their order in held lanes; a lane is
 * released when the session's agent is live here, when an opener claims it, or all at once when the
 * configuration says that this process adopts every session.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Lanes } from './lanes.ts'
import type { RunLedger } from './ledger.ts'
import type { Openers } from './openers.ts'
import { runMessageIdOf } from './run-message.ts'
import type { SessionOpener } from './types.ts'

/** How many held sessions an opener is asked for at a time. */
const PROBES = 4

export class Recovery {
  private readonly ledger: RunLedger
  private readonly lanes: Lanes
  private readonly openers: Openers
  private readonly warn: (text: string) => void
  private readonly probes = new Set<AbortController>()

  constructor(ports: { ledger: RunLedger; lanes: Lanes; openers: Openers; warn: (text: string) => void }) {
    this.ledger = ports.ledger
    this.lanes = ports.lanes
    this.openers = ports.openers
    this.warn = ports.warn
  }

  /** Reads every stream and puts the open runs into held lanes; those of live agents go on at once. */
  async start(): Promise<void> {
    await this.ledger.sync()
    for (const { fold, quarantined } of this.ledger.all()) {
      const open = fold.open().flatMap((runId) => fold.get(runId) ?? [])
      if (open.length > 0 && quarantined === undefined) this.lanes.hold(fold.sessionId, open)
    }
    for (const sessionId of this.lanes.held()) {
      if (this.openers.live(sessionId) !== undefined) this.lanes.release(sessionId)
    }
  }

  adoptAll(): void {
    for (const sessionId of this.lanes.held()) this.lanes.release(sessionId)
  }

  /** Called inside DSH's publication of an agent, which goes on afterwards. */
  onAgentCreated(agent: Agent): void {
    if (this.lanes.held().includes(agent.id)) this.lanes.release(agent.id)
  }

  /**
   * Takes messages of settled runs out of a resumed inbox: a run that was aborted while its session
   * slept must not run when the session wakes up. A steer whose turn is gone has its place in the queue.
   */
  clearInbox(agent: Agent): void {
    const { nextStep, nextTurn } = agent.inbox
    for (const { id } of nextStep) if (runMessageIdOf(id) !== undefined) agent.inbox.remove(id)
    for (const { id } of nextTurn) {
      const messageId = runMessageIdOf(id)
      const { fold } = this.ledger.stream(agent.id)
      if (messageId !== undefined && fold.withOwnMessage(messageId) === undefined) agent.inbox.remove(id)
    }
  }

  /** Asks a new opener for every held session. @returns ends the asking. */
  probe(opener: SessionOpener): () => void {
    const controller = new AbortController()
    this.probes.add(controller)
    void this.askForAll(opener, controller.signal).finally(() => this.probes.delete(controller))
    return () => controller.abort()
  }

  close(): void {
    for (const controller of this.probes) controller.abort()
  }

  private async askForAll(opener: SessionOpener, signal: AbortSignal): Promise<void> {
    const sessionIds = [...this.lanes.held()]
    const prober = async (): Promise<void> => {
      for (let id = sessionIds.shift(); id !== undefined && !signal.aborted; id = sessionIds.shift()) {
        await this.ask(opener, id, signal)
      }
    }
    await Promise.all(Array.from({ length: PROBES }, prober))
  }

  private async ask(opener: SessionOpener, sessionId: string, signal: AbortSignal): Promise<void> {
    try {
      const agent = await this.openers.probe(opener, sessionId, signal)
      if (agent !== undefined) this.lanes.release(sessionId)
    } catch (error) {
      if (signal.aborted) return
      this.warn(`an opener failed for session ${JSON.stringify(sessionId)}, its runs wait: ${String(error)}`)
    }
  }
}
