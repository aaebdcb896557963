/**
 * What is wrong with a call, as one refusal: every problem with its place and its cure, bounded, so
 * that a call with a thousand faults is not answered with a thousand lines.
 */
import { validateArgs, type InferArgs, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { LIMITS } from 'dsh-graph-control'
import type { Shape } from './clean-value.ts'
import { cutToBytes } from './data-text.ts'
import { AgentGraphError } from './errors.ts'

/** Problems that one refusal names. */
export const TOLD_PROBLEMS = 12
const PROBLEM_BYTES = 640

/** @throws AgentGraphError `invalid_input`, if there is any problem. */
export function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return
  const told = problems.slice(0, TOLD_PROBLEMS).map((problem) => {
    const { text, truncated } = cutToBytes(problem, PROBLEM_BYTES)
    return truncated ? `${text}…` : text
  })
  const more = problems.length - told.length
  throw new AgentGraphError(
    'invalid_input',
    `${told.join('; ')}${more > 0 ? `; and ${more} more problems` : ''}. Nothing was written`,
  )
}

/** What the store takes as an id: one line of at most 256 characters. */
export function idProblem(at: string, id: string): string[] {
  if (id.length > LIMITS.idChars) return [`${at} has ${id.length} characters; at most ${LIMITS.idChars}`]
  if (CONTROL.test(id) || !id.isWellFormed())
    return [`${at} holds characters that no id has: give one line of plain text`]
  return []
}

const CONTROL = /\p{Cc}/u

/** @throws AgentGraphError `invalid_input` naming every field that is not as the schema has it. */
export function requireTyped<const S extends ParameterSchemaSpec>(
  spec: S,
  input: unknown,
  unknown: readonly string[],
): InferArgs<S> {
  const root: Shape = { type: 'object', properties: spec as unknown as Readonly<Record<string, Shape>> }
  refuse([...unknown, ...validateArgs(spec, input).map((problem) => withFields(root, problem))])
  return input as InferArgs<S>
}

/** Where an object is missing, what would stand in it. */
function withFields(root: Shape, problem: string): string {
  const path = /^"(?<path>[^"]*)" must be an object$/u.exec(problem)?.groups?.['path']
  if (path === undefined) return problem
  const fields = Object.keys(shapeAt(root, path)?.properties ?? {})
  const where = path === 'arguments' ? 'the arguments' : path
  return `${where} must be an object${fields.length === 0 ? '' : ` with ${fields.join(', ')}`}`
}

function shapeAt(root: Shape, path: string): Shape | undefined {
  let shape: Shape | undefined = root
  for (const step of path.match(/[^.[\]]+/gu) ?? [])
    shape = /^\d+$/u.test(step) ? shape?.items : (shape?.properties?.[step] ?? shape)
  return shape
}
