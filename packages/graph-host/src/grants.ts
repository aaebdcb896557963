/**
 * What a person allowed an operator beyond its scope, for one work: tools whose approval it gets without
 * anybody being asked. Kept beside the results of the graph, so that it goes with them.
 */
import type { DurableLog } from 'dsh-durable-log'
import type { GraphControl, GraphState } from 'dsh-graph-control'
import { GraphHostError } from './errors.ts'

const MAX_TOOLS = 32
const TOOL_CHARS = 200

export interface Confirmation {
  readonly rootSessionId: string
  readonly workId: string
  /** Why, in the person's words. */
  readonly reason: string
  /** Tools that the operator may use although each use asks for approval. */
  readonly allowTools?: readonly string[]
}

export class Grants {
  private readonly log: DurableLog | undefined

  constructor(log: DurableLog | undefined) {
    this.log = log
  }

  async of(graphId: string, claimId: string): Promise<ReadonlySet<string>> {
    const entries = (await this.log?.read(streamOf(graphId, claimId))) ?? []
    return new Set(entries.flatMap(({ type, data }) => (type === 'granted' ? toolsOf(data) : [])))
  }

  /**
   * A person lets a held work go on, with a wider scope if they say so. What they allow is durable
   * before the work goes on.
   *
   * @throws GraphHostError `nothing-to-confirm`, `invalid-grant`.
   */
  async confirm(store: GraphControl, confirmation: Confirmation): Promise<void> {
    const { rootSessionId, workId, reason, allowTools = [] } = confirmation
    const epoch = await store.currentEpoch(rootSessionId)
    const state = epoch === undefined ? undefined : await store.readGraph(epoch.graphId)
    const claim = heldClaim(state, workId)
    if (state === undefined || claim === undefined)
      throw new GraphHostError('nothing-to-confirm', `work "${workId}" does not wait for a person`)
    const bad =
      allowTools.length > MAX_TOOLS || allowTools.some((tool) => tool === '' || tool.length > TOOL_CHARS)
    if (bad)
      throw new GraphHostError(
        'invalid-grant',
        `at most ${MAX_TOOLS} tools can be allowed, each by its name of at most ${TOOL_CHARS} characters`,
      )
    if (allowTools.length > 0 && this.log !== undefined)
      await this.log.append(streamOf(state.graphId, claim.claimId), 'any', [
        { type: 'granted', data: { v: 1, tools: [...allowTools] } },
      ])
    const allowed = allowTools.length === 0 ? '' : ` (allowed: ${allowTools.join(', ')})`
    await store.retryActivation(state.graphId, claim.claimId, claim.attempt, `${reason}${allowed}`)
  }
}

function heldClaim(state: GraphState | undefined, workId: string) {
  const claimId = state?.works.get(workId)?.claimId
  const claim = claimId === undefined ? undefined : state?.claims.get(claimId)
  return claim?.hold === undefined ? undefined : claim
}

function streamOf(graphId: string, claimId: string): string {
  return `result/${graphId}/granted:${claimId}`
}

/** An entry that is none grants nothing. */
function toolsOf(data: unknown): readonly string[] {
  const tools = typeof data === 'object' && data !== null && 'tools' in data ? data.tools : undefined
  return Array.isArray(tools) ? tools.filter((tool): tool is string => typeof tool === 'string') : []
}
