/**
 * Runs and their events as they lie in a log, for whoever looks where no host runs. Writes nothing and
 * drives nothing.
 */
import type { DurableLog } from 'dsh-durable-log'
import { AgentLoopError } from './errors.ts'
import { RunLedger } from './ledger.ts'
import { viewOf } from './run-record.ts'
import { RunReader } from './streams/run-reader.ts'
import type { AgentEvent } from './streams/types.ts'
import type { RunView } from './types.ts'

/** @returns nothing when no run of this id was ever accepted. @throws what the log throws. */
export async function readStoredRun(log: DurableLog, runId: string): Promise<RunView | undefined> {
  const ledger = ledgerOf(log)
  try {
    const run = await ledger.find(runId)
    return run === undefined ? undefined : viewOf(run)
  } finally {
    await ledger.close()
  }
}

/**
 * The events of a run that the log has, up to the newest. @throws AgentLoopError `run-not-found`, and what
 * the log throws.
 */
export async function* readStoredEvents(
  log: DurableLog,
  runId: string,
  afterSeq = 0,
): AsyncGenerator<AgentEvent, void, undefined> {
  const ledger = ledgerOf(log)
  try {
    const run = await ledger.find(runId)
    if (run === undefined) {
      throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} was ever accepted`)
    }
    const reader = new RunReader(run, afterSeq, {
      log,
      now: () => Date.now(),
      hub: () => undefined,
      find: (id) => ledger.find(id),
    })
    for (let reading = await reader.read(); reading.kind === 'event'; reading = await reader.read()) {
      yield reading.event
    }
  } finally {
    await ledger.close()
  }
}

/** What cannot be read is as if it were not there; it is told to nobody. */
function ledgerOf(log: DurableLog): RunLedger {
  const nothing = (): void => undefined
  return new RunLedger(log, {
    accepted: nothing,
    folded: nothing,
    settled: nothing,
    quarantined: nothing,
    readFailed: nothing,
  })
}
