/**
 * Tells at a glance that arguments fit: a plain object of scalars under a schema of scalars, which is what
 * most calls are. A yes is final; everything else, a fault included, is left to DSH's validator, whose
 * words the caller gets.
 */
import type { JsonSchemaNode, ParameterJsonSchema } from '@deepseek-ai/dsh-tools'

type Test = (value: unknown) => boolean

const ANNOTATIONS: ReadonlySet<string> = new Set(['description', 'title', 'default', 'examples'])

const isNumber: Test = (value) => Number.isFinite(value) && !Object.is(value, -0)

const TESTS: Readonly<Record<string, Test>> = {
  string: (value) => typeof value === 'string',
  number: isNumber,
  integer: (value) => Number.isInteger(value) && !Object.is(value, -0),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

const isScalar: Test = (value) =>
  typeof value === 'string' || typeof value === 'boolean' || value === null || isNumber(value)

function testOf(node: JsonSchemaNode): Test | undefined {
  const keys = Object.keys(node).filter((key) => !ANNOTATIONS.has(key))
  if (keys.length === 0) return isScalar
  return keys.length === 1 && node.type !== undefined ? TESTS[node.type] : undefined
}

interface Plan {
  readonly tests: ReadonlyMap<string, Test>
  readonly required: readonly string[]
}

function planOf({ properties, required, ...rest }: ParameterJsonSchema): Plan | undefined {
  if (Object.keys(rest).some((key) => key !== 'type' && !ANNOTATIONS.has(key))) return undefined
  const tests = new Map<string, Test>()
  for (const [name, node] of Object.entries(properties ?? {})) {
    const test = testOf(node)
    if (test === undefined) return undefined
    tests.set(name, test)
  }
  return { tests, required: [...(required ?? [])] }
}

const plans = new WeakMap<ParameterJsonSchema, { readonly plan: Plan | undefined }>()

/** Whether the arguments certainly fit a schema that nobody changes any more. */
export function quickFit(schema: ParameterJsonSchema, args: unknown): boolean {
  let known = plans.get(schema)
  if (known === undefined) plans.set(schema, (known = { plan: planOf(schema) }))
  const { plan } = known
  if (plan === undefined || typeof args !== 'object' || args === null) return false
  try {
    return Object.getPrototypeOf(args) === Object.prototype && fits(plan, args)
  } catch {
    return false
  }
}

function fits({ tests, required }: Plan, args: object): boolean {
  for (const key of Reflect.ownKeys(args)) {
    if (typeof key === 'symbol') return false
    const at = Object.getOwnPropertyDescriptor(args, key)
    if (at?.enumerable !== true || !(tests.get(key) ?? isScalar)(at.value)) return false
  }
  return required.every((name) => Object.hasOwn(args, name))
}
