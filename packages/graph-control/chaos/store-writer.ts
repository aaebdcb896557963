/**
 * The process that is killed: drives the graphs of three roots at once, each as a supervisor, a driver
 * and an operator would, for ever, and notes each acknowledged transition before it goes on. Finished
 * graphs are followed by the next epoch. Arguments: path of the log, path of the notes, path of the
 * phases, label of the round, seed, aim, occurrence.
 *
 * It tells its phases, and asks to be killed at its aim (aimed-writer.ts). It goes on from what it
 * finds, so each round also is a recovery.
 *
 * Lines of the notes: `ack <graph> <transition>` (transitions.ts), `epoch <root> <number> <graph>`.
 */
import { openSync, writeSync } from 'node:fs'
import { type DurableLog, sqliteLog } from 'dsh-durable-log'
import { type Random, randomFrom } from 'dsh-durable-log/testing'
import {
  type Claim,
  graphClaimId,
  GraphControlStore,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  type GraphState,
  graphUpdateId,
  graphWakeAttemptId,
  graphWakeId,
  reconcile,
  type ScheduleUpdateRequest,
  stableHash,
  type WorkRequest,
} from '../src/index.ts'
import { AimedWriter } from '../../durable-log/chaos/aimed-writer.ts'
import type { Phase } from '../../durable-log/chaos/phases.ts'
import { ROOTS, textOf } from './transitions.ts'

const [path = '', notesPath = '', phasesPath = '', label = '', seed = '0', aim = '', occurrence = '1'] =
  process.argv.slice(2)
/** A finished graph of so many entries gets a snapshot. */
const LONG_ENOUGH = 70

const notes = openSync(notesPath, 'a')
const writer = new AimedWriter(phasesPath, aim, { occurrence: Number(occurrence), seed: Number(seed) })
const enter = (phase: Phase): void => writer.enter(phase)

enter('opening')
const log = sqliteLog({ path })
const store = await GraphControlStore.open(telling(log))
await store.listOpenGraphs()
enter('between')

/** The log, telling of the time between the call of an append and its transaction. */
function telling(inner: DurableLog): DurableLog {
  return {
    append: (...request) => {
      const append = inner.append(...request)
      enter('append')
      return append
    },
    read: (...request) => inner.read(...request),
    list: (...request) => inner.list(...request),
    saveSnapshot: (...request) => inner.saveSnapshot(...request),
    loadSnapshot: (...request) => inner.loadSnapshot(...request),
    remove: (...request) => inner.remove(...request),
    subscribe: (...request) => inner.subscribe(...request),
    close: () => inner.close(),
  }
}

function note(line: string): void {
  writeSync(notes, `${line}\n`)
  enter('between')
}

class Lane {
  private readonly root: string
  private readonly random: Random
  private calls = 0

  constructor(root: string, random: Random) {
    this.root = root
    this.random = random
  }

  async driveForEver(): Promise<never> {
    for (;;) {
      const epoch = (await store.currentEpoch(this.root)) ?? (await this.advance(0))
      // An epoch that was found may have been left before its graph was opened.
      const state = (await store.readGraph(epoch.graphId)) ?? (await this.adopt(epoch.epoch))
      if (state.closed) await this.advance(epoch.epoch)
      else await this.step(state)
    }
  }

  private async advance(expectedEpoch: number) {
    const { epoch } = await store.advanceEpoch({ rootSessionId: this.root, expectedEpoch })
    note(`epoch ${this.root} ${epoch.epoch} ${epoch.graphId}`)
    return epoch
  }

  private async adopt(epoch: number): Promise<GraphState> {
    const { graphId } = await this.advance(epoch - 1)
    const state = await store.readGraph(graphId)
    if (state === undefined) throw new Error(`graph ${graphId} was opened and is not there`)
    return state
  }

  /** What is to be done next, some of it, or something new. */
  private async step(state: GraphState): Promise<void> {
    const actions = reconcile(state, { maxNewActivations: 4 })
    const action = actions.length > 0 ? this.random.pick(actions) : undefined
    if (action?.kind === 'provision') return this.provision(state, action.workId)
    if (action?.kind === 'claim') return this.claim(state, action.workId, action.operatorId)
    if (action?.kind === 'wake') return this.wake(state, action.snapshotVersion)
    if (action?.kind === 'deliver') return this.deliver(state, action.wakeId)
    const claim = action !== undefined && 'claimId' in action ? state.claims.get(action.claimId) : undefined
    if (action?.kind === 'start' && claim !== undefined) return this.begin(state, claim)
    if (action?.kind === 'observe' && claim !== undefined) return this.goOn(state, claim)
    if (action?.kind === 'cancel' && claim !== undefined) return this.settle(state, claim, 'cancelled')
    if (state.seq >= LONG_ENOUGH && state.counts.pending === 0) return this.finish(state)
    return this.schedule(state)
  }

  private async schedule(state: GraphState): Promise<void> {
    const known = [...state.works.keys()]
    const addWork = Array.from({ length: 1 + this.random.below(4) }, (_, index): WorkRequest => {
      const inputs = known.length > 0 && this.random.below(2) === 0 ? [this.random.pick(known)] : []
      const each = inputs[0] !== undefined && this.random.below(4) === 0 ? { forEach: inputs[0] } : {}
      return {
        workId: `${label}-${state.seq}-${index}`,
        target: { kind: 'agent', id: 'a' },
        instruction: 'x'.repeat(this.random.below(2000)) + label,
        inputIds: inputs,
        when: 'always',
        ...each,
      }
    })
    const pending = [...state.live.pending.keys()]
    const isStopping = pending.length > 0 && this.random.below(6) === 0
    const stop = isStopping ? [{ targetId: this.random.pick(pending), reason: 'enough' }] : []
    await this.update(state, { addWork, stop })
  }

  private finish(state: GraphState): Promise<void> {
    const resultIds = [...state.records.keys()].slice(0, 3)
    return this.update(state, { finish: { resultIds, reason: 'done' } })
  }

  private async update(state: GraphState, parts: Partial<ScheduleUpdateRequest>): Promise<void> {
    const { graphId } = state
    const toolCallId = `${label}-${(this.calls += 1)}`
    const source = { sessionId: this.root, runId: 'graph_run_1', turnId: 'graph_turn_1', toolCallId }
    const updateId = graphUpdateId({ graphId, ...source })
    const payload = { addWork: [], stop: [], ...parts }
    const request = { updateId, updateFingerprint: stableHash(payload), graphId, source, ...payload }
    await store.commitScheduleUpdate({ schemaVersion: 1, ...request })
    note(`ack ${graphId} update:${updateId}`)
  }

  private async provision({ graphId, revision }: GraphState, workId: string): Promise<void> {
    const operatorId = graphOperatorId(graphId, workId)
    const provisionId = graphProvisionId(graphId, workId)
    await store.provisionOperator({
      provisionId,
      provisionFingerprint: stableHash({ workId }),
      graphId,
      workId,
      operatorId,
      targetSessionId: graphOperatorSessionId(graphId, operatorId),
      initialTurnId: `${provisionId}_turn`,
      initialRunId: `${provisionId}_run`,
      expectedScheduleRevision: revision,
    })
    note(`ack ${graphId} provision:${provisionId}`)
  }

  private async claim({ graphId, operators, revision }: GraphState, workId: string, operatorId: string) {
    const intentId = graphIntentId(graphId, workId)
    const claimId = graphClaimId(graphId, intentId)
    await store.claimIntentAtScheduleRevision(
      {
        schemaVersion: 1,
        claimId,
        graphId,
        intentId,
        workId,
        intentFingerprint: stableHash({ workId }),
        targetOperatorId: operatorId,
        targetSessionId: operators.get(operatorId)?.targetSessionId ?? '',
        targetTurnId: `${claimId}_turn`,
        targetRunId: `${claimId}_run`,
      },
      revision,
    )
    note(`ack ${graphId} claim:${claimId}`)
  }

  private async begin({ graphId, revision }: GraphState, { claimId, intentId }: Claim): Promise<void> {
    await store.beginAgentGraphIntentExecutionAtScheduleRevision(graphId, intentId, revision)
    note(`ack ${graphId} begin:${claimId}`)
  }

  private async goOn(state: GraphState, claim: Claim): Promise<void> {
    if (this.random.below(8) > 0) {
      return this.settle(state, claim, this.random.below(5) === 0 ? 'failed' : 'completed')
    }
    const { graphId } = state
    const { attempt } = await store.retryActivation(graphId, claim.claimId, claim.attempt, 'lost')
    note(`ack ${graphId} retry:${claim.claimId}:${attempt}`)
  }

  private async settle({ graphId }: GraphState, claim: Claim, outcome: 'completed' | 'failed' | 'cancelled') {
    const { claimId, attempt } = claim
    const conclusion = textOf(claimId)
    const artifacts = ['one', 'two'].map((name) => ({ name, text: conclusion }))
    await store.settleActivation({ graphId, claimId, attempt, outcome, conclusion, artifacts })
    note(`ack ${graphId} settle:${claimId}`)
    // Somebody reads what was left.
    const recordId = (await store.readGraph(graphId))?.claims.get(claimId)?.recordId
    if (recordId !== undefined) await store.readResult(graphId, recordId)
    enter('between')
  }

  private async wake({ graphId }: GraphState, snapshotVersion: number): Promise<void> {
    const wakeId = graphWakeId(graphId, snapshotVersion)
    await store.claimSupervisorWake({ graphId, wakeId, snapshotVersion, rootSessionId: this.root })
    note(`ack ${graphId} wake:${wakeId}`)
  }

  private async deliver({ graphId, wakes }: GraphState, wakeId: string): Promise<void> {
    const wake = wakes.get(wakeId)
    if (wake?.currentAttemptId !== undefined) {
      const attemptId = wake.currentAttemptId
      await store.completeSupervisorWakeAttempt({ graphId, wakeId, attemptId, status: 'delivered' })
      return note(`ack ${graphId} wake-settled:${wakeId}`)
    }
    const attemptId = graphWakeAttemptId(wakeId, (wake?.attempts ?? 0) + 1)
    await store.beginSupervisorWakeAttempt({ graphId, wakeId, attemptId })
    note(`ack ${graphId} wake-attempt:${attemptId}`)
  }
}

await Promise.all(ROOTS.map((root, lane) => new Lane(root, randomFrom(Number(seed) + lane)).driveForEver()))
