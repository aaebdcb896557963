/** The one error class of the scripted model, and the codes its refusals carry on the wire. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid-script`: the script does not say what a script says; `problems` names every fault of it.
 * - `unreadable-script`: the script file cannot be read, or is too large.
 * - `invalid-config`: the row's settings contradict each other.
 * - `unexpected-requests`: the script was asked for something it has no answer to.
 * - `unused-steps`: the script has steps that nobody asked for.
 * - `capture-failed`: a step's capture found nothing, or not a number where one was wanted.
 * - `unknown-capture`: a template names a value that this conversation never captured.
 */
export type ScriptedLlmErrorCode =
  | 'invalid-script'
  | 'unreadable-script'
  | 'invalid-config'
  | 'unexpected-requests'
  | 'unused-steps'
  | 'capture-failed'
  | 'unknown-capture'

/** Codes of the failures with which a request ends that the script cannot answer. */
export type ScriptRefusalCode =
  | 'SCRIPT_UNEXPECTED_REQUEST'
  | 'SCRIPT_CAPTURE_FAILED'
  | 'SCRIPT_UNKNOWN_CAPTURE'

/** One fault of a script. */
export interface ScriptProblem {
  /** Where, as `tracks[0].steps[2].text`; empty for the script as a whole. */
  readonly path: string
  readonly message: string
  /** 1-based line of the YAML text; absent for scripts given as objects. */
  readonly line?: number
}

export interface ScriptedLlmErrorDetails {
  readonly problems?: readonly ScriptProblem[]
  readonly cause?: unknown
}

export class ScriptedLlmError extends HarnessError {
  declare readonly code: ScriptedLlmErrorCode
  /** Every fault of an `invalid-script`; empty for the other codes. */
  readonly problems: readonly ScriptProblem[]

  constructor(code: ScriptedLlmErrorCode, message: string, details: ScriptedLlmErrorDetails = {}) {
    super(message, code, details.cause === undefined ? undefined : { cause: details.cause })
    this.problems = details.problems ?? []
  }
}

const LISTED_PROBLEMS = 50

/**
 * One `invalid-script` error for all faults of a script.
 *
 * @param problems at least one.
 * @param origin where the script comes from, as a file name; named in the text.
 * @param cause the error that made the script unreadable, if one did.
 */
export function invalidScript(
  problems: readonly ScriptProblem[],
  origin: string | undefined,
  cause?: unknown,
): ScriptedLlmError {
  const listed = problems.slice(0, LISTED_PROBLEMS).map(describeProblem)
  if (problems.length > listed.length) listed.push(`and ${problems.length - listed.length} more`)
  const subject = origin === undefined ? 'the script' : `the script ${origin}`
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  return new ScriptedLlmError('invalid-script', `${subject} has ${count}: ${listed.join('; ')}`, {
    problems,
    cause,
  })
}

function describeProblem(problem: ScriptProblem): string {
  const line = problem.line === undefined ? '' : ` (line ${problem.line})`
  return `${problem.path === '' ? 'script' : problem.path}${line}: ${problem.message}`
}
