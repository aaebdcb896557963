/**
 * The child sessions in which operators work.
 *
 * Owns: making them live and letting them go. Does not own: what runs in them; each run goes
 * through the agent-loop host. An operator is a child agent of its root: it ends with the root, and
 * not with this plugin, so that a row that reloads finds running operators at work.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { GraphControl, Work } from 'dsh-graph-control'
import type { Activation } from 'dsh-tool-graph'
import { kindOf, type Config } from './config.ts'
import { GraphHostError, textOfError } from './errors.ts'
import { createOperator, resumeOperator, type Seat } from './operator-agent.ts'

const LABEL_CHARS = 80

/** Handles by root agent and session: whoever loads next lets go of what was opened before it. */
const HANDLES = new WeakMap<Agent, Map<string, Promise<AgentHandle>>>()

interface TakenSeat extends Seat {
  isWrittenAhead: boolean
  /** The runs for which the session is kept live. */
  readonly runIds: Set<string>
}

export interface OperatorSessionsDeps {
  readonly ctx: Context
  readonly config: Config
  readonly store: GraphControl
}

export class OperatorSessions {
  private readonly ctx: Context
  private readonly config: Config
  private readonly store: GraphControl
  private readonly seats = new Map<string, TakenSeat>()
  private readonly leaving = new Map<string, Promise<void>>()

  constructor({ ctx, config, store }: OperatorSessionsDeps) {
    this.ctx = ctx
    this.config = config
    this.store = store
  }

  /**
   * Keeps the session of an activation for its run, and remembers how it is opened. Resolves when an
   * earlier run of it has let go.
   *
   * @throws GraphHostError `unknown-operator` when its kind is not in the catalog.
   */
  async seat(activation: Activation): Promise<void> {
    const { operator, runId, work } = activation
    const sessionId = operator.targetSessionId
    let seat = this.seats.get(sessionId)
    if (seat === undefined) {
      seat = await this.newSeat(activation)
      this.seats.set(sessionId, seat)
    }
    seat.runIds.add(runId)
    seat.isWrittenAhead ||= work.replay === 'confirm' || work.replay === 'model'
    await this.leaving.get(sessionId)
  }

  /** The root of a session that does a work here now. */
  rootIdOf(sessionId: string): string | undefined {
    return this.seats.get(sessionId)?.rootSessionId
  }

  /** The live agent of an operator's session, opened if need be; `undefined` for a foreign session. */
  async open(sessionId: string): Promise<Agent | undefined> {
    const seat = this.seats.get(sessionId)
    if (seat === undefined) return undefined
    const live = this.ctx.agents.get(SessionId(sessionId))
    if (live !== undefined) return live
    const root = this.rootOf(seat)
    const handles = handlesOf(root)
    let handle = handles.get(sessionId)
    if (handle === undefined) {
      handle = this.make(seat, root)
      handles.set(sessionId, handle)
      handle.catch(() => handles.delete(sessionId))
    }
    return (await handle).agent
  }

  /**
   * A run of the session is over. Once none is left the session is let go of, behind the caller's
   * back; it can be opened again. A session that cannot be resumed is kept.
   */
  leave(sessionId: string, runId: string): void {
    const seat = this.seats.get(sessionId)
    if (seat?.runIds.delete(runId) !== true || seat.runIds.size > 0) return
    if (this.ctx.get('sessionPersistence') === undefined) return
    this.seats.delete(sessionId)
    const root = this.ctx.agents.get(SessionId(seat.rootSessionId))
    const handles = root === undefined ? undefined : handlesOf(root)
    const handle = handles?.get(sessionId)
    if (handle === undefined) return
    handles?.delete(sessionId)
    const left = handle
      .then((opened) => opened.dispose())
      .catch((error: unknown) =>
        this.ctx.logger('dsh-graph-host').warn('%s', `leaving ${sessionId}: ${textOfError(error)}`),
      )
      .finally(() => this.leaving.delete(sessionId))
    this.leaving.set(sessionId, left)
  }

  /** The root left, and its operators with it. */
  async forgetRoot(rootSessionId: string): Promise<void> {
    for (const seat of this.seats.values())
      if (seat.rootSessionId === rootSessionId) this.seats.delete(seat.sessionId)
    await Promise.all(this.leaving.values())
  }

  private async newSeat(activation: Activation): Promise<TakenSeat> {
    const { operator, rootSessionId } = activation
    const { target, title, workId } = await this.originOf(activation)
    const kind = target.kind === 'agent' ? kindOf(this.config, target.id) : undefined
    if (kind === undefined)
      throw new GraphHostError(
        'unknown-operator',
        `work "${workId}" asks for ${target.kind} "${target.id}", which this host does not have`,
      )
    const label = (title ?? workId).slice(0, LABEL_CHARS)
    return {
      sessionId: operator.targetSessionId,
      rootSessionId,
      kind,
      label,
      isWrittenAhead: false,
      runIds: new Set(),
    }
  }

  /** The work for which the operator was made: a follow-up finds its kind there. */
  private async originOf({ graphId, operator, work }: Activation): Promise<Work> {
    if (work.workId === operator.workId) return work
    return (await this.store.readGraph(graphId))?.works.get(operator.workId) ?? work
  }

  private rootOf({ rootSessionId, sessionId }: Seat): Agent {
    const root = this.ctx.agents.get(SessionId(rootSessionId))
    if (root !== undefined) return root
    throw new GraphHostError(
      'root-not-live',
      `operator ${sessionId} cannot be opened while its root session ${rootSessionId} is not live`,
    )
  }

  /** Resumes the session, or makes it under the same id when a crash came before it was written. */
  private async make(seat: Seat, root: Agent): Promise<AgentHandle> {
    return (await this.isStored(seat.sessionId)) ? resumeOperator(seat, root) : createOperator(seat, root)
  }

  private async isStored(sessionId: string): Promise<boolean> {
    const persistence = this.ctx.get('sessionPersistence')
    if (persistence === undefined) return false
    try {
      await persistence.inspect(SessionId(sessionId))
      return true
    } catch (error) {
      // A damaged session is not a missing one: making it anew would lose its history unseen.
      if (isSessionMissing(error, sessionId)) return false
      throw error
    }
  }
}

/** DSH's persistence has no code for it; this is what each of its ways to read says. */
function isSessionMissing(error: unknown, sessionId: string): boolean {
  return error instanceof Error && error.message === `session "${sessionId}" not found`
}

function handlesOf(root: Agent): Map<string, Promise<AgentHandle>> {
  let handles = HANDLES.get(root)
  if (handles === undefined) HANDLES.set(root, (handles = new Map()))
  return handles
}
