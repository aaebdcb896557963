/** The store's operations on waits, acknowledgements and wakes. */
import { ActivationOperations } from './activation-operations.ts'
import type { WakeControl } from './port-wakes.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import {
  decideExhaustion,
  decideSeen,
  decideSupersession,
  decideWait,
  decideWake,
  decideWakeAttempt,
  decideWakeRecovery,
  decideWakeSettlement,
  unsettledWakes,
} from './store-wakes.ts'
import type { Wait, Wake, WakeAttempt } from './types.ts'

type Request<K extends keyof WakeControl> = Parameters<WakeControl[K]>[0]

export class WakeOperations extends ActivationOperations implements WakeControl {
  async registerWait(request: Request<'registerWait'>): Promise<Wait> {
    const { graphId, ...checked } = requireShape('registerWait', shapes.wait, request)
    return this.commit(graphId, (state, at) => decideWait(state, checked, at))
  }

  async acknowledgeChanges(graphId: string, changeSeq: number): Promise<void> {
    const checked = requireShape('acknowledgeChanges', shapes.seen, { graphId, changeSeq })
    return this.commit(checked.graphId, (state, at) => decideSeen(state, checked.changeSeq, at))
  }

  async claimSupervisorWake(
    request: Request<'claimSupervisorWake'>,
  ): Promise<{ wake: Wake; created: boolean }> {
    const { graphId, ...checked } = requireShape('claimSupervisorWake', shapes.wake, request)
    return this.commit(graphId, (state, at) => decideWake(state, checked, at))
  }

  async scheduleSupervisorWake(
    request: Request<'scheduleSupervisorWake'>,
  ): Promise<{ wake: Wake; created: boolean }> {
    const { graphId, ...checked } = requireShape('scheduleSupervisorWake', shapes.scheduledWake, request)
    return this.commit(graphId, (state, at) => decideWake(state, checked, at))
  }

  async beginSupervisorWakeAttempt(
    request: Request<'beginSupervisorWakeAttempt'>,
  ): Promise<{ wake: Wake; attempt?: WakeAttempt; acquired: boolean }> {
    const checked = requireShape('beginSupervisorWakeAttempt', shapes.wakeAttempt, request)
    return this.commit(checked.graphId, (state, at) => decideWakeAttempt(state, checked, at))
  }

  async completeSupervisorWakeAttempt(request: Request<'completeSupervisorWakeAttempt'>): Promise<Wake> {
    const checked = requireShape('completeSupervisorWakeAttempt', shapes.wakeSettlement, request)
    return this.commit(checked.graphId, (state, at) => decideWakeSettlement(state, checked, at))
  }

  async exhaustSupervisorWake(graphId: string, wakeId: string, reason: string): Promise<Wake> {
    const checked = requireShape('exhaustSupervisorWake', shapes.exhaustion, { graphId, wakeId, reason })
    return this.commit(checked.graphId, (state, at) => decideExhaustion(state, checked, at))
  }

  async supersedeSupervisorWakes(graphId: string, reason: string): Promise<number> {
    const checked = requireShape('supersedeSupervisorWakes', shapes.supersession, { graphId, reason })
    return this.commit(checked.graphId, (state, at) => decideSupersession(state, checked, at))
  }

  async recoverSupervisorWakes(graphId: string): Promise<number> {
    const id = this.checkId('recoverSupervisorWakes', graphId)
    return this.commit(id, (state, at) => decideWakeRecovery(state, at))
  }

  async readSupervisorWake(graphId: string, wakeId: string): Promise<Wake | undefined> {
    const id = this.checkId('readSupervisorWake', wakeId)
    return (await this.readState('readSupervisorWake', graphId)).wakes.get(id)
  }

  async listSupervisorWakeAttempts(graphId: string, wakeId: string): Promise<readonly WakeAttempt[]> {
    const id = this.checkId('listSupervisorWakeAttempts', wakeId)
    const { index } = await this.readState('listSupervisorWakeAttempts', graphId)
    return [...index.wakeAttempts.values()].filter((attempt) => attempt.wakeId === id)
  }

  async listUnsettledSupervisorWakes(graphId: string): Promise<readonly Wake[]> {
    return unsettledWakes(await this.readState('listUnsettledSupervisorWakes', graphId))
  }

  async listRetryableSupervisorWakes(graphId: string): Promise<readonly Wake[]> {
    const wakes = unsettledWakes(await this.readState('listRetryableSupervisorWakes', graphId))
    return wakes.filter((wake) => wake.status === 'retryable_failed')
  }
}
