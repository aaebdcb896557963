/** The store's operations on the registry: epochs, graphs of the caller's naming, listings. */
import { commit, unchanged } from './decision.ts'
import { graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { summarize } from './graph-summary.ts'
import { isEpochGraphId } from './ids.ts'
import { requireLeaseOf } from './lease-fence.ts'
import type { GraphRegistry } from './port.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import type { GraphEpoch, GraphPage, GraphState, GraphSummary } from './types.ts'
import { WakeOperations } from './wake-operations.ts'

type Request<K extends keyof GraphRegistry> = GraphRegistry[K] extends (request: infer R) => unknown
  ? R
  : never

const DEFAULT_GRAPHS = 50

export class RegistryOperations extends WakeOperations {
  async listEpochs(rootSessionId: string): Promise<readonly GraphEpoch[]> {
    this.requireOpenStore()
    return this.parts.epochs.list(this.checkId('listEpochs', rootSessionId))
  }

  async currentEpoch(rootSessionId: string): Promise<GraphEpoch | undefined> {
    return (await this.listEpochs(rootSessionId)).at(-1)
  }

  async advanceEpoch(request: Request<'advanceEpoch'>): Promise<{ epoch: GraphEpoch; created: boolean }> {
    this.requireOpenStore()
    const checked = requireShape('advanceEpoch', shapes.advance, request)
    this.requireLeaseOf(checked.rootSessionId)
    const { epochs, ledgers, now } = this.parts
    const at = now()
    const advanced = await epochs.advance({ ...checked, at }, async (graphId) => {
      return (await ledgers.read(graphId)).closed
    })
    // Two streams, so a crash may come between: whoever finds the epoch opens its graph.
    await this.openGraph(advanced.epoch.graphId, advanced.epoch.rootSessionId, at)
    return advanced
  }

  async createGraph(request: Request<'createGraph'>): Promise<{ graph: GraphState; created: boolean }> {
    this.requireOpenStore()
    const { graphId, rootSessionId } = requireShape('createGraph', shapes.registration, request)
    this.requireLeaseOf(rootSessionId)
    const at = this.parts.now()
    // The registry first: a graph that is listed and has no root is taken up by the retry.
    const before = await this.readState('createGraph', graphId)
    if (before.rootSessionId === undefined) {
      await this.requireNoEpoch(graphId, rootSessionId)
      await this.parts.registered.add(rootSessionId, graphId, at)
    }
    const created = await this.openGraph(graphId, rootSessionId, at)
    const graph = await this.readState('createGraph', graphId)
    if (graph.rootSessionId === rootSessionId) return { graph, created }
    throw new GraphControlError('graph-exists', `graph ${graphId} belongs to another root session`)
  }

  async listGraphs(request: Request<'listGraphs'> = {}): Promise<GraphPage> {
    this.requireOpenStore()
    const {
      rootSessionId,
      cursor,
      limit = DEFAULT_GRAPHS,
    } = requireShape('listGraphs', shapes.listing, request)
    const page =
      rootSessionId === undefined
        ? await this.parts.ledgers.listIds(cursor, limit)
        : pageOf(await this.graphsOf(rootSessionId), cursor, limit)
    const graphs: GraphSummary[] = []
    const unreadable: { graphId: string; reason: string }[] = []
    for (const graphId of page.ids) {
      try {
        const state = await this.parts.ledgers.read(graphId)
        if (state.seq > 0 && isOf(state, rootSessionId)) graphs.push(summarize(state))
      } catch (error) {
        if (!(error instanceof GraphControlError) || error.code !== 'quarantined') throw error
        unreadable.push({ graphId, reason: error.message })
      }
    }
    return { graphs, unreadable, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) }
  }

  async listOpenGraphs(): Promise<readonly { graphId: string; rootSessionId: string | undefined }[]> {
    this.requireOpenStore()
    return this.parts.ledgers.listOpen()
  }

  /** @returns whether it was opened now. */
  private openGraph(graphId: string, rootSessionId: string, at: number): Promise<boolean> {
    return this.parts.ledgers.commit(
      graphId,
      (state) =>
        state.rootSessionId === undefined
          ? commit(graphEntry('graph/opened', { at, graphId, rootSessionId }), () => true)
          : unchanged(false),
      this.lease,
    )
  }

  /** Names of epochs are given by their roots, and a root that comes later must find its own free. */
  private async requireNoEpoch(graphId: string, rootSessionId: string): Promise<void> {
    if (!isEpochGraphId(graphId)) return
    const epochs = await this.parts.epochs.list(rootSessionId)
    if (epochs.some((epoch) => epoch.graphId === graphId)) return
    throw new GraphControlError(
      'invalid',
      `createGraph refused: graphId ${graphId} is the name of an epoch; choose another, or advance the epoch`,
    )
  }

  /** @throws GraphControlError `invalid` for another root's lease; what the lease throws. */
  protected requireLeaseOf(rootSessionId: string): void {
    if (this.lease !== undefined) requireLeaseOf(this.lease, rootSessionId)
  }

  /** In order of their ids. */
  protected async graphsOf(rootSessionId: string): Promise<readonly string[]> {
    const { epochs, registered } = this.parts
    const ids = (await epochs.list(rootSessionId)).map((epoch) => epoch.graphId)
    return [...new Set([...ids, ...(await registered.list(rootSessionId))])].sort()
  }
}

/** A root may list what it could not open in the end: another root was there first. */
function isOf(state: GraphState, rootSessionId: string | undefined): boolean {
  return rootSessionId === undefined || state.rootSessionId === rootSessionId
}

function pageOf(
  ids: readonly string[],
  cursor: string | undefined,
  limit: number,
): { ids: readonly string[]; cursor?: string } {
  const rest = cursor === undefined ? ids : ids.filter((id) => id > cursor)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return { ids: page, ...(rest.length > page.length && last !== undefined ? { cursor: last } : {}) }
}
