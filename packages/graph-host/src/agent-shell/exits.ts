/** What ends `dsh-agent`, by the number that a script sees; the numbers are those of `dsh-graph`. */
import { EXIT, ShellError } from '../shell/shell-error.ts'

export const AGENT_EXIT = {
  ...EXIT,
  /** The run ended badly: an error, an abort, a deadline. */
  runFailed: 1,
  /** The time to wait is over, as `timeout` of the coreutils tells it. */
  timeout: 124,
} as const

export type AgentExitCode = (typeof AGENT_EXIT)[keyof typeof AGENT_EXIT]

const MISSING: ReadonlySet<string> = new Set(['run-not-found', 'session-not-found'])
const DATABASE: ReadonlySet<string> = new Set(['unavailable', 'corrupt', 'quarantined'])

/** What a host's refusal means for the shell. */
export function refusedBy(code: string, message: string): ShellError {
  if (code === 'internal') return new ShellError(AGENT_EXIT.defect, code, message)
  if (MISSING.has(code)) return new ShellError(AGENT_EXIT.missing, code, message)
  return new ShellError(DATABASE.has(code) ? AGENT_EXIT.database : AGENT_EXIT.refused, code, message)
}
