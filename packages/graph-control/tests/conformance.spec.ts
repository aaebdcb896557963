import { type DurableLog, memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { type GraphControl, GraphControlError, GraphControlStore } from '../src/index.ts'
import {
  assertGraphControlStoreConformance,
  type Clause,
  findViolations,
  graphControlStoreConformanceChecks,
  graphControlStoreScenarios,
  type OpenGraphStore,
  scheduleSupervisorWakeConformanceChecks,
  graphStoreOnLog,
} from '../src/testing/index.ts'
import { checkReopened, checkWithFaults } from '../src/testing/playback.ts'

type Operations = { [K in keyof GraphControl]?: (inner: GraphControl, ...args: never[]) => unknown }

/** A store that does some operations in its own, wrong way. */
function misbehaving(operations: Operations): OpenGraphStore {
  return async () => {
    const inner = await GraphControlStore.open(memoryLog())
    const store = new Proxy<GraphControl>(inner, {
      get: (target, key) => {
        const own = operations[key as keyof GraphControl] as ((...args: unknown[]) => unknown) | undefined
        const held: unknown = Reflect.get(target, key)
        if (own !== undefined) return (...args: unknown[]) => own(inner, ...args)
        return typeof held === 'function' ? (held as () => unknown).bind(target) : held
      },
    })
    return { store, reopen: async () => store }
  }
}

type Update = Parameters<GraphControl['commitScheduleUpdate']>[0]
type ClaimRequest = Parameters<GraphControl['claimIntent']>[0]
type Provision = Parameters<GraphControl['provisionOperator']>[0]
type Attempt = Parameters<GraphControl['beginSupervisorWakeAttempt']>[0]
type End = Parameters<GraphControl['completeSupervisorWakeAttempt']>[0]
type Schedule = Parameters<GraphControl['scheduleSupervisorWake']>[0]

/** Answers what is there when the store refuses, as a store without that rule would. */
async function forgiving<T>(
  act: Promise<T>,
  codes: readonly string[],
  instead: () => Promise<T>,
): Promise<T> {
  return act.catch((error: unknown) => {
    if (error instanceof GraphControlError && codes.includes(error.code)) return instead()
    throw error
  })
}

const lastUpdate = async (inner: GraphControl, graphId: string) => {
  const update = (await inner.listScheduleUpdates(graphId)).at(-1)
  if (update === undefined) throw new Error('no update')
  return { update, created: true }
}

/** One for each of the 16 clauses: a store that breaks it. */
const BROKEN: Readonly<Record<string, Operations>> = {
  revisions_append_monotonically: {
    listScheduleUpdates: async (inner, graphId: string) =>
      (await inner.listScheduleUpdates(graphId)).toReversed(),
  },
  commit_idempotent_same_id_same_payload: {
    commitScheduleUpdate: async (inner, request: Update) => ({
      ...(await inner.commitScheduleUpdate(request)),
      created: true,
    }),
  },
  rejects_same_update_id_different_payload: {
    commitScheduleUpdate: async (inner, request: Update) =>
      (await inner.readScheduleUpdate(request.graphId, request.updateId)) === undefined
        ? inner.commitScheduleUpdate(request)
        : lastUpdate(inner, request.graphId),
  },
  rejects_different_update_same_source: {
    commitScheduleUpdate: (inner, request: Update) =>
      forgiving(inner.commitScheduleUpdate(request), ['schedule-update-conflict'], () =>
        inner.commitScheduleUpdate({ ...request, source: { ...request.source, runId: 'any' } }),
      ),
  },
  finish_rejected_with_add_work: {
    commitScheduleUpdate: (inner, request: Update) =>
      inner.commitScheduleUpdate(request.finish === undefined ? request : { ...request, addWork: [] }),
  },
  exactly_once_same_activation_identity_on_retry: {
    claimIntent: async (inner, request: ClaimRequest) => {
      const { claim, created } = await inner.claimIntent(request)
      return { claim: { ...claim, targetRunId: request.targetRunId }, created }
    },
  },
  reject_conflicting_intent_or_activation_identity: {
    claimIntent: async (inner, request: ClaimRequest) => {
      const there = await inner.readAgentGraphIntentClaim(request.graphId, request.intentId)
      return there === undefined ? inner.claimIntent(request) : { claim: there, created: false }
    },
  },
  reject_stale_revision_without_writes: {
    claimIntentAtScheduleRevision: (inner, request: ClaimRequest) => inner.claimIntent(request),
  },
  transition_claimed_executing_cancelled: {
    cancelAgentGraphIntentExecution: async (inner, ...args: [string, string, string]) => ({
      ...(await inner.cancelAgentGraphIntentExecution(...args)),
      changed: true,
    }),
  },
  rearm_replay_gate_executing_to_claimed_only: {
    rearmAgentGraphIntentForReplay: async (inner, ...args: [string, string]) => ({
      ...(await inner.rearmAgentGraphIntentForReplay(...args)),
      state: 'claimed',
    }),
  },
  adopt_on_retry_reject_conflicts: {
    provisionOperator: async (inner, request: Provision) => {
      const there = await inner.readOperatorProvision(request.graphId, request.provisionId)
      return there === undefined ? inner.provisionOperator(request) : { provision: there, created: false }
    },
  },
  revision_conditional_and_closure_blocked: {
    provisionOperator: async (inner, request: Provision) => {
      const { revision = 0 } = (await inner.readGraph(request.graphId)) ?? {}
      return inner.provisionOperator({ ...request, expectedScheduleRevision: revision })
    },
  },
  claim_once_attempt_lifecycle_then_deliver: {
    beginSupervisorWakeAttempt: async (inner, request: Attempt) => ({
      ...(await inner.beginSupervisorWakeAttempt(request)),
      acquired: true,
    }),
  },
  refuse_attempt_after_terminal: {
    completeSupervisorWakeAttempt: (inner, request: End) =>
      forgiving(inner.completeSupervisorWakeAttempt(request), ['wake-already-delivered'], async () => {
        const wake = await inner.readSupervisorWake(request.graphId, request.wakeId)
        if (wake === undefined) throw new Error('no wake')
        return { ...wake, status: request.status }
      }),
  },
  schedule_round_trip: {
    readSupervisorWake: async (inner, ...args: [string, string]) => {
      const { dueAt: _, ...wake } = (await inner.readSupervisorWake(...args)) ?? {}
      return wake
    },
  },
  schedule_replay_idempotent: {
    scheduleSupervisorWake: (inner, request: Schedule) =>
      forgiving(inner.scheduleSupervisorWake(request), ['wake-conflict'], async () => {
        const wake = await inner.readSupervisorWake(request.graphId, request.wakeId)
        if (wake === undefined) throw new Error('no wake')
        return { wake, created: false }
      }),
  },
}

const names = (clauses: readonly Clause[]) => clauses.map(({ name }) => name)

describe('the conformance suite', () => {
  it('has 16 clauses under the names that other suites use, and more scenarios beside', () => {
    expect(names(graphControlStoreConformanceChecks).toSorted()).toEqual(Object.keys(BROKEN).toSorted())
    expect(graphControlStoreConformanceChecks).toHaveLength(16)
    expect(names(scheduleSupervisorWakeConformanceChecks)).toEqual([
      'schedule_round_trip',
      'schedule_replay_idempotent',
    ])
    const all = names([...graphControlStoreConformanceChecks, ...graphControlStoreScenarios])
    expect(new Set(all).size).toBe(all.length)
  })

  it('passes the store of this package without a test runner', async () => {
    const clauses = [...graphControlStoreConformanceChecks, ...graphControlStoreScenarios]
    await expect(assertGraphControlStoreConformance(misbehaving({}), clauses)).resolves.toBeUndefined()
  })

  it.each(Object.entries(BROKEN))('names %s for a store that breaks it', async (name, operations) => {
    const violations = await findViolations(misbehaving(operations))
    expect(violations.map(({ clause }) => clause)).toContain(name)
    // Where the promise is one operation's, the others still hold.
    expect(violations.length).toBeLessThan(16)
    await expect(assertGraphControlStoreConformance(misbehaving(operations))).rejects.toThrow(`- ${name}: `)
  })
})

/** Operations that lie about what was done, and which scenarios notice. */
const NOTICED: readonly [string, Operations, readonly string[]][] = [
  [
    'takes updates after the finish',
    {
      commitScheduleUpdate: (inner, request: Update) =>
        forgiving(inner.commitScheduleUpdate(request), ['schedule-closed'], () =>
          lastUpdate(inner, request.graphId),
        ),
    },
    ['closed_graph_refuses_updates_and_claims', 'graph_stays_readable_after_every_refusal'],
  ],
  [
    'passes over what does not fit a graph',
    {
      commitScheduleUpdate: (inner, request: Update) =>
        forgiving(inner.commitScheduleUpdate(request), ['work-conflict', 'draft-conflict'], () =>
          lastUpdate(inner, request.graphId),
        ),
    },
    [
      'work_ids_are_unique_across_updates',
      'finish_needs_works_that_are_over_and_results_that_are_there',
      'replacement_takes_over_what_waits',
      'retry_is_a_new_admission_and_revives_what_was_skipped',
      'draft_runs_nothing_before_its_commit',
    ],
  ],
  [
    'never cascades',
    {
      commitScheduleUpdate: (inner, request: Update) =>
        inner.commitScheduleUpdate({
          ...request,
          stop: request.stop.map(({ targetId, reason }) => ({ targetId, reason })),
        }),
    },
    ['cascade_stops_what_waits_now_and_not_what_comes_later'],
  ],
  [
    'knows no conditions and no items',
    {
      commitScheduleUpdate: (inner, request: Update) =>
        inner.commitScheduleUpdate({
          ...request,
          addWork: request.addWork.map(({ when: _w, forEach: _f, ...rest }) => rest),
        }),
    },
    [
      'work_waits_for_its_inputs_and_is_skipped_when_they_are_lost',
      'for_each_makes_a_work_for_each_record_and_joins_them',
    ],
  ],
  [
    'believes every attempt',
    {
      settleActivation: async (inner, request: Parameters<GraphControl['settleActivation']>[0]) => {
        const claim = (await inner.readGraph(request.graphId))?.claims.get(request.claimId)
        return inner.settleActivation({ ...request, attempt: claim?.attempt ?? request.attempt })
      },
    },
    ['lost_attempt_is_fenced'],
  ],
  [
    'lets any attempt end a wake',
    {
      completeSupervisorWakeAttempt: async (inner, request: End) => {
        const wake = await inner.readSupervisorWake(request.graphId, request.wakeId)
        return inner.completeSupervisorWakeAttempt({
          ...request,
          attemptId: wake?.currentAttemptId ?? request.attemptId,
        })
      },
    },
    ['stale_attempt_completes_nothing'],
  ],
  [
    'supersedes nothing, and counts what it would have',
    { supersedeSupervisorWakes: async () => 1, recoverSupervisorWakes: async () => 1 },
    ['supersession_settles_attempts_and_is_final', 'interrupted_delivery_is_tried_again'],
  ],
  [
    'removes nothing',
    { purge: async () => 1, compact: async () => 1 },
    ['purge_removes_all_of_a_root_and_nothing_else', 'purge_is_refused_while_something_runs'],
  ],
  [
    'adopts any worktree',
    {
      bindOperatorWorktree: (inner, request: Parameters<GraphControl['bindOperatorWorktree']>[0]) =>
        forgiving(inner.bindOperatorWorktree(request), ['binding-conflict'], async () => {
          const [binding] = await inner.listOperatorBindings(request.graphId)
          if (binding === undefined) throw new Error('no binding')
          return { binding, created: false }
        }),
    },
    ['binding_of_the_same_lease_keeps_its_time'],
  ],
  [
    'gives everybody a new epoch',
    {
      advanceEpoch: async (inner, request: Parameters<GraphControl['advanceEpoch']>[0]) => ({
        ...(await inner.advanceEpoch(request)),
        created: true,
      }),
      createGraph: async (inner, request: Parameters<GraphControl['createGraph']>[0]) => ({
        ...(await inner.createGraph(request)),
        created: true,
      }),
    },
    ['epochs_advance_by_compare_and_are_kept', 'registered_graphs_belong_to_one_root'],
  ],
]

describe('the scenarios', () => {
  it.each(NOTICED)('notice a store that %s', async (_, operations, expected) => {
    const broken = await findViolations(misbehaving(operations), graphControlStoreScenarios)
    expect(broken.map(({ clause }) => clause)).toEqual(expect.arrayContaining([...expected]))
  })
})

const [revisions] = graphControlStoreConformanceChecks as [Clause]

/** The suite's own store, on a log that the test spoils. */
const onLog = (spoil: (log: DurableLog) => DurableLog, reopened = (log: DurableLog) => log) =>
  graphStoreOnLog(() => {
    const log = memoryLog()
    return { log: spoil(log), reopen: async () => reopened(log) }
  })

describe('the playback of a clause', () => {
  it('notices a restart that forgets', async () => {
    const forgetting = onLog(
      (log) => log,
      () => memoryLog(),
    )
    await expect(checkReopened(forgetting, revisions)).rejects.toThrow(/strictly equal|deep-equal|no graph/)
    await expect(checkWithFaults(forgetting, revisions)).rejects.toThrow('the end after a restart')
  })

  it('notices a store that hides a fault', async () => {
    const open = onLog((log) => log)
    const hiding: OpenGraphStore = async () => {
      const opened = await open()
      const store = new Proxy(opened.store, {
        get: (target, key) => {
          const held: unknown = Reflect.get(target, key)
          if (key !== 'commitScheduleUpdate')
            return typeof held === 'function' ? (held as () => unknown).bind(target) : held
          return (request: Update) =>
            forgiving(target.commitScheduleUpdate(request), [], () =>
              lastUpdate(target, request.graphId),
            ).catch(() => ({
              update: request,
              created: true,
            }))
        },
      })
      return { ...opened, store }
    }
    await expect(checkWithFaults(hiding, revisions)).rejects.toThrow('hides the fault')
  })
})
