/**
 * What an author should know about a graph that was mounted: nothing here keeps it from being mounted.
 * Each remark is made once a mount.
 */
import type { NamedGraph } from './definition-record.ts'
import { messageOf } from './errors.ts'
import type { PreparedGraph } from './tool.ts'

export interface Remark {
  readonly level: 'warn' | 'debug'
  readonly text: string
}

interface Offered {
  readonly asTool: boolean
  readonly listed: boolean
}

/** Options of LangGraph's config that authors look for in `configurable`, where it ignores them. */
const MISPLACED = ['recursionLimit', 'recursion_limit'] as const

function parameterRemarks(
  { name, settings }: NamedGraph,
  { derived }: PreparedGraph,
  asTool: boolean,
): Remark[] {
  if (settings.parameters !== undefined || derived === undefined || derived.kind === 'parameters') return []
  const opaque = `graph "${name}" is a tool without declared parameters: the model sees one opaque "input"`
  if (derived.kind === 'untyped') {
    return asTool && !settings.chosen ? [{ level: 'warn', text: opaque }] : []
  }
  if (derived.mistake)
    return [{ level: 'warn', text: `graph "${name}": ${derived.reason}; it takes one "input" instead` }]
  const reason = `graph "${name}": no parameters from its schema, ${derived.reason}`
  return asTool
    ? [
        { level: 'warn', text: opaque },
        { level: 'debug', text: reason },
      ]
    : [{ level: 'debug', text: reason }]
}

/** Everything worth saying about one mount. */
export function mountRemarks(
  named: NamedGraph,
  prepared: PreparedGraph,
  { asTool, listed }: Offered,
): Remark[] {
  const { name, settings } = named
  const remarks = parameterRemarks(named, prepared, asTool)
  if (prepared.failure !== undefined) {
    const text = `graph "${name}": build failed, a call will try again: ${messageOf(prepared.failure.error)}`
    remarks.unshift({ level: 'warn', text })
  }
  for (const key of MISPLACED) {
    if (settings.configurable === undefined || !Object.hasOwn(settings.configurable, key)) continue
    const text = `graph "${name}": LangGraph ignores configurable.${key}; set recursionLimit beside configurable`
    remarks.push({ level: 'warn', text })
  }
  if (!asTool && !listed) {
    const text = `graph "${name}" can be reached by nobody: asTool and asGraphTool are both false`
    remarks.push({ level: 'warn', text })
  }
  return remarks
}
