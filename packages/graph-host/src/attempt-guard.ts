/**
 * What ends an operator's attempt although its model would go on: an approval that nobody gives, and a
 * tool that it does not have. Both would otherwise be the operator's own secret.
 *
 * Owns: seeing it, and ending the run with a text that says who, what and the cure. Does not own: the
 * run, nor what becomes of the work. The text stands in the run's settlement, so that a process that
 * crashes in between finds it there.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Session } from '@deepseek-ai/dsh-session'
import type { RunOutcome } from 'dsh-agent-loop-host'
import type { ActivationEnd } from 'dsh-tool-graph'
import type { FindOperator, RunningOperator } from './running-operator.ts'

export interface AttemptGuardDeps {
  readonly ctx: Context
  readonly operatorOf: FindOperator
  readonly abort: (runId: string, cause: string) => Promise<unknown>
  /** An attempt ends at so many calls of tools that are not there. */
  readonly unknownToolCalls: number
  readonly warn: (text: string) => void
}

const NEEDS_PERSON = 'needs a person: '
const FAILED = 'ended by its host: '
const NAME_CHARS = 120
const REASON_CHARS = 400

type ApprovalOutcome = 'allowed-once' | 'rejected' | 'cancelled' | 'unavailable'
/** Of DSH's approval service, which not every profile has. */
interface Asked {
  readonly id: string
  readonly toolName: string
  readonly reason?: string
}
interface Decided {
  readonly id: string
  readonly outcome: ApprovalOutcome
}
type AnswerApproval = (
  request: { readonly agent: Agent; readonly toolName: string },
  next: () => Promise<ApprovalOutcome>,
) => Promise<ApprovalOutcome>

export class AttemptGuard {
  private readonly deps: AttemptGuardDeps
  private readonly ends = new Map<string, ActivationEnd>()
  private readonly unknownCalls = new Map<string, number>()

  constructor(deps: AttemptGuardDeps) {
    this.deps = deps
  }

  /** Listens until the context ends. */
  mount(): void {
    const { ctx } = this.deps
    ctx.on(
      'tools/pre-execute',
      async (exec, next) => {
        const decision = await next()
        const operator = exec.agent === undefined ? undefined : this.deps.operatorOf(exec.agent.id)
        if (decision.kind !== 'ask' || operator === undefined) return decision
        if (operator.granted.has(exec.name)) return { kind: 'allow' as const }
        // Where there is nobody to ask, DSH refuses without a word in the session.
        if (ctx.get('approval') === undefined) this.refused(operator, exec.name, decision.reason)
        return decision
      },
      { prepend: true },
    )
    const onApproval = ctx.on as unknown as (
      name: 'approval/request',
      answer: AnswerApproval,
      options: { prepend: boolean },
    ) => unknown
    onApproval.call(ctx, 'approval/request', this.answer, { prepend: true })
    ctx.on('session/event', (session, event) => this.onSessionEvent(session, event))
    ctx.on('tools/result', ({ agent, name, parent }, result) => {
      // Code that calls a tool hears of the failure itself.
      if (agent === undefined || parent !== undefined || !result.isError) return
      if (result.error.info?.code === 'UNKNOWN_TOOL') this.unknownTool(agent.id, name)
    })
  }

  /** How an attempt ended: what the guard ended it with, or what its run says. */
  endOf(runId: string, outcome: RunOutcome, ended: ActivationEnd): ActivationEnd {
    const { usage } = ended
    const spent = usage === undefined ? {} : { usage }
    const own = this.ends.get(runId)
    if (own !== undefined) return { ...own, ...spent }
    const text = outcome.state === 'aborted' ? (outcome.error?.message ?? '') : ''
    if (text.startsWith(NEEDS_PERSON))
      return { outcome: 'needs-person', reason: text.slice(NEEDS_PERSON.length) }
    if (text.startsWith(FAILED)) return { outcome: 'failed', reason: text.slice(FAILED.length), ...spent }
    return ended
  }

  forget(runId: string): void {
    this.ends.delete(runId)
    this.unknownCalls.delete(runId)
  }

  /** Of an operator with a grant nobody else is asked: what was not granted is refused. */
  private readonly answer: AnswerApproval = async ({ agent, toolName }, next) => {
    const operator = this.deps.operatorOf(agent.id)
    if (operator === undefined || operator.granted.size === 0) return next()
    return operator.granted.has(toolName) ? 'allowed-once' : 'rejected'
  }

  private onSessionEvent(session: Session, event: { readonly type: string; readonly data: unknown }): void {
    if (event.type !== 'approval/decided') return
    const operator = this.deps.operatorOf(session.id)
    const { id, outcome } = event.data as Decided
    if (operator === undefined || outcome === 'allowed-once' || outcome === 'cancelled') return
    const events = session.events as readonly { readonly type: string; readonly data: unknown }[]
    const asked = events.findLast(({ type, data }) => type === 'approval/asked' && (data as Asked).id === id)
      ?.data as Asked | undefined
    this.refused(operator, asked?.toolName ?? 'a tool', asked?.reason)
  }

  private refused({ runId, workId }: RunningOperator, tool: string, why: string | undefined): void {
    const name = tool.slice(0, NAME_CHARS)
    const because = why === undefined ? '' : ` (${why.slice(0, REASON_CHARS)})`
    this.end(runId, NEEDS_PERSON, {
      outcome: 'needs-person',
      reason:
        `the operator of "${workId}" was refused "${name}"${because}, which needs approval, and operators ask nobody. ` +
        `Cure: a person confirms the work and allows "${name}" for it; or replace it by a work that does without`,
    })
  }

  private unknownTool(sessionId: string, tool: string): void {
    const operator = this.deps.operatorOf(sessionId)
    if (operator === undefined) return
    const { runId } = operator
    const calls = (this.unknownCalls.get(runId) ?? 0) + 1
    this.unknownCalls.set(runId, calls)
    if (calls < this.deps.unknownToolCalls) return
    this.end(runId, FAILED, {
      outcome: 'failed',
      reason: `unknown-tool: the operator called "${tool.slice(0, NAME_CHARS)}", which it does not have`,
    })
  }

  /** The first cause stands. */
  private end(runId: string, mark: string, end: ActivationEnd & { readonly reason: string }): void {
    if (this.ends.has(runId)) return
    this.ends.set(runId, end)
    this.deps
      .abort(runId, `${mark}${end.reason}`.slice(0, 1_000).toWellFormed())
      .catch((error: unknown) => this.deps.warn(`${runId} could not be ended: ${String(error)}`))
  }
}
