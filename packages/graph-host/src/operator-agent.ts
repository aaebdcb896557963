/**
 * How the agent of an operator is composed: a child of its root that inherits what the root has
 * (working directory, preset, sandbox, permission boundary), which can only be narrowed.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { scopeOf } from '@deepseek-ai/dsh-scope'
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
import { mountPreset } from './presets.ts'
import type { Route } from './routes.ts'
import type { Worktree } from './worktrees.ts'

const PROVIDER = 'dsh-graph'
/** Not a tool of its own, but the way to the others. */
const RUN_CODE = 'run_code'

const DELEGATION =
  'You work for another session, with the permissions that you were started with; what needs an approval is refused. ' +
  'When the task needs more than that, say so in your answer instead of trying again.'

/** What is needed to open an operator's session. */
export interface Seat {
  readonly sessionId: string
  readonly rootSessionId: string
  readonly kind: OperatorKind
  /** The model of the run for which it is opened. */
  readonly route: Route
  readonly label: string
  /** Where it works; default: in the root's directory. */
  readonly worktree?: Worktree | undefined
  /** Whether it has tools of its preset that the root lacks. */
  readonly ownTools: boolean
  /**
   * Whether the session is written down before its model is asked: after a crash it then shows that the
   * run was begun. Else a run that was just begun is begun again.
   */
  readonly isWrittenAhead: boolean
}

async function compose(seat: Seat, root: Agent, childCtx: Context): Promise<void> {
  const { persona, preset } = seat.kind
  if (preset === undefined) {
    applyChildComposition(childCtx, root, { persona })
  } else {
    await mountPreset(childCtx, preset)
    childCtx.systemPrompt.context({ name: 'subagent:delegation', order: 120, text: DELEGATION })
    if (persona !== undefined)
      childCtx.systemPrompt.section({ name: 'deployment:persona', order: 0, text: persona })
  }
  if (seat.worktree !== undefined)
    childCtx.systemPrompt.context({ name: 'graph:worktree', order: 121, text: worktreeText(seat.worktree) })
  restrictTools(seat, root, childCtx)
  childCtx.on('agent/request', async ({ step }, next) => {
    const { agent } = childCtx
    if (step === 1 && seat.isWrittenAhead && agent !== undefined) await root.ctx.sessions.flush(agent.session)
    return next()
  })
}

function worktreeText({ baseCommit, branch, dirtyFiles, path }: Worktree): string {
  const dirty =
    dirtyFiles === 0
      ? ''
      : ` The main working copy has ${dirtyFiles} changed files that are not committed; they are not here.`
  const text =
    `You work in a git worktree of your own, ${path}, on branch ${branch} from commit ${baseCommit.slice(0, 12)}.${dirty} ` +
    'What you change is committed to that branch when you end; do not push, and do not change other worktrees.'
  // DSH replaces what stands in double braces.
  return text.replaceAll('{{', '{ {')
}

/** By the live registry. @throws what DSH refuses a tool with that is not there. */
function restrictTools({ kind, ownTools }: Seat, root: Agent, childCtx: Context): void {
  const { tools } = childCtx
  const names = tools
    .schemas(scopeOf(childCtx))
    .map(({ name }) => name)
    .filter((name) => name !== RUN_CODE)
  const rootScope = scopeOf(root.ctx)
  const foreign = ownTools ? [] : names.filter((name) => tools.get(name, rootScope) === undefined)
  if (foreign.length > 0) tools.restrict({ deny: foreign })
  if (kind.tools !== undefined) tools.restrict({ allow: kind.tools })
}

function optionsOf({ route: { provider, model } }: Seat, root: Agent, depth: number) {
  const route = provider === undefined || model === undefined ? undefined : { provider, model }
  return resolveChildAgentOptions(root, route, depth)
}

/** A new session. `one-shot`: nobody but its graph continues it. */
export function createOperator(seat: Seat, root: Agent): Promise<AgentHandle> {
  const sessionId = SessionId(seat.sessionId)
  const depth = resolveChildDepth(root, undefined)
  const overrides = captureDelegatedPolicyOverrides(root)
  const descriptor = snapshotSubagentDescriptor({ mode: 'one-shot', provider: PROVIDER, label: seat.label })
  const { preset } = seat.kind
  return root.ctx.agents.create({
    sessionId,
    meta: {
      ...childSessionMeta(root, depth, 0),
      ...(preset === undefined ? {} : { agentPreset: preset }),
      ...(seat.worktree === undefined ? {} : { cwd: seat.worktree.path }),
    },
    seed: seedDescriptorTurn(sessionId, undefined, descriptor),
    agentOptions: optionsOf(seat, root, depth),
    setup: async (childCtx) => {
      await compose(seat, root, childCtx)
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

/** Sets what becomes of the asks of an operator's tools. No effect in a profile without approvals. */
export function alignApproval({ ctx, session }: Agent, policy: 'ask' | 'never'): void {
  const approval = ctx.get('approval') as
    | { overrideOf(of: Agent['session']): 'ask' | 'never' | undefined }
    | undefined
  if (approval === undefined || approval.overrideOf(session) === policy) return
  appendDelegatedPolicyOverrides(session, { sandboxMode: undefined, approvalPolicy: policy as 'never' })
}
