/** `dsh-agent events`: a line for each event, as it comes or as it is kept. */
import { readStoredEvents, type AgentEvent } from 'dsh-agent-loop-host'
import type { ShellOutput } from '../shell.ts'
import { wrongAgentUse } from './arguments.ts'
import type { AgentShell } from './commands.ts'
import { eventLines } from './lines.ts'
import { onStoredLog } from './stored-log.ts'

/** @param signal ends the following. @throws ShellError. */
export async function tellEvents(
  { hosts, places, request }: AgentShell,
  stdout: ShellOutput,
  signal: AbortSignal,
): Promise<void> {
  const { afterSeq, follow = false, json, session, words } = request
  const [runId] = words
  if (words.length > 1 || (runId === undefined && session === undefined))
    throw wrongAgentUse('events needs one run, or --session')
  const tell = (event: AgentEvent): void => {
    const lines = json === true ? [JSON.stringify(event)] : eventLines(event)
    for (const line of lines) stdout.write(`${line}\n`)
  }
  if (!hosts.areThere && runId !== undefined) {
    await onStoredLog(places.database, async (log) => {
      for await (const event of readStoredEvents(log, runId, afterSeq)) tell(event)
    })
    return
  }
  const asked = {
    ...(runId === undefined ? {} : { runId }),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(afterSeq === undefined ? {} : { afterSeq }),
    follow,
  }
  for await (const event of hosts.stream<AgentEvent>('events', asked, signal)) tell(event)
}
