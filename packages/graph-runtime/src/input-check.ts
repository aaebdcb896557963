/**
 * Holds a graph's input against the author's own schema before the graph runs, key by key as LangGraph
 * does, so that a bound that only the author's schema knows is a fault of the arguments and not of the
 * graph. It judges and does not convert: defaults and transforms are LangGraph's, when it parses again.
 */
import type { InputSchema } from './input-schema.ts'

type Violations = readonly string[]

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

interface Verdict {
  readonly issues?: readonly Issue[] | undefined
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function'
}

function methodOf(holder: unknown, name: string): ((value: unknown) => unknown) | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined
  const method: unknown = Reflect.get(holder, name)
  return typeof method === 'function' ? (value) => method.call(holder, value) as unknown : undefined
}

function issuesOf(verdict: unknown): readonly Issue[] {
  if (typeof verdict !== 'object' || verdict === null) return []
  const holder = (Reflect.get(verdict, 'error') ?? verdict) as Verdict
  return Array.isArray(holder.issues) ? holder.issues : []
}

/** The Standard Schema verdict, or the one of a zod version before that standard. */
function judge(schema: object, value: unknown): unknown {
  const validate = methodOf(Reflect.get(schema, '~standard'), 'validate') ?? methodOf(schema, 'safeParse')
  return validate?.(value)
}

function pathText(root: string, path: Issue['path']): string {
  let text = root
  for (const part of path ?? []) {
    const key = typeof part === 'object' ? part.key : part
    if (typeof key === 'number') text += `[${key}]`
    else text += text === '' ? String(key) : `.${String(key)}`
  }
  return text
}

function textsOf(root: string, verdict: unknown): Violations {
  return issuesOf(verdict).map((issue) => `"${pathText(root, issue.path)}": ${issue.message}`)
}

/** Violations of one value. A schema that throws gives no verdict: the graph then meets the same error. */
function violationsAt(root: string, schema: object, value: unknown): Violations | Promise<Violations> {
  try {
    const verdict = judge(schema, value)
    if (!isPromise(verdict)) return textsOf(root, verdict)
    return Promise.resolve(verdict).then(
      (settled) => textsOf(root, settled),
      () => [],
    )
  } catch {
    return []
  }
}

/**
 * Violations of the author's schema, each with its path; empty means that the graph takes the input.
 *
 * @param at name of the parameter that carries the input, empty if the arguments are the input.
 * @returns a promise only where the schema checks asynchronously.
 */
export function inputViolations(
  schema: InputSchema,
  input: unknown,
  at: string,
): Violations | Promise<Violations> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return [`"${at || 'arguments'}" must be an object`]
  }
  const found: (Violations | Promise<Violations>)[] = []
  const inside = (key: string): string => (at === '' ? key : `${at}.${key}`)
  const names = new Set<string>()
  for (const { name, schema: field, required } of schema.fields) {
    names.add(name)
    if (Object.hasOwn(input, name)) found.push(violationsAt(inside(name), field, Reflect.get(input, name)))
    else if (required) found.push([`missing required property "${inside(name)}"`])
  }
  if (schema.closed || schema.rest !== undefined) {
    for (const key of Object.keys(input)) {
      if (names.has(key)) continue
      if (schema.closed) found.push([`"${inside(key)}" is not a declared property`])
      else if (schema.rest !== undefined) {
        found.push(violationsAt(inside(key), schema.rest, Reflect.get(input, key)))
      }
    }
  }
  return found.some(isPromise) ? Promise.all(found).then((all) => all.flat()) : (found as Violations[]).flat()
}
