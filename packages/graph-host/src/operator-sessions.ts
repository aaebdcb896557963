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
import type { ArtifactText, GraphControl, Work } from 'dsh-graph-control'
import type { Activation } from 'dsh-tool-graph'
import { kindOf, presetKind, type Config, type OperatorKind } from './config.ts'
import { GraphHostError, textOfError } from './errors.ts'
import type { Grants } from './grants.ts'
import { alignApproval, createOperator, resumeOperator, type Seat } from './operator-agent.ts'
import { rootRoute, routeOf, type Route } from './routes.ts'
import type { RunningOperator } from './running-operator.ts'
import { isSessionStored } from './stored-sessions.ts'
import type { Worktree, Worktrees } from './worktrees.ts'

const LABEL_CHARS = 80

/** Handles by root agent and session: whoever loads next lets go of what was opened before it. */
const HANDLES = new WeakMap<Agent, Map<string, Promise<AgentHandle>>>()

interface TakenSeat extends Omit<Seat, 'route' | 'worktree'> {
  isWrittenAhead: boolean
  /** The runs for which the session is kept live. */
  readonly runIds: Set<string>
  /** The newest of them. */
  current: RunningOperator
  worktree: Worktree | undefined
  /** Nothing was ever sent to it, so it need not be looked for. */
  isNew: boolean
}

export interface OperatorSessionsDeps {
  readonly ctx: Context
  readonly config: Config
  readonly store: GraphControl
  readonly grants: Grants
  readonly worktrees: Worktrees
}

export class OperatorSessions {
  private readonly ctx: Context
  private readonly config: Config
  private readonly store: GraphControl
  private readonly grants: Grants
  private readonly worktrees: Worktrees
  private readonly seats = new Map<string, TakenSeat>()
  private readonly leaving = new Map<string, Promise<void>>()

  constructor({ ctx, config, store, grants, worktrees }: OperatorSessionsDeps) {
    this.ctx = ctx
    this.grants = grants
    this.worktrees = worktrees
    this.config = config
    this.store = store
  }

  /**
   * Keeps the session of an activation for its run, and remembers how it is opened. Resolves when an
   * earlier run of it has let go.
   *
   * @throws GraphHostError `unknown-operator`, `unknown-model` when the catalog does not have its kind or model.
   */
  async seat(activation: Activation): Promise<void> {
    const { claim, graphId, operator, runId, work } = activation
    const sessionId = operator.targetSessionId
    const granted = await this.grants.of(graphId, claim.claimId)
    let seat = this.seats.get(sessionId)
    const kind = seat?.kind ?? (await this.kindOf(activation))
    const route = this.routeOf(kind, activation)
    const current = { runId, workId: work.workId, granted, route }
    if (seat === undefined) {
      const title = work.title ?? work.workId
      seat = {
        sessionId,
        rootSessionId: activation.rootSessionId,
        kind,
        label: title.slice(0, LABEL_CHARS),
        ownTools: kind.preset !== undefined && this.config.presetTools === 'own',
        isWrittenAhead: false,
        runIds: new Set(),
        current,
        worktree: undefined,
        isNew: false,
      }
      this.seats.set(sessionId, seat)
    }
    seat.runIds.add(runId)
    seat.current = current
    seat.isWrittenAhead ||= work.replay === 'confirm' || work.replay === 'model'
    await this.leaving.get(sessionId)
    if ((kind.workspace ?? this.config.workspace) === 'isolated')
      seat.worktree = await this.allocate(activation)
    const live = this.ctx.agents.get(SessionId(sessionId))
    if (live !== undefined) alignApproval(live, approvalOf(seat))
  }

  /** The root of a session that does a work here now. */
  rootIdOf(sessionId: string): string | undefined {
    return this.seats.get(sessionId)?.rootSessionId
  }

  /** Nothing was ever sent to the session of an operator; called before the first run is accepted. */
  expectNew(sessionId: string): void {
    const seat = this.seats.get(sessionId)
    if (seat !== undefined) seat.isNew = true
  }

  /**
   * An operator's run is over for good: what it did in a worktree of its own is put onto the branch, and
   * the worktree goes. @returns what to keep of it with the results of the work.
   */
  async releaseWorktree({ operator, work }: Activation): Promise<readonly ArtifactText[]> {
    const worktree = this.seats.get(operator.targetSessionId)?.worktree
    if (worktree === undefined) return []
    try {
      const { branch, patch } = await this.worktrees.release(worktree, `Work ${work.workId}`)
      const { baseCommit, dirtyFiles } = worktree
      const dirty = dirtyFiles === 0 ? '' : `; ${dirtyFiles} uncommitted files of the root were not in it`
      const text = `${branch}, from commit ${baseCommit}${dirty}`
      return [{ name: 'branch', text }, ...(patch === '' ? [] : [{ name: 'patch', text: patch }])]
    } catch (error) {
      return [{ name: 'worktree', text: `${worktree.path} was not released: ${textOfError(error)}` }]
    }
  }

  /** What a session does here now, if it is an operator's. */
  operatorOf(sessionId: string): RunningOperator | undefined {
    const seat = this.seats.get(sessionId)
    return seat?.runIds.has(seat.current.runId) === true ? seat.current : undefined
  }

  /** The live agent of an operator's session, opened if need be; `undefined` for a foreign session. */
  async open(sessionId: string): Promise<Agent | undefined> {
    const seat = this.seats.get(sessionId)
    if (seat === undefined) return undefined
    const agent = await this.openSeat(seat)
    alignApproval(agent, approvalOf(seat))
    return agent
  }

  private async openSeat(seat: TakenSeat): Promise<Agent> {
    const { sessionId } = seat
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
   * A run of the session is to end. Where nothing of it is to be kept, the session is let go of at once:
   * a provider that holds its answer back would hold up whoever uses the session next.
   */
  abandon(sessionId: string, runId: string): void {
    if (this.seats.get(sessionId)?.worktree === undefined) this.leave(sessionId, runId)
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

  private async kindOf(activation: Activation): Promise<OperatorKind> {
    const { target, workId } = await this.originOf(activation)
    const { id } = target
    const isAllowed = target.kind === 'preset' && (this.config.presets?.includes(id) ?? true)
    const kind = target.kind === 'agent' ? kindOf(this.config, id) : isAllowed ? presetKind(id) : undefined
    if (kind !== undefined) return kind
    throw new GraphHostError(
      'unknown-operator',
      `work "${workId}" asks for ${target.kind} "${id}", which this host does not have`,
    )
  }

  private allocate({ graphId, operator, rootSessionId }: Activation): Promise<Worktree> {
    const { operatorId, provisionId } = operator
    const cwd = this.ctx.agents.get(SessionId(rootSessionId))?.session.header.cwd
    return this.worktrees.allocate({ graphId, operatorId, provisionId }, cwd)
  }

  private routeOf(kind: OperatorKind, { rootSessionId, work }: Activation): Route {
    const root = this.ctx.agents.get(SessionId(rootSessionId))
    return routeOf(this.config, kind, work, root === undefined ? {} : rootRoute(root))
  }

  /** The work for which the operator was made: a follow-up finds its kind there. */
  private async originOf({ graphId, operator, work }: Activation): Promise<Work> {
    if (work.workId === operator.workId) return work
    return (await this.store.readGraph(graphId))?.works.get(operator.workId) ?? work
  }

  private rootOf({ rootSessionId, sessionId }: TakenSeat): Agent {
    const root = this.ctx.agents.get(SessionId(rootSessionId))
    if (root !== undefined) return root
    throw new GraphHostError(
      'root-not-live',
      `operator ${sessionId} cannot be opened while its root session ${rootSessionId} is not live`,
    )
  }

  /** Resumes the session, or makes it under the same id when a crash came before it was written. */
  private async make(taken: TakenSeat, root: Agent): Promise<AgentHandle> {
    const seat = {
      ...taken,
      route: taken.current.route,
      // A later run of the session may ask for it.
      get isWrittenAhead() {
        return taken.isWrittenAhead
      },
    }
    const { isNew } = taken
    taken.isNew = false
    // Looking costs a walk over all sessions that are stored.
    if (isNew) return createOperator(seat, root)
    return (await isSessionStored(this.ctx, seat.sessionId))
      ? resumeOperator(seat, root)
      : createOperator(seat, root)
  }
}

/** Nobody is asked for an operator; where a person granted something, its host answers. */
function approvalOf({ current }: TakenSeat): 'ask' | 'never' {
  return current.granted.size > 0 ? 'ask' : 'never'
}

function handlesOf(root: Agent): Map<string, Promise<AgentHandle>> {
  let handles = HANDLES.get(root)
  if (handles === undefined) HANDLES.set(root, (handles = new Map()))
  return handles
}
