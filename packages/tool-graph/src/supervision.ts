/**
 * Which root sessions supervise graphs: what the row says, or a person in DSH's settings, unless a person
 * said otherwise for one session. What persons said of single sessions stands in one stream of the
 * durable log, the newest word for a session last, so that it holds over restarts and for every process
 * on the home.
 *
 * Owns: that stream, and the decision. Does not own: what follows from it in a live session (install).
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import z from '@deepseek-ai/schemastery'
import { AgentGraphError } from './errors.ts'

/** `chosen`: the sessions of the named presets. `none`: only sessions that a person switches on. */
export interface SupervisionSettings {
  readonly sessions: 'all' | 'chosen' | 'none'
  readonly presets: readonly string[]
}

/** What a person may set for all sessions, in DSH's settings. */
export const SUPERVISION_NAMESPACE = 'dsh-tool-graph'

export const SupervisionSchema: z<SupervisionSettings> = z.object({
  sessions: z
    .union([z.const('all' as const), z.const('chosen' as const), z.const('none' as const)])
    .default('all')
    .description('Root sessions that supervise graphs; `/graph on` and `/graph off` decide for one.'),
  presets: z.array(z.string()).default([]).description('With `chosen`: the presets whose sessions do.'),
}) as z<SupervisionSettings>

/** The words of persons about single sessions. */
export const SUPERVISION_STREAM = 'supervision/sessions'

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * A person switched supervision of a session; the log has it already. Listeners resolve when the
     * session's tools and section are as they should be.
     * @mode parallel
     */
    'graph/supervision'(change: { readonly sessionId: string; readonly supervised: boolean }): unknown
  }
}

/** The part of `ctx.durableLog` that is used here. */
export interface SwitchLog {
  append(
    stream: string,
    expectedSeq: 'any',
    entries: readonly { readonly type: string; readonly data: SwitchData }[],
  ): Promise<number>
  read(
    stream: string,
    options: { readonly afterSeq: number },
  ): Promise<readonly { readonly seq: number; readonly type: string; readonly data: unknown }[]>
  subscribe(prefix: string, listener: () => void): () => void
}

interface SwitchData {
  readonly v: 1
  /** Epoch milliseconds. */
  readonly at: number
  readonly sessionId: string
  readonly supervised: boolean
  readonly [key: string]: number | string | boolean
}

/**
 * Writes down that a session supervises graphs from now on, or does not. For a process that has the
 * session live, {@link switchSupervision} does that and applies it at once.
 */
export async function recordSupervision(
  log: Pick<SwitchLog, 'append'>,
  sessionId: string,
  supervised: boolean,
): Promise<void> {
  const data: SwitchData = { v: 1, at: Date.now(), sessionId, supervised }
  await log.append(SUPERVISION_STREAM, 'any', [{ type: 'supervision', data }])
}

/**
 * Switches supervision of one session on or off, for good. Resolves when tools and section of the
 * live session are as they should be.
 *
 * @throws AgentGraphError `supervision-not-kept` without a durable log.
 */
export async function switchSupervision(ctx: Context, sessionId: string, supervised: boolean): Promise<void> {
  const log = ctx.get('durableLog') as SwitchLog | undefined
  if (log === undefined)
    throw new AgentGraphError(
      'supervision-not-kept',
      'this profile has no durable log to keep the choice in; add the row dsh-durable-log',
    )
  await recordSupervision(log, sessionId, supervised)
  await ctx.parallel('graph/supervision', { sessionId, supervised })
}

/** The words of persons, as this process knows them. */
export class SupervisionSwitches {
  private readonly log: SwitchLog
  private readonly words = new Map<string, boolean>()
  private seq = 0
  private reading: Promise<void> = Promise.resolve()

  constructor(log: SwitchLog) {
    this.log = log
  }

  /** What a person said about a session; `undefined` when nobody did. */
  of(sessionId: string): boolean | undefined {
    return this.words.get(sessionId)
  }

  /** Reads what was said since the last reading. */
  catchUp(): Promise<void> {
    const next = this.reading.then(() => this.read())
    this.reading = next.catch(() => undefined)
    return next
  }

  private async read(): Promise<void> {
    for (const { seq, type, data } of await this.log.read(SUPERVISION_STREAM, { afterSeq: this.seq })) {
      this.seq = Math.max(this.seq, seq)
      // A word of a later version, or of somebody else, says nothing here.
      if (type !== 'supervision' || typeof data !== 'object' || data === null) continue
      const { sessionId, supervised } = data as Record<string, unknown>
      if (typeof sessionId === 'string' && typeof supervised === 'boolean')
        this.words.set(sessionId, supervised)
    }
  }
}

/** The part of `ctx.agentPresets` that is used here. */
interface Presets {
  composedPreset(agentCtx: Context): string | undefined
}

/** The preset a session runs on; `undefined` where it joined none. */
function presetOf(ctx: Context, agent: Agent): string | undefined {
  const presets = ctx.get('agentPresets') as unknown as Presets | undefined
  return presets?.composedPreset(agent.ctx) ?? agent.session.header.agentPreset
}

/** Whether a root session supervises graphs. */
export function isSupervised(
  ctx: Context,
  agent: Agent,
  { sessions, presets }: SupervisionSettings,
  word: boolean | undefined,
): boolean {
  if (word !== undefined) return word
  if (sessions !== 'chosen') return sessions === 'all'
  const preset = presetOf(ctx, agent)
  return preset !== undefined && presets.includes(preset)
}
