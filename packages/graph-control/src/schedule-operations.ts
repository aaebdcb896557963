/** The store's operations on updates. */
import { updateOf } from './kept-updates.ts'
import type { ScheduleControl } from './port.ts'
import * as shapes from './request-shapes.ts'
import { requireShape } from './request-shapes.ts'
import { StoreBase } from './store-base.ts'
import { decideUpdate } from './store-schedule.ts'
import type { ScheduleUpdate, ScheduleUpdateRequest } from './types.ts'

export class ScheduleOperations extends StoreBase implements ScheduleControl {
  async commitScheduleUpdate(
    request: ScheduleUpdateRequest,
  ): Promise<{ update: ScheduleUpdate; created: boolean }> {
    this.requireOpenStore()
    const checked = requireShape('commitScheduleUpdate', shapes.scheduleUpdate, request)
    return this.commit(checked.graphId, async (state, at) =>
      decideUpdate(state, checked, at, state.seq === 0 ? await this.rootOf(checked) : undefined),
    )
  }

  async listScheduleUpdates(graphId: string): Promise<readonly ScheduleUpdate[]> {
    const { index, works } = await this.readState('listScheduleUpdates', graphId)
    return Array.from(index.updates.values(), (update) => updateOf(update, works))
  }

  async readScheduleUpdate(graphId: string, updateId: string): Promise<ScheduleUpdate | undefined> {
    const id = this.checkId('readScheduleUpdate', updateId)
    const { index, works } = await this.readState('readScheduleUpdate', graphId)
    const update = index.updates.get(id)
    return update === undefined ? undefined : updateOf(update, works)
  }

  /** The root whose epoch names this graph, where the update's own session is that root. */
  private async rootOf(request: ScheduleUpdateRequest): Promise<string | undefined> {
    const { sessionId } = request.source
    const epochs = await this.parts.epochs.list(sessionId)
    return epochs.some((epoch) => epoch.graphId === request.graphId) ? sessionId : undefined
  }
}
