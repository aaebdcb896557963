/** The reference: all graphs, the roots they belong to, what is let go, and leases. */
import { isLive, newGraph, type RefGraph } from './graph.ts'
import { open } from './schedule.ts'
import { done, kept, refused, type Verdict } from './verdict.ts'

export interface RefWorld {
  graphs: RefGraph[]
  /** Graph ids by root, in order of the epochs. */
  epochs: Record<string, string[]>
  /** Graph ids by root, in order of registration. */
  registered: Record<string, string[]>
}

export interface RefLease {
  readonly rootSessionId: string
  readonly epoch: number
  readonly holderId: string
}

export function newWorld(): RefWorld {
  return { graphs: [], epochs: {}, registered: {} }
}

/** The graph of this id, empty where nothing was committed to it. */
export function graphOf(world: RefWorld, graphId: string): RefGraph {
  const known = world.graphs.find((graph) => graph.graphId === graphId)
  if (known !== undefined) return known
  const graph = newGraph(graphId)
  world.graphs.push(graph)
  return graph
}

/** Whatever an operation does, done under a lease. */
export function underLease(graph: RefGraph, lease: RefLease | undefined, act: () => Verdict): Verdict {
  if (lease === undefined) return act()
  if (graph.root !== undefined && graph.root !== lease.rootSessionId) return refused('invalid')
  if (graph.fence !== undefined && graph.fence.epoch > lease.epoch) return refused('lease-lost')
  const verdict = act()
  if ('wrote' in verdict && verdict.wrote) take(graph, lease)
  return verdict
}

/** @returns whether that was news. */
export function take(graph: RefGraph, { epoch, holderId }: RefLease): boolean {
  if (graph.fence !== undefined && graph.fence.epoch >= epoch) return false
  graph.fence = { epoch, holderId }
  graph.seq += 1
  return true
}

export function advance(
  world: RefWorld,
  root: string,
  asked: { expected: number; graphId: string; at: number },
): Verdict {
  const epochs = (world.epochs[root] ??= [])
  const { expected, graphId, at } = asked
  const isThere = epochs.length === expected + 1
  if (!isThere && epochs.length !== expected) return refused('epoch-conflict')
  const current = epochs.at(-1)
  if (!isThere && current !== undefined && graphOf(world, current).finish === undefined)
    return refused('graph-exists')
  if (!isThere) epochs.push(graphId)
  const graph = graphOf(world, graphId)
  if (graph.root === undefined) open(graph, root, at)
  return done({ created: !isThere })
}

export function create(world: RefWorld, graphId: string, root: string, at: number): Verdict {
  const graph = graphOf(world, graphId)
  if (graph.root !== undefined)
    return graph.root === root ? kept({ created: false }) : refused('graph-exists')
  const isEpoch = graphId.startsWith('agent_graph_')
  if (isEpoch && !(world.epochs[root] ?? []).includes(graphId)) return refused('invalid')
  ;(world.registered[root] ??= []).push(graphId)
  open(graph, root, at)
  return done({ created: true })
}

export function idsOf(world: RefWorld, keep: (graph: RefGraph) => boolean): string[] {
  return world.graphs
    .filter((graph) => graph.seq > 0 && keep(graph))
    .map((graph) => graph.graphId)
    .sort()
}

export function purge(world: RefWorld, root: string): Verdict {
  const own = world.graphs.filter((graph) => graph.root === root)
  if (own.some((graph) => graph.claims.some(isLive))) return refused('work-conflict')
  world.graphs = world.graphs.filter((graph) => graph.root !== root)
  delete world.epochs[root]
  delete world.registered[root]
  return done()
}

export function compact(world: RefWorld, root: string): Verdict {
  for (const graph of world.graphs) {
    if (graph.root !== root || graph.finish === undefined || graph.claims.some(isLive)) continue
    const { resultIds } = graph.finish
    graph.texts = Object.fromEntries(Object.entries(graph.texts).filter(([id]) => resultIds.includes(id)))
  }
  return done()
}
