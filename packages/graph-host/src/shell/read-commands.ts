/** The commands that only look: each answers with a document for programs and with lines for people. */
import type { GraphState } from 'dsh-graph-control'
import { boardLines, countsText, headLine, workLines } from '../board/board.ts'
import { timeText } from '../board/durations.ts'
import type { Look } from '../board/look.ts'
import { cleanLine, cutTo } from '../board/text-width.ts'
import { timelineLines } from '../board/timeline-lines.ts'
import { rootWaitOf, waitOf } from '../board/waits.ts'
import { metricsLines, readMetrics } from '../read-metrics.ts'
import { wrongUse, type ShellRequest } from './arguments.ts'
import { exportDot, exportJson, exportMermaid } from './export-graph.ts'
import { findGraph, listAll, type GraphFile } from './graph-file.ts'
import { checkReplay } from './replay-check.ts'
import { EXIT, type ExitCode } from './shell-error.ts'

export interface Answer {
  /** For `--json`. */
  readonly document: unknown
  readonly lines: readonly string[]
  /** Default: done. */
  readonly exitCode?: ExitCode
}

type Reading = (file: GraphFile, request: ShellRequest, look: Look) => Promise<Answer>

export const READINGS: Readonly<Record<string, Reading>> = {
  list: async ({ store }, { open, root }, look) => {
    const { graphs, unreadable } = await listAll(store, root)
    const shown = graphs.filter(({ phase }) => !open || phase !== 'closed')
    const lines = shown.map(({ counts, createdAt, graphId, phase, rootSessionId }) =>
      cutTo(
        `${cleanLine(graphId)}  ${phase.padEnd(6)}  ${String(counts.terminal).padStart(4)}/${counts.works} ended  ${createdAt === undefined ? '' : timeText(createdAt)}  ${cleanLine(rootSessionId ?? '')}`.trimEnd(),
        look.columns,
      ),
    )
    const broken = unreadable.map(({ reason }) => cutTo(`unreadable: ${cleanLine(reason)}`, look.columns))
    const all = [...lines, ...broken]
    return { document: { graphs: shown, unreadable }, lines: all.length === 0 ? ['no graphs'] : all }
  },

  show: async (file, request, look) => {
    const state = await stateOf(file, request)
    const now = Date.now()
    const options = { now, ...(await file.standing?.()) }
    const lines = request.all
      ? [headLine(state, look), countsText(state), ...workLines(state, look, options)]
      : boardLines(state, look, options)
    const works = [...state.works.values()].map((work) => ({
      ...work,
      waitsFor: waitOf(state, work, options),
    }))
    return { document: { ...exportJson(state), works, rootWaitsFor: rootWaitOf(state, now) }, lines }
  },

  timeline: async (file, request, look) => {
    const state = await stateOf(file, request)
    const { before = state.seq + 1, limit = 50 } = request
    const page = await file.store.readTimeline({
      graphId: state.graphId,
      beforeSeq: before,
      limit: Math.min(256, limit),
    })
    const more =
      page.omittedBefore === 0
        ? []
        : [`… ${page.omittedBefore} earlier: --before ${page.events.at(-1)?.seq ?? 1}`]
    return { document: page, lines: [...timelineLines(page.events, state, look), ...more] }
  },

  export: async (file, request) => {
    const { format = 'json' } = request
    const state = await stateOf(file, request)
    const text = drawn(state, format)
    return { document: format === 'json' ? exportJson(state) : { format, text }, lines: [text.trimEnd()] }
  },

  metrics: async ({ store }, { words }) => {
    const [meant] = words
    const ids =
      meant === undefined
        ? (await listAll(store)).graphs.map(({ graphId }) => graphId)
        : [await findGraph(store, meant)]
    const metrics = await readMetrics(store, ids)
    return { document: metrics, lines: metricsLines(metrics) }
  },

  'replay-check': async ({ log, store }, { words }, look) => {
    const [meant] = words
    const { graphs, unreadable } = await listAll(store)
    const all = [...graphs, ...unreadable].map(({ graphId }) => graphId)
    const ids = meant === undefined ? all : all.includes(meant) ? [meant] : [await findGraph(store, meant)]
    const findings = []
    for (const graphId of ids) findings.push(await checkReplay(log, graphId))
    const bad = findings.filter(({ verdict }) => verdict !== 'same')
    const lines = findings.map(({ detail, graphId, seq, snapshotSeq, verdict }) =>
      cutTo(
        cleanLine(
          `${verdict.padEnd(10)} ${graphId} seq ${seq}, ${snapshotSeq === undefined ? 'no snapshot' : `snapshot at ${snapshotSeq}`}${detail === undefined ? '' : `: ${detail}`}`,
        ),
        look.columns,
      ),
    )
    return {
      document: { checked: findings.length, bad: bad.length, findings },
      lines: [...lines, `${findings.length} graphs checked, ${bad.length} bad`],
      exitCode: bad.length === 0 ? EXIT.ok : EXIT.found,
    }
  },
}

async function stateOf({ store }: GraphFile, { command, words }: ShellRequest): Promise<GraphState> {
  const [meant] = words
  if (meant === undefined) throw wrongUse(`${command} needs a graph`)
  const graphId = await findGraph(store, meant)
  const state = await store.readGraph(graphId)
  if (state === undefined) throw new Error(`graph ${graphId} vanished while it was read`)
  return state
}

function drawn(state: GraphState, format: string): string {
  switch (format) {
    case 'json':
      return JSON.stringify(exportJson(state), null, 2)
    case 'mermaid':
      return exportMermaid(state)
    case 'dot':
      return exportDot(state)
    default:
      throw wrongUse(`--format is json, mermaid or dot, not "${format}"`)
  }
}
