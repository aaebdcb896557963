/**
 * How the graphs of a session stood when its model last looked: a projection of the session's own log, from
 * the metadata of our tools' results. DSH keeps it, pushes it to pages, and has it before anything of ours
 * is asked; a graph that nobody drives here is known by it all the same.
 *
 * Pure, but for the registration. Nothing of ours is in the log besides that metadata.
 */
import type { Context } from '@deepseek-ai/cordis'
import { GRAPHS_PROJECTION, type ProjectedGraph, type ProjectedGraphs } from './graph-names.ts'
import { readMeta } from './result-meta.ts'

const VERSION = 1
/** Graphs that are kept, the newest ones. */
const KEPT = 16

interface Event {
  readonly type: string
  readonly data: unknown
}

export const NO_GRAPHS: ProjectedGraphs = { graphs: [] }

/** @returns the same object for an event that tells nothing. */
export function afterEvent(state: ProjectedGraphs, { type, data }: Event): ProjectedGraphs {
  if (type !== 'tool/result') return state
  const meta = readMeta((data as { readonly meta?: unknown } | null)?.meta)
  if (meta?.graphId === undefined) return state
  const { graphId } = meta
  const at = state.graphs.findIndex((graph) => graph.graphId === graphId)
  const before = state.graphs[at] ?? { graphId, phase: 'open', works: 0, ended: 0 }
  const graph: ProjectedGraph = {
    graphId,
    phase: meta.phase ?? before.phase,
    works: meta.works ?? before.works,
    ended: meta.ended ?? before.ended,
  }
  const graphs = at < 0 ? [...state.graphs, graph].slice(-KEPT) : state.graphs.with(at, graph)
  return { graphs }
}

/** What came over a wire or out of a cache. @throws TypeError when it is something else. */
export function parseGraphs(value: unknown): ProjectedGraphs {
  const { graphs } = (value ?? {}) as { readonly graphs?: unknown }
  if (!Array.isArray(graphs) || !graphs.every(isGraph))
    throw new TypeError('these are no graphs of a session')
  return { graphs }
}

function isGraph(value: unknown): value is ProjectedGraph {
  const { ended, graphId, phase, works } = (value ?? {}) as Partial<Record<keyof ProjectedGraph, unknown>>
  const isPhase = phase === 'draft' || phase === 'open' || phase === 'closed'
  return typeof graphId === 'string' && isPhase && typeof works === 'number' && typeof ended === 'number'
}

/** DSH's registry, as far as it is used here; what the newer versions want stands beside. */
interface Projections {
  register(definition: object): () => void
}

/** Where the profile has projections; ends with the context. */
export function registerGraphsProjection(ctx: Context): void {
  ctx.inject(['sessionProjections'], (child: Context) => {
    const schema = { parse: parseGraphs }
    const view = (state: ProjectedGraphs): ProjectedGraphs => state
    const { sessionProjections } = child as unknown as { readonly sessionProjections: Projections }
    sessionProjections.register({
      key: GRAPHS_PROJECTION,
      stateVersion: VERSION,
      init: () => NO_GRAPHS,
      apply: afterEvent,
      schema,
      view,
      stateSchema: schema,
      wire: { viewSchema: schema, view },
    })
  })
}
