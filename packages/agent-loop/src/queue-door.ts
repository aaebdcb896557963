/** The queue of a session by hand: listing, cancelling, clearing, reordering. Every change is durable. */
import { AgentLoopError } from './errors.ts'
import type { Lanes } from './lanes.ts'
import type { RunLedger } from './ledger.ts'
import type { QueueDoor, QueuedItem } from './queue-types.ts'
import { previewOf, type RunFold } from './run-fold.ts'
import { isPending, type RunRecord } from './run-record.ts'
import type { RunWriter } from './run-writer.ts'
import { endingOfStop } from './settlement.ts'
import type { Steering } from './steering.ts'

export interface QueueDoorPorts {
  readonly ledger: RunLedger
  readonly lanes: Lanes
  readonly steering: Steering
  readonly writer: RunWriter
  readonly assertOpen: () => void
}

export function queueDoor({ ledger, lanes, steering, writer, assertOpen }: QueueDoorPorts): QueueDoor {
  const isWaiting = (run: RunRecord | undefined): run is RunRecord =>
    run !== undefined &&
    run.settled === undefined &&
    !steering.isOnItsWay(run) &&
    lanes.control(run.runId) === undefined &&
    (lanes.isQueued(run.runId) || (isPending(run) && !lanes.has(run)))

  const cancel = async (run: RunRecord, cause: string): Promise<boolean> => {
    if (!isWaiting(run)) return false
    const wasHere = lanes.remove(run)
    try {
      await writer.settle(run, endingOfStop({ kind: 'abort', cause }), false)
      return true
    } catch (error) {
      if (wasHere) lanes.enqueue(run)
      throw error
    }
  }

  const waitingIn = (fold: RunFold): readonly RunRecord[] =>
    fold
      .open()
      .flatMap((runId) => fold.get(runId) ?? [])
      .filter(isWaiting)

  return Object.freeze({
    async list(sessionId: string) {
      assertOpen()
      const stream = ledger.stream(sessionId)
      await stream.refresh()
      const open = stream.fold.open().flatMap((runId) => stream.fold.get(runId) ?? [])
      const waiting = open.filter((run) => isWaiting(run) || steering.isOnItsWay(run))
      const items = waiting.map((run) => itemOf(run, steering.isOnItsWay(run)))
      return [...items, ...stream.fold.drops().map((drop): QueuedItem => ({ ...drop, status: 'dropped' }))]
    },

    async cancel(runId: string) {
      assertOpen()
      const run = await ledger.find(runId)
      return run !== undefined && (await cancel(run, 'taken out of the queue'))
    },

    async clear(sessionId: string) {
      assertOpen()
      const stream = ledger.stream(sessionId)
      await stream.refresh()
      const cleared: string[] = []
      for (const run of waitingIn(stream.fold)) {
        if (await cancel(run, 'the queue was cleared')) cleared.push(run.runId)
      }
      return cleared
    },

    async move(runId: string, before?: string) {
      assertOpen()
      const run = await ledger.find(runId)
      const other = before === undefined ? undefined : await ledger.find(before)
      if (other !== undefined && run !== undefined && other.sessionId !== run.sessionId) {
        throw new AgentLoopError(
          'invalid',
          `move refused: runs ${runId} and ${before} are of different sessions`,
        )
      }
      if (!isWaiting(run) || (before !== undefined && !isWaiting(other))) return false
      const isMoved = await ledger.stream(run.sessionId).transact((fold) => {
        const waits = (id: string): boolean => isWaiting(fold.get(id))
        if (!waits(runId) || (before !== undefined && !waits(before))) return { result: false }
        const data = { v: 1 as const, runId, ...(before === undefined ? {} : { before }) }
        return { entries: [{ type: 'queue/moved', data }], result: true }
      })
      if (isMoved) lanes.move(runId, before)
      return isMoved
    },
  } satisfies QueueDoor)
}

function itemOf(run: RunRecord, isOnItsWay: boolean): QueuedItem {
  const { runId, acceptedAt, request, retryAt } = run
  return {
    runId,
    status: isOnItsWay ? 'steering' : retryAt === undefined ? 'queued' : 'deferred',
    mode: request?.mode ?? 'followup',
    acceptedAt,
    preview: previewOf(request?.message ?? ''),
    ...(request?.expiresAt === undefined ? {} : { expiresAt: request.expiresAt }),
    ...(retryAt === undefined ? {} : { retryAt }),
  }
}
