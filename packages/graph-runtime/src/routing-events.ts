/**
 * Dispatches the router's two events. Listeners see the router's own context as `this`; those that
 * belong to another agent's scope see nothing.
 */
import { Context } from '@deepseek-ai/cordis'
import { scopeTarget, type ScopeKey } from '@deepseek-ai/dsh-scope'
import type { CallScope } from './call-scope.ts'
import type {
  GraphToolsExecution,
  GraphToolsOutcome,
  GraphToolsPostDecision,
  GraphToolsPreDecision,
} from './events.ts'

/** Cordis' mark for an object that stands in for a context: it is taken off before a listener runs. */
const SHADOW = Symbol.for('cordis.shadow')

/** Both events of one router and one scope. */
export class RoutingEvents {
  private readonly ctx: Context
  private readonly carrier: Context
  private readonly life: CallScope

  /**
   * @param scope whose listeners are asked besides the global ones.
   * @param life a listener that never answers is left behind a while after its abort.
   */
  constructor(ctx: Context, scope: ScopeKey | undefined, life: CallScope) {
    this.ctx = ctx
    this.life = life
    this.carrier = carrierOf(ctx, scope)
  }

  /** @throws {TypeError} a listener that answers with no decision; what a listener throws. */
  async before(execution: GraphToolsExecution): Promise<GraphToolsPreDecision> {
    const allow = (): GraphToolsPreDecision => ({ kind: 'allow' })
    const decision: unknown = await this.life.outlast(
      this.ctx.waterfall(this.carrier, 'graphTools/pre-execute', execution, allow),
    )
    if (kindOf(decision) === 'allow') return { kind: 'allow' }
    if (kindOf(decision) === 'deny') return { kind: 'deny', reason: reasonIn(decision, 'denied', execution) }
    throw noDecision('graphTools/pre-execute', decision)
  }

  /** @throws {TypeError} a listener that answers with no decision; what a listener throws. */
  async after(execution: GraphToolsExecution, outcome: GraphToolsOutcome): Promise<GraphToolsPostDecision> {
    const accept = (): GraphToolsPostDecision => ({ kind: 'accept' })
    const decision: unknown = await this.life.outlast(
      this.ctx.waterfall(this.carrier, 'graphTools/post-execute', execution, outcome, accept),
    )
    if (kindOf(decision) === 'accept') return decision as GraphToolsPostDecision
    if (kindOf(decision) === 'block')
      return { kind: 'block', reason: reasonIn(decision, 'blocked', execution) }
    throw noDecision('graphTools/post-execute', decision)
  }
}

/** The context with a filter for its listeners. Where Cordis does not know the mark, listeners see this as `this`. */
function carrierOf(ctx: Context, scope: ScopeKey | undefined): Context {
  const target = scopeTarget(ctx, scope)
  const admits = Reflect.get(target, Context.filter) as (listener: Context) => boolean
  return Object.create(ctx, {
    [Context.filter]: { value: (listener: Context) => admits.call(target, listener) },
    [SHADOW]: { value: ctx },
  }) as Context
}

function kindOf(decision: unknown): unknown {
  return typeof decision === 'object' && decision !== null ? Reflect.get(decision, 'kind') : undefined
}

function reasonIn(decision: unknown, verb: string, { tool }: GraphToolsExecution): string {
  const reason: unknown = Reflect.get(decision as object, 'reason')
  return typeof reason === 'string' && reason !== '' ? reason : `the call of "${tool}" was ${verb}`
}

function noDecision(event: string, decision: unknown): TypeError {
  const kind = kindOf(decision)
  const what = typeof kind === 'string' ? `{ kind: ${JSON.stringify(kind)} }` : String(typeof decision)
  return new TypeError(`${event} listener returned ${what}; return next() or a decision`)
}
