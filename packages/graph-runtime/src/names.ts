/** The rule for graph names. A graph's name is its tool's name, so the providers' rule for functions holds. */
import { RUN_CODE_NAME } from '@deepseek-ai/dsh-tools'
import { quotedName } from './errors.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Names that other machinery owns: Code Mode's tool and the router's built-in fallback. */
const RESERVED: ReadonlySet<string> = new Set([RUN_CODE_NAME, 'graph_routing_fallback'])

function suggestion(name: string): string | undefined {
  const fixed = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase()
    .slice(0, 64)
  return NAME.test(fixed) && !RESERVED.has(fixed) ? fixed : undefined
}

/** Why `name` cannot name a graph, with a corrected name where one is near; `undefined` if it can. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return 'name must be a non-empty string'
  if (RESERVED.has(name)) return `name "${name}" is reserved; choose another one`
  if (NAME.test(name)) return undefined
  const fixed = suggestion(name)
  const cure = fixed === undefined ? '' : `; use for example "${fixed}"`
  return `name ${quotedName(name)} must be 1 to 64 letters, digits, "_" or "-"${cure}`
}
