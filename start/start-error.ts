/** How `start` fails: one line for a person, one exit code. */

/**
 * - `usage`: the command line is wrong; exit 2.
 * - `config`: the composition cannot be read or booted.
 * - `state`: the state directory cannot be used, or holds nothing to resume.
 * - `run`: the graph did not get finished and answered.
 */
export type StartErrorCode = 'usage' | 'config' | 'state' | 'run'

export class StartError extends Error {
  readonly code: StartErrorCode

  constructor(code: StartErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartError'
    this.code = code
  }

  get exitCode(): number {
    return this.code === 'usage' ? 2 : 1
  }
}
