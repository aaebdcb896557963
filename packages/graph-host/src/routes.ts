/**
 * Which model an operator works with, and at what effort: what its work names, else its kind, else what
 * the root uses. Works name models of the configuration only.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm'
import type { Work } from 'dsh-graph-control'
import type { AddWorkInput } from 'dsh-tool-graph'
import type { Config, OperatorKind } from './config.ts'
import { GraphHostError } from './errors.ts'

/** Absent parts are those of the deployment. */
export interface Route {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly effort?: string | undefined
}

/** What the root's next request would use: a person may have chosen another model than it began with. */
export function rootRoute(root: Agent): Route {
  const used = root.session.requestHeader()?.config
  if (used === undefined) return { provider: root.options.provider, model: root.options.model }
  return { provider: used.provider, model: used.model, effort: used.reasoningEffort }
}

/** @throws GraphHostError `unknown-model` for a model that the configuration does not have any more. */
export function routeOf(config: Config, kind: OperatorKind, work: Work, root: Route): Route {
  const own = kind.model === undefined ? root : { provider: kind.provider, model: kind.model }
  const base = { ...own, effort: kind.effort ?? own.effort }
  if (work.model === undefined) return { ...base, effort: work.effort ?? base.effort }
  const named = config.models[work.model]
  if (named === undefined)
    throw new GraphHostError(
      'unknown-model',
      `work "${work.workId}" asks for model "${work.model}", which this host does not allow; available: ${listed(Object.keys(config.models))}`,
    )
  // An effort belongs to the model it was chosen for.
  return { provider: named.provider, model: named.model, effort: work.effort }
}

/**
 * Sees to it that each request of an operator uses the route of its run. DSH proposes what the request
 * before used, so a route of one work would stay for the next.
 *
 * @param operatorOf by session; `undefined` for one that does no work here now.
 */
export function followRoutes(
  ctx: Context,
  operatorOf: (sessionId: string) => { readonly route: Route } | undefined,
): void {
  ctx.on('agent/request', async ({ agent }, next) => {
    const proposed = await next()
    const route = operatorOf(agent.id)?.route
    if (route?.provider === undefined || route.model === undefined) return proposed
    const { reasoningEffort: _, ...rest } = proposed
    const effort = route.effort as LlmCallConfig['reasoningEffort']
    return {
      ...rest,
      provider: route.provider,
      model: route.model,
      ...(effort === undefined ? {} : { reasoningEffort: effort }),
    }
  })
}

/** Why the effort that a work asks for cannot be had; asked before anything is committed. */
export async function effortProblems(
  ctx: Context,
  config: Config,
  root: Route,
  { model, effort, operatorId, agentId = 'default' }: AddWorkInput,
): Promise<readonly string[]> {
  // Of an operator that is there only its own model is known to DSH, which refuses the request.
  if (operatorId !== undefined && model === undefined) return []
  if (effort === undefined || (model !== undefined && config.models[model] === undefined)) return []
  const kind = config.operators[agentId]
  const route = model !== undefined ? config.models[model] : kind?.model === undefined ? root : kind
  const efforts =
    (model === undefined ? undefined : config.models[model]?.efforts) ?? (await effortsOf(ctx, route ?? root))
  if (efforts === undefined || efforts.includes(effort)) return []
  const of = model ?? route?.model ?? 'of the root'
  return [`unknown effort "${effort}" of model ${of}; available: ${listed(efforts)}`]
}

/** @returns undefined where nothing is known of the model; DSH refuses the request then if it must. */
async function effortsOf(ctx: Context, { provider, model }: Route): Promise<readonly string[] | undefined> {
  const llm = ctx.get('llm')
  if (llm === undefined || provider === undefined || model === undefined) return undefined
  try {
    const { reasoning } = await llm.resolveModelInfo(provider, model)
    return reasoning?.efforts.map(({ id }) => String(id)) ?? []
  } catch {
    // A provider that cannot be asked now may still work when the operator begins.
    return undefined
  }
}

function listed(names: readonly string[]): string {
  return names.slice(0, 20).join(', ') || 'none'
}
