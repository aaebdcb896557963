/** What a session's log says of its conversation, and a person who takes part in it. */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'

/** A person types. */
export function say(agent: Agent, text: string): void {
  agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
}

type UserMessageEvent = SessionEvent<'user/message'>

/** The messages that opened the turns of a session, with their sources; context of DSH left out. */
export function inputsOf(agent: Agent): readonly { kind: string; text: string; summary?: string }[] {
  return agent.session.events.flatMap((event) => {
    if (event.type !== 'user/message') return []
    const { content, source } = (event as UserMessageEvent).data
    if (source.kind === 'plugin' && source.form === 'snapshot') return []
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    const summary = source.kind === 'plugin' && source.form === 'notice' ? source.summary : undefined
    return [{ kind: source.kind, text, ...(summary === undefined ? {} : { summary }) }]
  })
}

/** How the turns of a session ended, in order; `open` for the one that runs. */
export function turnsOf(agent: Agent): readonly string[] {
  const turns: string[] = []
  for (const event of agent.session.events) {
    if (event.type === 'turn/start') turns.push('open')
    if (event.type === 'turn/end') turns[turns.length - 1] = event.data.reason.kind
  }
  return turns
}

/** Texts of the assistant's messages, in order. */
export function repliesOf(agent: Agent): readonly string[] {
  return agent.session.events.flatMap((event) => {
    if (event.type !== 'assistant/message') return []
    const text = event.data.message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    return text === '' ? [] : [text]
  })
}

/** The wakes that a root got. */
export function wakesOf(agent: Agent): readonly { text: string; summary?: string }[] {
  return inputsOf(agent).filter(({ text }) => text.startsWith('Agent graph '))
}
