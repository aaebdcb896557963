/**
 * How a user interface shows a call while it runs. DSH asks once for a call, with nothing but its
 * arguments, so this is which graph runs and through which nodes; news of the run are events.
 */
import type { ToolCallView } from '@deepseek-ai/dsh-tools'
import type { GraphShape } from './types.ts'

/** Nodes named on a card; the rest is counted. */
const LISTED = 12

/** The card of a pending call. */
export function callCard(name: string, shape: GraphShape | undefined, args: unknown): ToolCallView {
  const nodes = shape?.nodes ?? []
  const more = nodes.length > LISTED ? ` and ${nodes.length - LISTED} more` : ''
  const text = `Nodes: ${nodes.slice(0, LISTED).join(', ')}${more}`
  return {
    card: 'generic',
    title: `Graph ${name}`,
    kind: 'execute',
    rawInput: args,
    ...(nodes.length === 0 ? {} : { content: [{ type: 'text', text }] }),
  }
}
