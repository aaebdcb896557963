/**
 * What a result of the three tools keeps for people who look at the session later: which graph, and
 * how it stood. It is stored with the session and never shown to the model. Pure and small.
 */
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import type { UpdateAnswer, YieldAnswer } from './types.ts'
import type { GraphView } from './view.ts'

/** By this a page tells these results from others. */
export const PRESENTATION_PLUGIN = 'dsh-graph'

type Standing = Pick<GraphView, 'known' | 'graphId' | 'phase' | 'counts'>

function standing({ known, graphId, phase, counts }: Standing): Record<string, JsonValue> {
  return {
    plugin: PRESENTATION_PLUGIN,
    version: 1,
    graphId: known ? graphId : null,
    phase,
    counts: { ...counts },
  }
}

export function presentView(view: Standing): JsonValue {
  return { ...standing(view), call: 'view' }
}

export function presentUpdate({ update, graph }: UpdateAnswer): JsonValue {
  const { revision, created, workIds } = update
  // Of the update itself: a later one may have moved the graph on.
  return {
    ...standing(graph as unknown as Standing),
    call: 'update',
    update: { revision, created, works: workIds.length },
  }
}

export function presentYield({ graphId, deliveredOnIdle, pendingWorkCount, until }: YieldAnswer): JsonValue {
  return {
    plugin: PRESENTATION_PLUGIN,
    version: 1,
    call: 'yield',
    graphId,
    wait: { deliveredOnIdle, pending: pendingWorkCount, until },
  }
}
