/** What a row of this plugin can set. */
import z from '@deepseek-ai/schemastery'
import { MAX_DELAY_MS } from './clock.ts'
import { HookSettings } from './hooks/settings.ts'
import { EventsConfig } from './streams/limits.ts'

export interface Config {
  /**
   * What happens to runs from before this process: `live` takes up those whose session is opened
   * here, `all` opens every session with open runs.
   */
  recover: 'live' | 'all'
  /** The deadline of a run that names none, milliseconds. */
  defaultTimeoutMs: number
  /** How long a stopped turn may take to end before its lane goes on, milliseconds. */
  graceMs: number
  hooks?: HookSettings
  /** Events of runs and results of tools; see `streams/limits.ts`. */
  events?: Partial<EventsConfig>
}

export const Config: z<Partial<Config>, Config> = z.object({
  recover: z.union(['live', 'all'] as const).default('live'),
  defaultTimeoutMs: z.number().step(1).min(1).max(MAX_DELAY_MS).default(600_000),
  graceMs: z.number().step(1).min(0).max(MAX_DELAY_MS).default(5_000),
  hooks: HookSettings,
  events: EventsConfig,
})
