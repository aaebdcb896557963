/** Runs, lanes and events in lines for a terminal. Whatever a model or a tool wrote is made harmless. */
import type { AgentEvent, RunOutcome } from 'dsh-agent-loop-host'
import { cleanLine } from '../board/text-width.ts'

const MAX_ARGUMENTS = 120

export function outcomeLines(runId: string, outcome: RunOutcome): readonly string[] {
  const { error, reply, result, state, status } = outcome
  if (status === 'timeout') return [`${runId} is ${state}`]
  const head = error === undefined ? `${runId} ended ${state}` : `${runId} ended ${state}: ${error.message}`
  const payloads = result?.payloads ?? (reply === undefined ? [] : [{ kind: 'answer', text: reply }])
  const said = payloads.flatMap(({ kind, text }) => (kind === 'error' ? [] : text.split('\n')))
  return [cleanLine(head), ...said.map(cleanLine)]
}

/** Nothing for a piece that a later event says again. */
export function eventLines(event: AgentEvent): readonly string[] {
  const at = `${cleanLine(event.runId)} ${event.seq}`
  return bodyLines(event).map((line) => `${at}  ${cleanLine(line)}`)
}

function bodyLines(event: AgentEvent): readonly string[] {
  switch (event.stream) {
    case 'gap':
      return [`events ${event.firstSeq ?? event.seq} to ${event.seq} are gone`]
    case 'lifecycle':
      if (event.data.phase === 'start') return [`attempt ${event.data.attempt} began`]
      return event.data.phase === 'end'
        ? [`ended ${event.data.state}`]
        : [`ended ${event.data.state}: ${event.data.error.message}`]
    case 'assistant':
      if (event.data.phase === 'reset') return ['the model is asked again']
      return event.data.phase === 'message-end' && event.data.text !== '' ? event.data.text.split('\n') : []
    case 'thinking':
      return event.data.phase === 'end' ? [`thought: ${event.data.text}`] : []
    case 'tool':
      if (event.data.phase === 'update') return []
      return event.data.phase === 'start'
        ? [`calls ${event.data.name} ${JSON.stringify(event.data.args).slice(0, MAX_ARGUMENTS)}`]
        : [`${event.data.name} ${event.data.isError ? 'failed' : 'is done'}`]
    case 'compaction':
      return [event.data.phase === 'start' ? 'the session is compacted' : 'the compaction is over']
  }
}
