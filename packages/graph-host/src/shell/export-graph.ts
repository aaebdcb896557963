/**
 * A graph for other programs: as JSON, or drawn as text for Mermaid or Graphviz. Titles and ids come
 * from models, so in drawings the ids are made up and everything odd is escaped. Pure.
 */
import type { GraphState, Work } from 'dsh-graph-control'
import { shownStatus } from '../board/board.ts'
import { cleanLine, cutTo } from '../board/text-width.ts'

const LABEL_COLUMNS = 60
/** Letters, digits and a little punctuation that Mermaid has no use for within quotes. */
const HARMLESS = /[\p{L}\p{N} _.,:/()-]/u

/** Version 1 of the document. Times are epoch milliseconds. */
export function exportJson(state: GraphState): object {
  const { bindings, claims, operators, records, wakes, works } = state
  const {
    changeSeq,
    closed,
    createdAt,
    finish,
    graphId,
    phase,
    revision,
    rootSessionId,
    seenChangeSeq,
    seq,
    usage,
  } = state
  return {
    schemaVersion: 1,
    graph: {
      graphId,
      rootSessionId,
      phase,
      closed,
      revision,
      seq,
      changeSeq,
      seenChangeSeq,
      createdAt,
      finish,
      usage,
      counts: state.counts,
      wait: state.wait,
    },
    works: [...works.values()],
    operators: [...operators.values()],
    bindings: [...bindings.values()],
    claims: [...claims.values()],
    records: [...records.values()],
    wakes: [...wakes.values()],
  }
}

interface Edge {
  readonly from: Work
  readonly to: Work
}

/** Inputs by works, by records, and by the works of items that a work joins. */
function edgesOf({ records, works }: GraphState): readonly Edge[] {
  return [...works.values()].flatMap((to) => {
    const sources = [...to.inputIds, ...(to.itemWorkIds ?? [])].map((id) => records.get(id)?.workId ?? id)
    return [...new Set(sources)].flatMap((id) => {
      const from = works.get(id)
      return from === undefined || from === to ? [] : [{ from, to }]
    })
  })
}

function labelOf(state: GraphState, work: Work): readonly string[] {
  const title = cleanLine(work.title ?? '')
  const name = title === '' || title === work.workId ? work.workId : `${work.workId} ${title}`
  return [cutTo(cleanLine(name), LABEL_COLUMNS), shownStatus(state, work)]
}

export function exportMermaid(state: GraphState): string {
  const works = [...state.works.values()]
  const id = (work: Work): string => `w${work.ordinal}`
  return [
    'flowchart TD',
    ...(works.length === 0 ? ['  none["no works"]'] : []),
    ...works.map(
      (work) =>
        `  ${id(work)}["${labelOf(state, work).map(mermaidText).join('<br/>')}"]:::${shownStatus(state, work)}`,
    ),
    ...edgesOf(state).map(({ from, to }) => `  ${id(from)} --> ${id(to)}`),
    '',
  ].join('\n')
}

function mermaidText(text: string): string {
  return Array.from(text, (character) =>
    HARMLESS.test(character) ? character : `#${character.codePointAt(0)};`,
  ).join('')
}

export function exportDot(state: GraphState): string {
  const id = (work: Work): string => `w${work.ordinal}`
  return [
    `digraph ${dotText(state.graphId)} {`,
    '  rankdir=TB; node [shape=box];',
    ...[...state.works.values()].map(
      (work) => `  ${id(work)} [label=${dotText(labelOf(state, work).join('\n'))}];`,
    ),
    ...edgesOf(state).map(({ from, to }) => `  ${id(from)} -> ${id(to)};`),
    '}',
    '',
  ].join('\n')
}

/** A quoted string of the DOT language, in which only the quote and the backslash mean something. */
function dotText(text: string): string {
  return `"${text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)}"`
}
