/**
 * Puts tools and section where they belong: into each root session's own layer, so that children,
 * who join the same preset, stay clean. The row decides which roots: those of the host, or those
 * that join its scope.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { scopeChainOf, scopeOf } from '@deepseek-ai/dsh-scope'
import { buildGraphModePromptSection, GRAPH_SECTION_NAME } from './section.ts'
import { isRootAgent } from './root-session.ts'
import { registerAgentGraphTools } from './tools.ts'
import { GRAPH_TOOLS, VIEW_TOOL } from './schemas.ts'

/** Registers tools and section in one agent's layer. Returns the undo. */
function installFor(host: Context, scope: Context): () => void {
  const undoTools = registerAgentGraphTools(host, scope)
  const undoSection = scope.systemPrompt.section(buildGraphModePromptSection())
  return () => {
    undoSection()
    undoTools()
  }
}

/**
 * Installs for every root session, now and later, until `ctx` is disposed. In a preset's scope only
 * sessions of that preset are meant: DSH tells such a listener of no other.
 */
export function installForRoots(ctx: Context): void {
  const installed = new Map<Agent, () => void>()

  const install = (agent: Agent) => {
    if (installed.has(agent) || !isRootAgent(agent)) return
    // A preset or another host already gave this agent the tools: never both.
    if (agent.ctx.tools.get(VIEW_TOOL, scopeOf(agent.ctx)) !== undefined) return
    installed.set(agent, installFor(ctx, agent.ctx))
  }

  ctx.on('agent/created', ({ agent }) => install(agent))
  // The registrations go with the agent's own scope; only the memory of them is ours to drop.
  ctx.on('agent/disposed', ({ agent }) => void installed.delete(agent))
  const scope = scopeOf(ctx)
  for (const agent of ctx.agents.list())
    if (scope === undefined || scopeChainOf(scopeOf(agent.ctx)).includes(scope)) install(agent)

  ctx.effect(
    () => () => {
      for (const undo of installed.values()) undo()
      installed.clear()
    },
    `${GRAPH_SECTION_NAME} in root sessions`,
  )
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
