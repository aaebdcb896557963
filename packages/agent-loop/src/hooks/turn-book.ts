/**
 * The turns that are open now, one for each agent: what was put into them and which attempt they are at.
 * Fed by DSH's own events, so that it knows turns which nobody accepted here.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId, type Session, type TurnEndReason, type UserMessage } from '@deepseek-ai/dsh-session'
import type { Clock } from '../clock.ts'
import { LOST_TURN } from '../settlement.ts'
import type { AttemptFacts, RunFacts, SessionFacts } from './types.ts'

export class OpenTurn {
  readonly agent: Agent
  readonly turn: number
  readonly startedAt: number
  /** What the turn took out of the inbox so far. */
  readonly messages: UserMessage[] = []
  /** 1, and one more each time a model request of the turn is made anew. */
  attempt = 1
  runId: string | undefined
  /** Whether a step began: a turn without one asked no model. */
  hasStep = false
  /** Whether `command:stop` was told for this turn. */
  stopTold = false

  constructor(agent: Agent, turn: number, startedAt: number) {
    this.agent = agent
    this.turn = turn
    this.startedAt = startedAt
  }

  get runFacts(): RunFacts {
    const { turn, runId } = this
    return { ...sessionFacts(this.agent.session), turn, ...(runId === undefined ? {} : { runId }) }
  }

  get attemptFacts(): AttemptFacts {
    return { ...this.runFacts, attempt: this.attempt }
  }
}

export interface TurnBookPorts {
  readonly clock: Clock
  /** The open run of a session that sent this message. */
  readonly runIdOf: (sessionId: string, messageId: string) => string | undefined
  readonly onEnd: (turn: OpenTurn, reason: TurnEndReason) => void
}

export class TurnBook {
  private readonly agents: Context['agents']
  private readonly ports: TurnBookPorts
  private readonly open = new Map<Agent, OpenTurn>()

  /** @param ctx owns the listeners; injects `agents`. */
  constructor(ctx: Context, ports: TurnBookPorts) {
    this.agents = ctx.agents
    this.ports = ports
    ctx.on('session/event', (session, event) => {
      if (event.type === 'turn/start') {
        const agent = this.agents.get(SessionId(session.id))
        if (agent !== undefined) this.begin(agent, event.data.turn)
      } else if (event.type === 'step/start') {
        const turn = this.turnOf(session, event.data.turn)
        if (turn !== undefined) turn.hasStep = true
      } else if (event.type === 'turn/end') this.end(session, event.data.turn, event.data.reason)
    })
    ctx.on('agent/inbox/claimed', ({ agent, message, turn }) => {
      const open = this.turnOf(agent.session, turn)
      if (open === undefined) return
      open.messages.push(message)
      open.runId ??= this.ports.runIdOf(agent.id, message.id)
    })
    // Outermost, to see what whoever recovers requests decided.
    ctx.on(
      'agent/request-error',
      async ({ agent }, next) => {
        const action = await next()
        const open = this.open.get(agent)
        if (action?.kind === 'retry' && open !== undefined) open.attempt += 1
        return action
      },
      { prepend: true },
    )
    ctx.on('agent/status', ({ agent, status }) => {
      const open = this.open.get(agent)
      // The loop has left the turn and did not manage to write its end.
      if (status === 'idle' && open !== undefined) this.end(agent.session, open.turn, LOST_TURN)
    })
    ctx.on('agent/disposed', ({ agent }) => void this.open.delete(agent))
  }

  current(agent: Agent): OpenTurn | undefined {
    return this.open.get(agent)
  }

  all(): readonly OpenTurn[] {
    return [...this.open.values()]
  }

  private begin(agent: Agent, turn: number): OpenTurn {
    const opened = new OpenTurn(agent, turn, this.ports.clock.now())
    this.open.set(agent, opened)
    return opened
  }

  /** The record of a turn; read from the log when it began before this host. */
  private turnOf(session: Session, turn: number): OpenTurn | undefined {
    const agent = this.agents.get(SessionId(session.id))
    if (agent === undefined) return undefined
    const known = this.open.get(agent)
    if (known?.turn === turn) return known
    const opened = this.begin(agent, turn)
    const start = session.events.findLastIndex(({ type }) => type === 'turn/start')
    for (const event of session.events.slice(start + 1)) {
      if (event.type === 'step/start') opened.hasStep = true
      if (event.type !== 'user/message') continue
      opened.messages.push(event.data)
      opened.runId ??= this.ports.runIdOf(agent.id, event.data.id)
    }
    return opened
  }

  private end(session: Session, turn: number, reason: TurnEndReason): void {
    const open = this.turnOf(session, turn)
    if (open === undefined) return
    this.open.delete(open.agent)
    this.ports.onEnd(open, reason)
  }
}

export function sessionFacts({ id, header }: Session): SessionFacts {
  return {
    sessionId: id,
    ...(header.parentSession === undefined ? {} : { parentSessionId: header.parentSession }),
    isSubagent: header.origin === 'subagent',
  }
}

/** The text of messages, a blank line between them. */
export function textOfMessages(messages: readonly UserMessage[]): string {
  return messages.map(({ content }) => textOfContent(content)).join('\n\n')
}

export function textOfContent(content: UserMessage['content']): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}
