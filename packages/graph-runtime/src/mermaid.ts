/**
 * Draws a graph as a Mermaid flowchart. Ids are made up and labels quoted with everything odd escaped,
 * since a node may be called `end`, `a[b]` or anything else that Mermaid has a meaning for.
 */
import { END, START, type GraphEdgeView, type GraphNodeView } from './picture-types.ts'

const TERMINALS: ReadonlyMap<string, string> = new Map([
  [START, 'start'],
  [END, 'end'],
])

/** Letters, digits and a little punctuation that Mermaid has no use for within quotes. */
const HARMLESS = /[\p{L}\p{N} _.,:/()-]/u

function label(text: string): string {
  const escaped = Array.from(text, (character) =>
    HARMLESS.test(character) ? character : `#${character.codePointAt(0)};`,
  )
  // Mermaid takes no empty label.
  return `"${escaped.join('') || ' '}"`
}

interface Drawable {
  readonly nodes: readonly GraphNodeView[]
  readonly edges: readonly GraphEdgeView[]
}

/** The flowchart's text. */
export function drawMermaid(name: string, { nodes, edges }: Drawable): string {
  const ids = new Map<string, string>()
  const lines = ['flowchart TD']
  const draw = (node: string, text: string): void => {
    if (ids.has(node)) return
    const id = `n${ids.size}`
    ids.set(node, id)
    lines.push(`  ${id}${text}`)
  }
  if (nodes.length === 0) draw(name, `[${label(name)}]`)
  else draw(START, `([${label('start')}])`)
  for (const node of nodes)
    draw(node.name, node.subgraph ? `[[${label(node.name)}]]` : `[${label(node.name)}]`)
  for (const { to } of edges) {
    if (to !== undefined)
      draw(to, TERMINALS.has(to) ? `([${label(TERMINALS.get(to) ?? to)}])` : `[${label(to)}]`)
  }
  for (const edge of edges) lines.push(...arrow(edge, ids))
  return lines.join('\n')
}

function arrow(
  { from, to, conditional, label: way }: GraphEdgeView,
  ids: ReadonlyMap<string, string>,
): string[] {
  const start = ids.get(from)
  // A way to anywhere leads to a mark of its own.
  const end = to === undefined ? `${start}any(${label('any node')})` : ids.get(to)
  const line = conditional ? '-.->' : '-->'
  const text = way === undefined ? '' : `|${label(way)}|`
  return start === undefined || end === undefined ? [] : [`  ${start} ${line}${text} ${end}`]
}
