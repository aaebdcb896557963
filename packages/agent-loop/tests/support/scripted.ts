/** Agents whose model plays a script, and what their runs tell. */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { ScriptedLlm, type StepSource } from 'dsh-llm-scripted'
import type { AgentEvent, SubscribeRequest } from '../../src/index.ts'
import type { World } from './world.ts'

/** An agent in this world that answers with these steps, one a request. */
export async function scriptedAgent(
  world: World,
  sessionId: string,
  steps: readonly StepSource[],
): Promise<Agent> {
  const provider = `scripted-${sessionId}`
  const llm = new ScriptedLlm({ tracks: [{ name: sessionId, match: {}, steps }] })
  world.ctx.llm.registerAdapter([provider], llm)
  const { agent } = await world.ctx.agents.create({
    sessionId: SessionId(sessionId),
    agentOptions: { provider, model: 'script' },
  })
  return agent
}

/** Everything a subscription yields until it ends. */
export async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

/** The events of a run that is accepted now, until its end. */
export async function eventsOf(world: World, sessionId: string, message: string): Promise<AgentEvent[]> {
  const runId = await world.accept(sessionId, message)
  return await collect(world.host.subscribe({ runId }))
}

/** `stream/phase` of each event, deltas that follow each other once. */
export function outline(events: readonly AgentEvent[]): string[] {
  const lines = events.map((event) =>
    event.stream === 'gap' ? 'gap' : `${event.stream}/${event.data.phase}`,
  )
  return lines.filter((line, index) => !line.endsWith('/delta') || lines[index - 1] !== line)
}

/** The text of all deltas of one stream. */
export function deltas(events: readonly AgentEvent[], stream: 'assistant' | 'thinking'): string {
  return events
    .flatMap((event) => (event.stream === stream && event.data.phase === 'delta' ? [event.data.delta] : []))
    .join('')
}

/** Whether each event begins where the one before it ended. */
export function isGapless(events: readonly AgentEvent[], after = 0): boolean {
  let position = after
  for (const { firstSeq, seq } of events) {
    if ((firstSeq ?? seq) !== position + 1 || seq < position + 1) return false
    position = seq
  }
  return true
}

/** Reads one event at a time. */
export function reader(world: World, request: SubscribeRequest) {
  const iterator = world.host.subscribe(request)[Symbol.asyncIterator]()
  return {
    next: async (): Promise<AgentEvent> => {
      const { value, done } = await iterator.next()
      if (done === true) throw new Error('the subscription ended')
      return value
    },
    rest: async (): Promise<AgentEvent[]> => {
      const all: AgentEvent[] = []
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
        all.push(next.value)
      }
      return all
    },
    end: async (): Promise<void> => void (await iterator.return?.()),
  }
}
