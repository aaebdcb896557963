/** What a profile can say about hooks. */
import z from '@deepseek-ai/schemastery'

/** No handler gets longer, whatever it or the profile asks for. */
export const MAX_TIMEOUT_MS = 600_000

export interface HookSettings {
  /** Deadlines by hook, milliseconds; before what a plugin asks for. */
  readonly timeouts: Readonly<Record<string, number>>
  /** Deadlines of all hooks of a plugin, by its name, milliseconds; before those by hook. */
  readonly plugins: Readonly<Record<string, number>>
  /** No handler gets more than this by its own registration, milliseconds. */
  readonly maxTimeoutMs: number
  /** How long `session_end` and `gateway_stop` may take together, milliseconds. */
  readonly shutdownMs: number
  /** Directory hooks that are on: folder name to the pin that the log tells. */
  readonly directories: Readonly<Record<string, string>>
}

const timeout = () => z.number().step(1).min(1).max(MAX_TIMEOUT_MS)

export const HookSettings: z<Partial<HookSettings>, HookSettings> = z.object({
  timeouts: z.dict(timeout()).default({}),
  plugins: z.dict(timeout()).default({}),
  maxTimeoutMs: timeout().default(60_000),
  shutdownMs: z.number().step(1).min(0).max(60_000).default(2_000),
  directories: z.dict(z.string().pattern(/^[0-9a-f]{64}$/)).default({}),
})

/** The settings of a row that names none. */
export const DEFAULT_HOOK_SETTINGS: HookSettings = {
  timeouts: {},
  plugins: {},
  maxTimeoutMs: 60_000,
  shutdownMs: 2_000,
  directories: {},
}
