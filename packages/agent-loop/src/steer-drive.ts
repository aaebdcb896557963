/**
 * Drives one steer: hands its message to the open turn and follows it to the end of the turn that takes
 * it. That turn is another's; it is never cancelled for the steer's sake.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { MessageId } from '@deepseek-ai/dsh-llm'
import type { Session, TurnEndReason } from '@deepseek-ai/dsh-session'
import { Deadline } from './deadline.ts'
import { promptReport } from './prompt-report.ts'
import type { RunControl } from './run-control.ts'
import type { RunRecord, Settlement } from './run-record.ts'
import { ended, LEFT, type RunEnd, type RunnerPorts, type StartedRun } from './runner.ts'
import { readTurn, traceMessage } from './session-trace.ts'
import { endingOfStop, endingOfTurn, failed } from './settlement.ts'
import type { TurnWatch } from './turn-watch.ts'

/**
 * @param hooks `mayHandOver` asks whether the turn still takes something; `onHanded` is called when the
 *   message is with the agent or will not be; `onClaimed` when a turn has it.
 * @returns `parked` when no turn took it: it waits at its place like any other run.
 */
export async function driveSteer(
  run: RunRecord,
  agent: Agent,
  control: RunControl,
  ports: RunnerPorts,
  hooks: {
    readonly mayHandOver: () => boolean
    readonly onHanded: () => void
    readonly onClaimed: () => void
  },
): Promise<RunEnd | 'parked'> {
  const deadline = new Deadline(ports.clock, ports.limitsOf(run), (limit) => control.stop(limit))
  let watch: TurnWatch | undefined
  try {
    // A turn that was cut off has it already: what becomes of that is settled at its place in the queue.
    if (run.attempt > 0 && isTold(run, agent.session)) return 'parked'
    const started = await ports.markStarted(run, 'steer')
    if (started === undefined || control.released) return LEFT
    const message = await ports.compose(started)
    if (message === undefined) return LEFT
    if (control.stopped !== undefined) return ended(endingOfStop(control.stopped))
    if (ports.openers.live(agent.id) !== agent || !hooks.mayHandOver()) return 'parked'
    watch = ports.watcher.watch(agent, message.id, { kind: 'steer', onProgress: () => deadline.progress() })
    void watch.claimed.then(hooks.onClaimed)
    agent.steer(message)
    hooks.onHanded()
    const outcome = await Promise.race([watch.outcome, control.ended])
    if (control.released) return LEFT
    if (outcome === undefined) {
      if (watch.turn === undefined) watch.withdraw()
      return control.stopped === undefined ? LEFT : ended(endingOfStop(control.stopped))
    }
    if (outcome.kind === 'ended') {
      const settlement = await steered(agent.session, outcome, started, ports)
      return ended(await ports.letOut(started.run, agent.session, settlement))
    }
    if (outcome.kind === 'parked') {
      agent.inbox.remove(MessageId(message.id))
      return 'parked'
    }
    if (outcome.kind === 'disposed') return 'parked'
    return ended(endingOfStop({ kind: 'abort', cause: 'the message was taken out of the inbox' }))
  } catch (error) {
    return { kind: 'retry', settlement: failed('send-failed', error) }
  } finally {
    hooks.onHanded()
    watch?.close()
    deadline.close()
  }
}

function isTold({ messageId }: RunRecord, session: Session): boolean {
  const events = session.events.slice(session.header.seedLength ?? 0)
  return traceMessage(events, messageId).kind !== 'absent'
}

async function steered(
  session: Session,
  { turn, reason }: { readonly turn: number; readonly reason: TurnEndReason },
  { run, members }: StartedRun,
  ports: RunnerPorts,
): Promise<Settlement> {
  await ports.flush(session).catch(() => undefined)
  const prompt = promptReport(session, turn, run, members)
  return { ...endingOfTurn(reason), turn, ...readTurn(session.events, turn), prompt }
}
