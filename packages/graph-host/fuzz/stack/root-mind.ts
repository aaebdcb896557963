/**
 * The model of a root session: decides at random what happens to its graph, until its decisions are used
 * up; then it waits for what is pending and finishes. It outlives the processes, as a model does.
 */
import type { GraphState, Work } from 'dsh-graph-control'
import type { Random } from 'dsh-durable-log/testing'
import { choreOf, instructionOf } from './chores.ts'

export type Decision =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string; readonly args: object }
  | { readonly kind: 'fail' }

export interface RootMindOptions {
  readonly rootId: string
  readonly random: Random
  readonly budget: number
  readonly epochs: number
  readonly faults: number
}

/** Calls of one turn; a model that never ends its turn is not what is simulated here. */
const MAX_CALLS = 6
const END = new Set(['failed', 'cancelled', 'stopped', 'skipped'])

export class RootMind {
  readonly rootId: string
  private readonly random: Random
  private readonly budgetOfEpoch: number
  private budget: number
  private epochs: number
  private faults: number
  private calls = 0
  private works = 0

  constructor({ rootId, random, budget, epochs, faults }: RootMindOptions) {
    this.rootId = rootId
    this.random = random
    this.budgetOfEpoch = budget
    this.budget = budget
    this.epochs = epochs
    this.faults = faults
  }

  /** Nothing is left to decide once the graph is finished. */
  get isDone(): boolean {
    return this.epochs === 1
  }

  /** A new task of the person's, after a graph was finished. */
  nextTask(): void {
    this.epochs -= 1
    this.budget = this.budgetOfEpoch
  }

  thinkingMs(): number {
    return this.random.pick([0, 0, 20, 400, 3_000])
  }

  /** @param isNewTurn the request is the first of its turn. */
  decide(state: GraphState | undefined, isNewTurn: boolean): Decision {
    if (isNewTurn) this.calls = 0
    if (this.faults > 0 && this.random.below(8) === 0) {
      this.faults -= 1
      return { kind: 'fail' }
    }
    // A model that ends its turn over a question to it is not asked again.
    const isOver = this.calls >= MAX_CALLS && !hasQuestion(state)
    if (state?.phase === 'draft' && !isOver) return this.call('update_agent_graph', { draft: 'commit' })
    if (isOver) return { kind: 'say', text: 'enough for now' }
    if (this.calls >= MAX_CALLS && state !== undefined) return this.rest(state)
    if (state === undefined || state.closed) {
      // What was cut off before it was kept did not happen: the first graph is opened in any case.
      return this.budget > 0 || state === undefined ? this.open() : { kind: 'say', text: 'all is finished' }
    }
    if (this.budget > 0) return this.act(state)
    if (state.counts.pending === 0) return this.finish(state)
    return this.rest(state)
  }

  private call(tool: string, args: object): Decision {
    this.calls += 1
    return { kind: 'call', tool, args }
  }

  private open(): Decision {
    this.budget = Math.max(0, this.budget - 1)
    const addWork = this.newWorks(undefined)
    const draft = this.random.below(5) === 0 ? { draft: 'open' } : {}
    return this.call('update_agent_graph', { addWork, ...draft })
  }

  private act(state: GraphState): Decision {
    this.budget -= 1
    const works = [...state.works.values()]
    const ended = works.filter(({ status }) => END.has(status))
    const live = works.filter(({ workId }) => state.live.pending.has(workId))
    const reason = `${this.rootId} wants it`
    switch (this.random.below(10)) {
      case 0:
        if (live.length === 0) break
        return this.call('update_agent_graph', {
          stop: [
            {
              targetId: this.random.below(5) === 0 ? 'graph' : this.random.pick(live).workId,
              reason,
              ...(this.random.below(3) === 0 ? { cascadeDownstream: true } : {}),
            },
          ],
        })
      case 1:
      case 2:
        if (ended.length === 0) break
        return this.call('update_agent_graph', {
          retry: [{ workId: this.random.pick(ended).workId, reason }],
        })
      case 3:
        return this.call('view_agent_graph', this.random.pick([{}, { mode: 'summary' }, { since: 0 }]))
      case 4:
        if (live.length === 0) break
        return this.rest(state)
      case 5:
        return this.call('ask_user_question', { ms: this.random.pick([0, 20, 4_000, 30_000]) })
      default:
        break
    }
    const held = this.retryHeld(state)
    if (held !== undefined) return held
    return this.call('update_agent_graph', { addWork: this.newWorks(state) })
  }

  /** Waits for what is pending and not for itself, or just stops talking, as models do. */
  private rest(state: GraphState): Decision {
    const held = this.retryHeld(state)
    if (held !== undefined) return held
    if (this.random.below(3) === 0) return { kind: 'say', text: 'waiting' }
    return this.call('yield_agent_graph', this.random.below(3) === 0 ? { until: 'all' } : {})
  }

  private finish(state: GraphState): Decision {
    const completed = [...state.works.values()].filter(
      ({ status, recordIds }) => status === 'completed' && recordIds.length > 0,
    )
    const resultIds = completed.length === 0 ? [] : [this.random.pick(completed).recordIds[0]]
    return this.call('update_agent_graph', { finish: { resultIds, reason: 'done' } })
  }

  /** Lets a work go on that waits for the model's word. */
  private retryHeld(state: GraphState): Decision | undefined {
    for (const claimId of state.live.claims.keys()) {
      const claim = state.claims.get(claimId)
      if (claim?.hold?.kind !== 'model') continue
      const retry = [{ workId: claim.workId, reason: 'it may run again' }]
      return this.call('update_agent_graph', { retry })
    }
    return undefined
  }

  private newWorks(state: GraphState | undefined): readonly object[] {
    const known = state === undefined ? [] : [...state.works.values()].filter((work) => !isItem(work))
    const fresh: { workId: string; isList: boolean }[] = []
    const added: object[] = []
    for (let count = 1 + this.random.below(4); count > 0; count -= 1) {
      const workId = `w${(this.works += 1)}`
      added.push(this.newWork(workId, known, fresh))
      fresh.push({ workId, isList: 'graphName' in (added.at(-1) ?? {}) })
    }
    return added
  }

  private newWork(
    workId: string,
    known: readonly Work[],
    fresh: readonly { workId: string; isList: boolean }[],
  ): object {
    const { random } = this
    const candidates = [
      ...known.map((work) => ({ workId: work.workId, isList: work.target.kind === 'graph' })),
      ...fresh,
    ]
    const inputs = candidates.filter(() => random.below(3) === 0).slice(0, 4)
    const lists = inputs.filter(({ isList }) => isList)
    const replaceable = known.filter((work) => work.replacedBy === undefined)
    const operators = known.filter((work) => work.operatorId !== undefined && work.target.kind === 'agent')
    const kind = random.below(10)
    return {
      workId,
      instruction: instructionOf(choreOf(random, this.rootId, workId)),
      ...(inputs.length === 0
        ? {}
        : { inputIds: inputs.map((input) => input.workId), when: random.pick(['all', 'any', 'always']) }),
      ...(lists.length > 0 && random.below(2) === 0 ? { forEach: random.pick(lists).workId } : {}),
      ...(replaceable.length > 0 && random.below(8) === 0
        ? { replaces: random.pick(replaceable).workId }
        : {}),
      replay: random.pick(['safe', 'safe', 'safe', 'model', 'confirm']),
      ...(kind < 2 ? this.listing() : {}),
      ...(kind >= 8 && operators.length > 0
        ? { targetKind: 'existing_operator', operatorId: random.pick(operators).workId }
        : {}),
    }
  }

  private listing(): object {
    const { random } = this
    const args = { items: random.below(4), ms: random.pick([0, 30, 4_000]), fails: random.below(6) === 0 }
    return { targetKind: 'code_graph', graphName: 'listing', args }
  }
}

function hasQuestion(state: GraphState | undefined): boolean {
  if (state === undefined) return false
  return [...state.live.claims.keys()].some((id) => state.claims.get(id)?.hold?.kind === 'model')
}

function isItem({ joinedBy }: Work): boolean {
  return joinedBy !== undefined
}
