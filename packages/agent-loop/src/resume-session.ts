/**
 * The default opener: makes a session that a key names and nobody made yet, and resumes a persisted session with the model it last used and the preset it was
 * composed from, as DSH's own web host does. Sessions of subagents are refused: only their parent's
 * host knows the tool filter and the policy they ran under.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent'
import { foldRequestHeader, SessionId, type SessionEvent, type SessionHeader } from '@deepseek-ai/dsh-session'
import type { DescribedData } from './entries.ts'
import { AgentLoopError } from './errors.ts'

/** What is used of DSH's optional services, each absent in some profile. */
interface Persistence {
  list(signal?: AbortSignal): Promise<readonly SessionHeader[]>
  inspect(
    id: SessionId,
    signal?: AbortSignal,
  ): Promise<{ readonly meta: SessionHeader; readonly events: readonly SessionEvent[] }>
}
interface DefaultModel {
  currentSelection(): { readonly provider: string; readonly model: string }
}
interface Presets {
  mount(agentCtx: Context, id?: string): Promise<unknown>
}

/** The session can be opened, but only by whoever made it. */
export class ForeignSession extends AgentLoopError {
  constructor(sessionId: string) {
    super(
      'session-not-found',
      `session ${JSON.stringify(sessionId)} cannot be opened: it is a subagent and no opener claims it`,
    )
  }
}

export interface OpenedSession {
  readonly agent: Agent
  readonly dispose: () => Promise<unknown>
}

/** @throws `session-not-found` when the session is unknown, or may not be resumed from here. */
export async function resumeSession(
  ctx: Context,
  agents: Context['agents'],
  sessionId: string,
  signal: AbortSignal,
): Promise<OpenedSession> {
  const persistence = ctx.get('sessionPersistence') as Persistence | undefined
  if (persistence === undefined) throw notFound(sessionId, 'no opener claims it and nothing is persisted')
  const { meta, events } = await inspect(persistence, sessionId, signal)
  if (meta.origin === 'subagent') throw new ForeignSession(sessionId)
  const presets = ctx.get('agentPresets') as Presets | undefined
  const preset = presetOf(meta, events)
  const { agent, dispose } = await agents.resume({
    resumeSessionId: SessionId(sessionId),
    agentOptions: modelOf(ctx, events),
    signal,
    ...(presets === undefined
      ? {}
      : { setup: async (agentCtx: Context) => void (await presets.mount(agentCtx, preset)) }),
  })
  return { agent, dispose }
}

/**
 * Makes the session that a caller's key names, unless it is persisted already.
 *
 * @returns it, or nothing when it has to be resumed.
 */
export async function createKeyedSession(
  ctx: Context,
  agents: Context['agents'],
  sessionId: string,
  described: DescribedData,
  signal: AbortSignal,
): Promise<OpenedSession | undefined> {
  const persistence = ctx.get('sessionPersistence') as Persistence | undefined
  const stored = (await persistence?.list(signal)) ?? []
  if (stored.some(({ id }) => id === sessionId)) return undefined
  const presets = ctx.get('agentPresets') as Presets | undefined
  const { agent, dispose } = await agents.create({
    sessionId: SessionId(sessionId),
    agentOptions: described.model ?? modelOf(ctx, []),
    // Prompts of DSH name the folder, so a session without one could not have a turn.
    meta: { cwd: described.cwd ?? process.cwd() },
    signal,
    ...(presets === undefined
      ? {}
      : { setup: async (agentCtx: Context) => void (await presets.mount(agentCtx)) }),
  })
  return { agent, dispose }
}

async function inspect(persistence: Persistence, sessionId: string, signal: AbortSignal) {
  try {
    return await persistence.inspect(SessionId(sessionId), signal)
  } catch (error) {
    throw notFound(sessionId, error instanceof Error ? error.message : String(error), error)
  }
}

function modelOf(ctx: Context, events: readonly SessionEvent[]): AgentOptions {
  const used = foldRequestHeader(events)?.config
  const route = used ?? (ctx.get('agentDefaultModel') as DefaultModel | undefined)?.currentSelection()
  return route === undefined ? {} : { provider: route.provider, model: route.model }
}

/** The preset a session runs: the last one selected in its log, else the one it was created with. */
function presetOf(meta: SessionHeader, events: readonly SessionEvent[]): string | undefined {
  // The event belongs to DSH's preset package, whose types are not loaded here.
  const selected = (events as readonly { readonly type: string; readonly data: unknown }[]).findLast(
    (event) => event.type === 'agent-preset/selected',
  )?.data as { readonly agentPreset?: string } | undefined
  return selected === undefined ? meta.agentPreset : selected.agentPreset
}

function notFound(sessionId: string, why: string, cause?: unknown): AgentLoopError {
  return new AgentLoopError(
    'session-not-found',
    `session ${JSON.stringify(sessionId)} cannot be opened: ${why}`,
    cause === undefined ? undefined : { cause },
  )
}
