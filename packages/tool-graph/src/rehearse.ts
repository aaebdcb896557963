/**
 * Whether the first update of a graph that is not there yet would be taken: asked of a store in
 * memory, which has the same rules. Only then is the graph opened, so that a refused update opens
 * none.
 */
import { memoryLog } from 'dsh-durable-log'
import { GraphControlStore, type ScheduleUpdateRequest } from 'dsh-graph-control'

/** @throws GraphControlError what the real store would refuse the update with. */
export async function rehearse(request: ScheduleUpdateRequest): Promise<void> {
  const store = await GraphControlStore.open(memoryLog())
  try {
    await store.commitScheduleUpdate(request)
  } finally {
    await store.close()
  }
}
