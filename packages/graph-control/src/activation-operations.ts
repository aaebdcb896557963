/** The store's operations on operators, claims and settlements. */
import type { ActivationControl } from './port-activations.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import { ScheduleOperations } from './schedule-operations.ts'
import {
  decideBegin,
  decideCancel,
  decideClaim,
  decideHold,
  decideRearm,
  decideRetry,
} from './store-claims.ts'
import { decideBinding, decideProvision } from './store-provisions.ts'
import { decideSettle } from './store-settle.ts'
import type {
  AdmissionTransition,
  BindingRequest,
  Claim,
  ClaimRequest,
  GraphRecord,
  Operator,
  OperatorBinding,
  ProvisionRequest,
  SettleRequest,
  Work,
} from './types.ts'

type Request<K extends keyof ActivationControl> = Parameters<ActivationControl[K]>[0]

export class ActivationOperations extends ScheduleOperations implements ActivationControl {
  async provisionOperator(request: ProvisionRequest): Promise<{ provision: Operator; created: boolean }> {
    const checked = requireShape('provisionOperator', shapes.provision, request)
    return this.commit(checked.graphId, (state, at) => decideProvision(state, checked, at))
  }

  async listOperatorProvisions(graphId: string): Promise<readonly Operator[]> {
    return [...(await this.readState('listOperatorProvisions', graphId)).operators.values()]
  }

  async readOperatorProvision(graphId: string, provisionId: string): Promise<Operator | undefined> {
    const id = this.checkId('readOperatorProvision', provisionId)
    const { index, operators } = await this.readState('readOperatorProvision', graphId)
    return operators.get(index.provisions.get(id) ?? '')
  }

  async bindOperatorWorktree(
    request: BindingRequest,
  ): Promise<{ binding: OperatorBinding; created: boolean }> {
    const checked = requireShape('bindOperatorWorktree', shapes.binding, request)
    return this.commit(checked.graphId, (state, at) => decideBinding(state, checked, at))
  }

  async readOperatorBinding(graphId: string, provisionId: string): Promise<OperatorBinding | undefined> {
    const id = this.checkId('readOperatorBinding', provisionId)
    return (await this.readState('readOperatorBinding', graphId)).bindings.get(id)
  }

  async readOperatorBindingByWork(graphId: string, workId: string): Promise<OperatorBinding | undefined> {
    const id = this.checkId('readOperatorBindingByWork', workId)
    const { works, operators, bindings } = await this.readState('readOperatorBindingByWork', graphId)
    const operator = operators.get(works.get(id)?.operatorId ?? '')
    return bindings.get(operator?.provisionId ?? '')
  }

  async listOperatorBindings(graphId: string): Promise<readonly OperatorBinding[]> {
    return [...(await this.readState('listOperatorBindings', graphId)).bindings.values()]
  }

  async claimIntentAtScheduleRevision(
    request: ClaimRequest,
    expectedRevision: number,
  ): Promise<{ claim: Claim; created: boolean }> {
    const checked = requireShape('claimIntentAtScheduleRevision', shapes.claim, request)
    const revision = requireShape('claimIntentAtScheduleRevision', shapes.position, expectedRevision)
    return this.commit(checked.graphId, (state, at) => decideClaim(state, checked, at, revision))
  }

  async claimIntent(request: ClaimRequest): Promise<{ claim: Claim; created: boolean }> {
    const checked = requireShape('claimIntent', shapes.claim, request)
    return this.commit(checked.graphId, (state, at) => decideClaim(state, checked, at))
  }

  async readAgentGraphIntentClaim(graphId: string, intentId: string): Promise<Claim | undefined> {
    const id = this.checkId('readAgentGraphIntentClaim', intentId)
    const { index, claims } = await this.readState('readAgentGraphIntentClaim', graphId)
    const claimId = index.intents.get(id)
    return claimId === undefined ? undefined : claims.get(claimId)
  }

  async listAgentGraphIntentClaims(graphId: string): Promise<readonly Claim[]> {
    return [...(await this.readState('listAgentGraphIntentClaims', graphId)).claims.values()]
  }

  async beginAgentGraphIntentExecutionAtScheduleRevision(
    graphId: string,
    intentId: string,
    expectedRevision: number,
  ): Promise<AdmissionTransition> {
    const request = { graphId, intentId, expectedRevision }
    const checked = requireShape('beginAgentGraphIntentExecution', shapes.begin, request)
    return this.commit(checked.graphId, (state, at) => decideBegin(state, checked, at))
  }

  async rearmAgentGraphIntentForReplay(graphId: string, intentId: string): Promise<AdmissionTransition> {
    const checked = requireShape('rearmAgentGraphIntentForReplay', shapes.intent, { graphId, intentId })
    return this.commit(checked.graphId, (state, at) => decideRearm(state, checked, at))
  }

  async cancelAgentGraphIntentExecution(
    graphId: string,
    intentId: string,
    reason: string,
  ): Promise<AdmissionTransition> {
    const request = { graphId, intentId, reason }
    const checked = requireShape('cancelAgentGraphIntentExecution', shapes.cancellation, request)
    return this.commit(checked.graphId, (state, at) => decideCancel(state, checked, at))
  }

  async retryActivation(
    graphId: string,
    claimId: string,
    lostAttempt: number,
    reason: string,
    options: { notBefore?: number } = {},
  ): Promise<Claim> {
    const later = requireShape('retryActivation', shapes.later, options)
    const request = { graphId, claimId, lostAttempt, reason, ...later }
    const checked = requireShape('retryActivation', shapes.retry, request)
    return this.commit(checked.graphId, (state, at) => decideRetry(state, checked, at))
  }

  async holdActivation(request: Request<'holdActivation'>): Promise<Claim> {
    const checked = requireShape('holdActivation', shapes.hold, request)
    return this.commit(checked.graphId, (state, at) => decideHold(state, checked, at))
  }

  async settleActivation(
    request: SettleRequest,
  ): Promise<{ work: Work; record: GraphRecord | undefined; created: boolean }> {
    const checked = requireShape('settleActivation', shapes.settle, request)
    const { results } = this.parts
    // What another process settled and compacted meanwhile would get its text back from an older state.
    await this.readState('settleActivation', checked.graphId)
    return this.commit(checked.graphId, (state, at) => decideSettle(state, checked, { at, results }))
  }
}
