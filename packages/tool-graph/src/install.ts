/**
 * Puts tools and section where they belong: into each root session's own layer, so that children,
 * who join the same preset, stay clean. The row decides which roots: those of the host, or those
 * that join its scope; of them its settings and persons choose (supervision).
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { scopeChainOf, scopeOf } from '@deepseek-ai/dsh-scope'
import { personSettings } from '@dsh-graph/plugin-mount'
import { buildGraphModePromptSection, GRAPH_SECTION_NAME } from './section.ts'
import { isRootAgent } from './root-session.ts'
import { GRAPH_TOOLS, VIEW_TOOL } from './schemas.ts'
import {
  isSupervised,
  SUPERVISION_NAMESPACE,
  SUPERVISION_STREAM,
  SupervisionSchema,
  SupervisionSwitches,
  type SupervisionSettings,
  type SwitchLog,
} from './supervision.ts'
import { registerAgentGraphTools } from './tools.ts'

/** Registers tools and section in one agent's layer. Returns the undo. */
function installFor(host: Context, scope: Context): () => void {
  const undoTools = registerAgentGraphTools(host, scope)
  const undoSection = scope.systemPrompt.section(buildGraphModePromptSection())
  return () => {
    undoSection()
    undoTools()
  }
}

/** Gives tools and section to the root sessions that are to have them, and takes them back. */
class SupervisedRoots {
  private readonly ctx: Context
  private readonly settings: () => SupervisionSettings
  private readonly installed = new Map<Agent, () => void>()
  private switches: SupervisionSwitches | undefined

  constructor(ctx: Context, settings: () => SupervisionSettings) {
    this.ctx = ctx
    this.settings = settings
  }

  /** From here on persons decide for single sessions. */
  async follow(switches: SupervisionSwitches): Promise<void> {
    this.switches = switches
    await this.refresh()
  }

  forgetSwitches(): void {
    this.switches = undefined
    this.lookAtAll()
  }

  /** Reads what persons said, and looks at every session again. */
  async refresh(): Promise<void> {
    await this.switches?.catchUp()
    this.lookAtAll()
  }

  lookAtAll(): void {
    for (const agent of this.ctx.agents.list()) this.look(agent)
  }

  look(agent: Agent): void {
    if (!isRootAgent(agent) || !this.covers(agent)) return
    const wanted = isSupervised(this.ctx, agent, this.settings(), this.switches?.of(agent.id))
    if (!wanted) return this.remove(agent)
    // A preset or another host already gave this agent the tools: never both.
    if (this.installed.has(agent) || supervises(agent)) return
    this.installed.set(agent, installFor(this.ctx, agent.ctx))
  }

  /** The registrations go with the agent's own scope; only the memory of them is ours to drop. */
  forget(agent: Agent): void {
    this.installed.delete(agent)
  }

  removeAll(): void {
    for (const agent of this.installed.keys()) this.remove(agent)
  }

  private remove(agent: Agent): void {
    const undo = this.installed.get(agent)
    this.installed.delete(agent)
    undo?.()
  }

  /** In a preset's scope only sessions of that preset are meant. */
  private covers(agent: Agent): boolean {
    const scope = scopeOf(this.ctx)
    return scope === undefined || scopeChainOf(scopeOf(agent.ctx)).includes(scope)
  }
}

/** Whether a session has the tools now, whoever gave them. */
export function supervises(agent: Agent): boolean {
  return agent.ctx.tools.get(VIEW_TOOL, scopeOf(agent.ctx)) !== undefined
}

/**
 * Installs for the root sessions that the settings and persons choose, now and later, until `ctx` is
 * disposed. Resolves when what persons chose is known, where there is a log that tells.
 */
export async function installForRoots(ctx: Context, configured: SupervisionSettings): Promise<void> {
  const settings =
    // A preset's row is mounted once for many sessions; what persons set is the host's.
    scopeOf(ctx) === undefined
      ? personSettings(ctx, {
          namespace: SUPERVISION_NAMESPACE,
          schema: SupervisionSchema,
          configured,
          onChange: () => roots.lookAtAll(),
        })
      : () => configured
  const roots = new SupervisedRoots(ctx, settings)
  ctx.on('agent/created', ({ agent }) => roots.look(agent))
  ctx.on('agent/disposed', ({ agent }) => roots.forget(agent))
  ctx.on('graph/supervision', () => roots.refresh())
  // An event of the web bundle: a session that has not begun moves to another preset.
  ctx.on('agent-preset/selected' as never, (() => roots.lookAtAll()) as never)
  const following = ctx.inject(['durableLog'], async (child: Context) => {
    const log = child.get('durableLog') as SwitchLog | undefined
    if (log === undefined) return
    const warn = (error: unknown): void =>
      void child
        .logger('dsh-tool-graph')
        .warn('%s', `choices of supervision cannot be read: ${String(error)}`)
    child.effect(
      () => log.subscribe(SUPERVISION_STREAM, () => void roots.refresh().catch(warn)),
      'choices of supervision',
    )
    child.effect(() => () => roots.forgetSwitches(), 'supervised sessions')
    await roots.follow(new SupervisionSwitches(log)).catch(warn)
  })
  roots.lookAtAll()
  ctx.effect(() => () => roots.removeAll(), `${GRAPH_SECTION_NAME} in root sessions`)
  if (ctx.get('durableLog') !== undefined) await following
}

/**
 * DSH reminds a model that repeats a call, by context for the next step, and pending context keeps
 * a turn open. A repeated yield is right, so reminders are dropped from the results of our tools.
 */
export function keepYieldConclusive(ctx: Context): void {
  ctx.on(
    'tools/post-execute',
    async (exec, _result, next) => {
      const decision = await next()
      if (!GRAPH_TOOLS.has(exec.name) || decision.additionalContexts === undefined) return decision
      const { additionalContexts: _dropped, ...kept } = decision
      return kept
    },
    { prepend: true },
  )
}
