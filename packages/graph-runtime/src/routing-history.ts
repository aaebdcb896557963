/**
 * Makes any list of messages one that a provider accepts before a new request. A history is often cut
 * out of a running turn: its last tool calls have no results yet, or the calls of its first results
 * were cut off. Providers answer both with an error.
 */
import {
  createMessage,
  createToolResultMessage,
  type CallId,
  type ContentBlock,
  type Message,
  type ToolResultBlock,
} from '@deepseek-ai/dsh-llm'
import type { LegalBlocks } from './routing-blocks.ts'
import type { GraphRoutingHistory } from './routing-types.ts'

/** A call that waits for its result. */
interface OpenCall {
  /** Its id in the history, by which the result names it. */
  readonly given: string
  readonly id: CallId
}

const NO_RESULT = '(no result)'

class HistoryReader {
  readonly legal: Message[] = []
  private readonly blocks: LegalBlocks
  private open: OpenCall[] = []

  constructor(blocks: LegalBlocks) {
    this.blocks = blocks
  }

  read(message: Message): void {
    const results = message.content.filter((block) => block.type === 'tool-result')
    const [only, ...more] = results
    for (const result of results) {
      const call = this.take(result)
      if (call === undefined) continue
      const whole = more.length === 0 && message.content.length === 1 && call.id === only?.toolCallId
      this.legal.push(whole ? message : resultMessage(call.id, result.content, result.isError === true))
    }
    this.say(message, results.length === 0 ? message.content : spokenOf(message))
  }

  /** Answers the calls that nobody answered. */
  close(): void {
    for (const { id } of this.open)
      this.legal.push(resultMessage(id, [{ type: 'text', text: NO_RESULT }], true))
    this.open = []
  }

  /** The call that a result answers, which is then no longer open. */
  private take({ toolCallId }: ToolResultBlock): OpenCall | undefined {
    const at = this.open.findIndex(({ given }) => given === String(toolCallId))
    return at < 0 ? undefined : this.open.splice(at, 1)[0]
  }

  private say(message: Message, content: readonly ContentBlock[]): void {
    const stray = message.role !== 'assistant' && content.some((block) => block.type === 'tool-call')
    const spoken = stray ? content.filter((block) => block.type !== 'tool-call') : content
    const blocks = this.blocks.of(spoken)
    if (blocks.length === 0) return
    this.close()
    this.legal.push(blocks === message.content ? message : withContent(message, blocks))
    this.open = openCalls(spoken, blocks)
  }
}

function spokenOf({ content }: Message): ContentBlock[] {
  return content.filter((block) => block.type !== 'tool-result')
}

/** The calls of an answer under both ids. Making it legal keeps the order of its calls. */
function openCalls(given: readonly ContentBlock[], legal: readonly ContentBlock[]): OpenCall[] {
  const ids = given.flatMap((block) => (block.type === 'tool-call' ? String(block.id) : []))
  const calls = legal.filter((block) => block.type === 'tool-call')
  return calls.map(({ id }, at) => ({ given: ids[at] ?? '', id }))
}

function resultMessage(callId: CallId, content: ContentBlock[], isError: boolean): Message {
  return createToolResultMessage({ callId, content, isError })
}

/** The message with other content, and without what an adapter kept to replay the old one. */
function withContent({ role, source }: Message, content: readonly ContentBlock[]): Message {
  const plain =
    source.kind === 'model' ? { kind: source.kind, provider: source.provider, model: source.model } : source
  return createMessage({ role, content: content.slice(), source: plain })
}

/** The same conversation with every tool call answered once, right behind it, and no result without a call. */
export function legalHistory(history: GraphRoutingHistory, blocks: LegalBlocks): Message[] {
  const reader = new HistoryReader(blocks)
  for (const message of history) reader.read(message)
  reader.close()
  return reader.legal
}
