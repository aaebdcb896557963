/**
 * Ending open runs on request: those that wait are settled at once, those under way are stopped and
 * settle when their turn ends.
 */
import { AgentLoopError } from './errors.ts'
import type { Lanes } from './lanes.ts'
import type { RunLedger } from './ledger.ts'
import type { RunRecord } from './run-record.ts'
import type { RunWriter } from './run-writer.ts'
import { endingOfStop } from './settlement.ts'

export interface AbortPorts {
  readonly ledger: RunLedger
  readonly lanes: Lanes
  readonly writer: RunWriter
}

export interface AbortRequest {
  readonly runId?: string | undefined
  readonly sessionId?: string | undefined
  readonly cause?: string | undefined
}

/**
 * @returns the open runs that were touched.
 * @throws `invalid` for a run of another session, or what the log throws; then a run that waited waits
 *   again.
 */
export async function abortRuns(
  { ledger, lanes, writer }: AbortPorts,
  request: AbortRequest,
): Promise<{ aborted: boolean; runIds: readonly string[] }> {
  const stop = { kind: 'abort' as const, cause: request.cause }
  const runs = await openRunsOf(ledger, request)
  const isUnderWay = (run: RunRecord): boolean => lanes.control(leaderOf(run)) !== undefined
  // All leave the queue first: otherwise the lane would promote one while the others are settled.
  const waited = runs.filter((run) => lanes.remove(run))
  for (const run of runs) lanes.control(leaderOf(run))?.stop(stop)
  const idle = runs.filter((run) => !isUnderWay(run))
  try {
    for (const run of idle) await writer.settle(run, endingOfStop(stop), false)
  } catch (error) {
    for (const run of waited) if (ledger.get(run.runId)?.settled === undefined) lanes.enqueue(run)
    throw error
  }
  return { aborted: runs.length > 0, runIds: runs.map((run) => run.runId) }
}

/** The run in whose turn a run is told; its own as a rule. */
function leaderOf(run: RunRecord): string {
  return run.leader ?? run.runId
}

async function openRunsOf(
  ledger: RunLedger,
  { runId, sessionId }: AbortRequest,
): Promise<readonly RunRecord[]> {
  if (runId === undefined) {
    const stream = ledger.stream(sessionId ?? '')
    await stream.refresh()
    const { fold } = stream
    return fold.open().flatMap((id) => fold.get(id) ?? [])
  }
  const run = await ledger.find(runId)
  if (run === undefined || run.settled !== undefined) return []
  if (sessionId !== undefined && sessionId !== run.sessionId) {
    throw new AgentLoopError(
      'invalid',
      `abort refused: run ${JSON.stringify(runId)} belongs to session ${JSON.stringify(run.sessionId)}`,
    )
  }
  // The turn of several runs ends for all of them.
  const leader = ledger.get(leaderOf(run)) ?? run
  const members = leader.members.flatMap((id) => ledger.get(id) ?? [])
  return [leader, ...members].filter((one) => one.settled === undefined)
}
