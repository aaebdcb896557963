/**
 * How the agent of an operator is composed: a child of its root that inherits what the root has
 * (working directory, preset, sandbox, permission boundary), which can only be narrowed.
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
import type { OperatorKind } from './config.ts'

const PROVIDER = 'dsh-graph'

/** What is needed to open an operator's session. */
export interface Seat {
  readonly sessionId: string
  readonly rootSessionId: string
  readonly kind: OperatorKind
  readonly label: string
  /**
   * Whether the session is written down before its model is asked: after a crash it then shows that the
   * run was begun. Else a run that was just begun is begun again.
   */
  readonly isWrittenAhead: boolean
}

function compose(seat: Seat, root: Agent, childCtx: Context): void {
  const { kind } = seat
  applyChildComposition(childCtx, root, {
    persona: kind.persona,
    toolFilter: kind.tools === undefined ? undefined : { allow: kind.tools },
  })
  childCtx.on('agent/request', async ({ step }, next) => {
    const { agent } = childCtx
    if (step === 1 && seat.isWrittenAhead && agent !== undefined) await root.ctx.sessions.flush(agent.session)
    return next()
  })
}

function optionsOf({ kind }: Seat, root: Agent, depth: number) {
  const { provider, model } = kind
  const route = provider === undefined || model === undefined ? undefined : { provider, model }
  return resolveChildAgentOptions(root, route, depth)
}

/** A new session. `one-shot`: nobody but its graph continues it. */
export function createOperator(seat: Seat, root: Agent): Promise<AgentHandle> {
  const sessionId = SessionId(seat.sessionId)
  const depth = resolveChildDepth(root, undefined)
  const overrides = captureDelegatedPolicyOverrides(root)
  const descriptor = snapshotSubagentDescriptor({ mode: 'one-shot', provider: PROVIDER, label: seat.label })
  return root.ctx.agents.create({
    sessionId,
    meta: childSessionMeta(root, depth, 0),
    seed: seedDescriptorTurn(sessionId, undefined, descriptor),
    agentOptions: optionsOf(seat, root, depth),
    setup: (childCtx) => {
      compose(seat, root, childCtx)
      if (childCtx.agent !== undefined) appendDelegatedPolicyOverrides(childCtx.agent.session, overrides)
    },
  })
}

/** A stored session with its history; the policy stands in its log. */
export function resumeOperator(seat: Seat, root: Agent): Promise<AgentHandle> {
  const depth = resolveChildDepth(root, undefined)
  return root.ctx.agents.resume({
    resumeSessionId: SessionId(seat.sessionId),
    agentOptions: optionsOf(seat, root, depth),
    setup: (childCtx) => compose(seat, root, childCtx),
  })
}
