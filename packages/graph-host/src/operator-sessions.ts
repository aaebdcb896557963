/**
 * The child sessions in which operators work.
 *
 * Owns: making them live and letting them go. Does not own: what runs in them; each run goes
 * through the agent-loop host. An operator is a child agent of its root and inherits what the root
 * has (working directory, preset, sandbox, permission boundary), which can only be narrowed.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import {
  appendDelegatedPolicyOverrides,
  applyChildComposition,
  captureDelegatedPolicyOverrides,
  childSessionMeta,
  resolveChildAgentOptions,
  resolveChildDepth,
  seedDescriptorTurn,
  snapshotSubagentDescriptor,
} from '@deepseek-ai/dsh-subagent'
import type { Activation } from 'dsh-tool-graph'
import { kindOf, type Config, type OperatorKind } from './config.ts'
import { GraphHostError } from './errors.ts'

const PROVIDER = 'dsh-graph'
const LABEL_CHARS = 80

/** What is needed to open an operator's session again. */
interface Seat {
  readonly sessionId: string
  readonly rootSessionId: string
  readonly kind: OperatorKind
  readonly label: string
}

export class OperatorSessions {
  private readonly ctx: Context
  private readonly config: Config
  private readonly seats = new Map<string, Seat>()
  private readonly handles = new Map<string, Promise<AgentHandle>>()

  constructor(ctx: Context, config: Config) {
    this.ctx = ctx
    this.config = config
  }

  /**
   * Remembers how the session of an activation is opened.
   *
   * @throws GraphHostError `unknown-operator` when its kind is not in the catalog.
   */
  seat(activation: Activation): void {
    const { operator, work, rootSessionId } = activation
    if (this.seats.has(operator.targetSessionId)) return
    const agentId = work.target.kind === 'agent' ? work.target.id : undefined
    const kind = agentId === undefined ? undefined : kindOf(this.config, agentId)
    if (kind === undefined)
      throw new GraphHostError(
        'unknown-operator',
        `work "${work.workId}" asks for ${work.target.kind} "${work.target.id}", which this host does not have`,
      )
    this.seats.set(operator.targetSessionId, {
      sessionId: operator.targetSessionId,
      rootSessionId,
      kind,
      label: (work.title ?? work.workId).slice(0, LABEL_CHARS),
    })
  }

  /** The live agent of an operator's session, opened if need be; `undefined` for a foreign session. */
  async open(sessionId: string): Promise<Agent | undefined> {
    const seat = this.seats.get(sessionId)
    if (seat === undefined) return undefined
    const live = this.ctx.agents.get(SessionId(sessionId))
    if (live !== undefined) return live
    let handle = this.handles.get(sessionId)
    if (handle === undefined) {
      handle = this.make(seat)
      this.handles.set(sessionId, handle)
      handle.catch(() => this.handles.delete(sessionId))
    }
    return (await handle).agent
  }

  /** Lets a session go; it can be opened again. A session that cannot be resumed is kept. */
  async release(sessionId: string): Promise<void> {
    if (this.ctx.get('sessionPersistence') === undefined) return
    const handle = this.handles.get(sessionId)
    this.handles.delete(sessionId)
    await (await handle?.catch(() => undefined))?.dispose()
  }

  /** The root left: its operators left with it. */
  forgetRoot(rootSessionId: string): void {
    for (const seat of [...this.seats.values()]) {
      if (seat.rootSessionId !== rootSessionId) continue
      this.seats.delete(seat.sessionId)
      this.handles.delete(seat.sessionId)
    }
  }

  /** Resumes the session, or makes it under the same id when a crash came before it was written. */
  private async make(seat: Seat): Promise<AgentHandle> {
    const parent = this.ctx.agents.get(SessionId(seat.rootSessionId))
    if (parent === undefined)
      throw new GraphHostError(
        'root-not-live',
        `operator ${seat.sessionId} cannot be opened while its root session ${seat.rootSessionId} is not live`,
      )
    if (await this.isStored(seat.sessionId)) return this.resume(seat, parent)
    return this.create(seat, parent)
  }

  private async isStored(sessionId: string): Promise<boolean> {
    const persistence = this.ctx.get('sessionPersistence')
    if (persistence === undefined) return false
    try {
      await persistence.inspect(SessionId(sessionId))
      return true
    } catch {
      // Not found, or not readable: then creating it under the same id tells which.
      return false
    }
  }

  private compose(seat: Seat, parent: Agent, childCtx: Context): void {
    applyChildComposition(childCtx, parent, {
      persona: seat.kind.persona,
      toolFilter: seat.kind.tools === undefined ? undefined : { allow: seat.kind.tools },
    })
  }

  private optionsOf(seat: Seat, parent: Agent, depth: number) {
    const { provider, model } = seat.kind
    return resolveChildAgentOptions(
      parent,
      provider === undefined || model === undefined ? undefined : { provider, model },
      depth,
    )
  }

  private create(seat: Seat, parent: Agent): Promise<AgentHandle> {
    const sessionId = SessionId(seat.sessionId)
    const depth = resolveChildDepth(parent, undefined)
    const overrides = captureDelegatedPolicyOverrides(parent)
    const descriptor = snapshotSubagentDescriptor({ mode: 'one-shot', provider: PROVIDER, label: seat.label })
    return parent.ctx.agents.create({
      sessionId,
      meta: childSessionMeta(parent, depth, 0),
      seed: seedDescriptorTurn(sessionId, undefined, descriptor),
      agentOptions: this.optionsOf(seat, parent, depth),
      setup: (childCtx) => {
        this.compose(seat, parent, childCtx)
        if (childCtx.agent !== undefined) appendDelegatedPolicyOverrides(childCtx.agent.session, overrides)
      },
    })
  }

  private resume(seat: Seat, parent: Agent): Promise<AgentHandle> {
    const depth = resolveChildDepth(parent, undefined)
    return parent.ctx.agents.resume({
      resumeSessionId: SessionId(seat.sessionId),
      agentOptions: this.optionsOf(seat, parent, depth),
      setup: (childCtx) => this.compose(seat, parent, childCtx),
    })
  }
}
