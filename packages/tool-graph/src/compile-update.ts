/** From a checked input and the call it came in to the update that the store commits. Pure. */
import {
  graphUpdateId,
  graphWorkId,
  stableHash,
  type ScheduleUpdateRequest,
  type WorkRequest,
  type WorkTarget,
} from 'dsh-graph-control'
import type { AddWorkInput, GraphCall, UpdateInput } from './types.ts'

/** DSH has no runs of its own, so the turn stands for both ids of the source. */
export function sourceOf(call: GraphCall): ScheduleUpdateRequest['source'] {
  return {
    sessionId: call.sessionId,
    runId: `graph_run_${call.turn}`,
    turnId: `graph_turn_${call.turn}`,
    toolCallId: call.toolCallId,
  }
}

/** The one identity that an item names; the built-in agent when it names none. */
export function targetOf(item: AddWorkInput): WorkTarget {
  if (item.operatorId !== undefined) return { kind: 'operator', id: item.operatorId }
  if (item.graphName !== undefined) return { kind: 'graph', id: item.graphName }
  if (item.subagentId !== undefined) return { kind: 'preset', id: item.subagentId }
  return { kind: 'agent', id: item.agentId ?? 'default' }
}

function workOf(item: AddWorkInput, workId: string): WorkRequest {
  return {
    workId,
    target: targetOf(item),
    instruction: item.instruction,
    inputIds: item.inputIds,
    ...(item.title === undefined ? {} : { title: item.title }),
    ...(item.when === undefined ? {} : { when: item.when }),
    ...(item.forEach === undefined ? {} : { forEach: item.forEach }),
    ...(item.model === undefined ? {} : { model: item.model }),
    ...(item.effort === undefined ? {} : { effort: item.effort }),
    ...(item.args === undefined ? {} : { args: item.args }),
    ...(item.replay === undefined ? {} : { replay: item.replay }),
    ...(item.replaces === undefined ? {} : { replaces: item.replaces }),
    ...(item.selectedResultInputs === undefined ? {} : { selectedResultInputs: item.selectedResultInputs }),
  }
}

/**
 * Compiles one call of `update_agent_graph`. The update id is derived from the call, or from the
 * idempotency key alone, so that a replay commits nothing new; the fingerprint covers the payload
 * and not the call, so that a retry with the same key in a later turn is the same update.
 */
export function compileAgentGraphScheduleUpdate(
  graphId: string,
  call: GraphCall,
  input: UpdateInput,
): ScheduleUpdateRequest {
  const source = sourceOf(call)
  const { idempotencyKey } = input
  const updateId = graphUpdateId({
    graphId,
    ...source,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })
  const payload = {
    addWork: (input.addWork ?? []).map((item, index) =>
      workOf(item, item.workId ?? graphWorkId(updateId, index)),
    ),
    stop: (input.stop ?? []).map(({ targetId, reason, cascadeDownstream }) => ({
      targetId,
      reason,
      ...(cascadeDownstream === undefined ? {} : { cascadeDownstream }),
    })),
    ...((input.retry ?? []).length === 0 ? {} : { retry: input.retry }),
    ...(input.draft === undefined ? {} : { draft: input.draft }),
    ...(input.finish === undefined ? {} : { finish: input.finish }),
  }
  const updateFingerprint = stableHash({ schemaVersion: 1, updateId, graphId, ...payload })
  return { schemaVersion: 1, updateId, updateFingerprint, graphId, source, ...payload }
}
