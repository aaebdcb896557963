/** What ends a shell command without success, by the number that a script sees. */

export const EXIT = {
  ok: 0,
  /** The command worked, and what it checked is not as it should be. */
  found: 1,
  /** It was called wrongly. */
  usage: 2,
  /** What it names is not there. */
  missing: 3,
  /** The store, or the host, refused. */
  refused: 4,
  /** It needs a running host, and there is none. */
  noHost: 5,
  /** The database cannot be read. */
  database: 6,
  /** A defect of this program. */
  defect: 70,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export class ShellError extends Error {
  readonly exitCode: ExitCode
  /** For programs. */
  readonly code: string

  constructor(exitCode: ExitCode, code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
    this.code = code
  }
}

/** What a failure of any kind means for the shell. */
export function asShellError(error: unknown): ShellError {
  if (error instanceof ShellError) return error
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'internal'
  const message = error instanceof Error ? error.message : String(error)
  return new ShellError(exitCodeOf(code), code, message, { cause: error })
}

/** What a host's refusal means for the shell. */
export function refusalOf(code: string, message: string): ShellError {
  return new ShellError(code === 'usage' ? EXIT.usage : exitCodeOf(code), code, message)
}

function exitCodeOf(code: string): ExitCode {
  if (['unknown-graph', 'unknown-work', 'graph-not-found', 'record-not-found'].includes(code))
    return EXIT.missing
  if (['unavailable', 'corrupt', 'quarantined'].includes(code)) return EXIT.database
  if (code === 'internal' || code.startsWith('ERR_')) return EXIT.defect
  return EXIT.refused
}
