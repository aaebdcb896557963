/**
 * What a script sees of a request: its texts, in the forms that patterns are held against. Reads the
 * request and never changes it; each text is made at most once, and only when somebody asks for it.
 */
import { createHash } from 'node:crypto'
import type { ContentBlock, GenerateOptions, Message } from '@deepseek-ai/dsh-llm'

/** A tool result, with the name of the tool that the history gives for its call. */
export interface SeenToolResult {
  readonly name: string
  readonly text: string
}

export class RequestView {
  private readonly options: GenerateOptions
  private conversationText: string | undefined

  constructor(options: GenerateOptions) {
    this.options = options
  }

  /**
   * Which conversation this is: the session, or without one a fingerprint of the system prompt and the
   * first user message. An auxiliary call of the host is a conversation of its own.
   */
  get key(): string {
    const { sessionId, purpose } = this.options
    const key = sessionId ?? `fingerprint:${this.fingerprint()}`
    return purpose === undefined ? key : `${key}#${purpose}`
  }

  get purpose(): GenerateOptions['purpose'] {
    return this.options.purpose
  }

  get system(): string {
    return this.options.system ?? ''
  }

  get toolNames(): readonly string[] {
    return (this.options.tools ?? []).map((tool) => tool.name)
  }

  /** Text of the user messages before the first answer. */
  get firstUser(): string {
    const { messages } = this.options
    const answer = messages.findIndex((message) => message.role === 'assistant')
    return textOf(messages.slice(0, answer === -1 ? messages.length : answer).filter(isUser))
  }

  /** Text of the newest input: what the user side said since the last answer. */
  get lastUser(): string {
    return textOf(this.newestInput())
  }

  /** The last tool result of the newest input. */
  get lastToolResult(): SeenToolResult | undefined {
    for (const message of this.newestInput().toReversed()) {
      for (const block of message.content.toReversed()) {
        if (block.type === 'tool-result') {
          return { name: this.nameOfCall(block.toolCallId), text: textOfBlocks(block.content) }
        }
      }
    }
    return undefined
  }

  /** All messages, one a line. */
  get conversation(): string {
    return (this.conversationText ??= textOf(this.options.messages))
  }

  /** Calls in the history, and the highest number that `prefix` carries in their ids. */
  callsMade(prefix: string): number {
    let count = 0
    let highest = 0
    for (const block of this.calls()) {
      count += 1
      const number = block.id.startsWith(prefix) ? Number(block.id.slice(prefix.length)) : 0
      if (Number.isSafeInteger(number)) highest = Math.max(highest, number)
    }
    return Math.max(count, highest)
  }

  private fingerprint(): string {
    const first = this.options.messages.find(isUser)
    const parts = JSON.stringify([this.system, first === undefined ? '' : textOf([first])])
    return createHash('sha256').update(parts).digest('hex').slice(0, 16)
  }

  private newestInput(): Message[] {
    const answer = this.options.messages.findLastIndex((message) => message.role === 'assistant')
    return this.options.messages.slice(answer + 1).filter(isUser)
  }

  private nameOfCall(id: string): string {
    let name = ''
    for (const block of this.calls()) if (block.id === id) name = block.name
    return name
  }

  private *calls(): Iterable<Extract<ContentBlock, { type: 'tool-call' }>> {
    for (const message of this.options.messages) {
      for (const block of message.content) if (block.type === 'tool-call') yield block
    }
  }
}

function isUser(message: Message): boolean {
  return message.role === 'user'
}

function textOf(messages: readonly Message[]): string {
  return messages.map((message) => textOfBlocks(message.content)).join('\n')
}

function textOfBlocks(blocks: readonly ContentBlock[]): string {
  return blocks.flatMap((block) => textOfBlock(block) ?? []).join('\n')
}

/** Blocks without text, and the model's reasoning, are passed over. */
function textOfBlock(block: ContentBlock): string | undefined {
  switch (block.type) {
    case 'text':
      return block.text
    case 'tool-call':
      return `${block.name}(${block.arguments})`
    case 'tool-result':
      return textOfBlocks(block.content)
    case 'reasoning':
    case 'image':
      return undefined
    default:
      // Block types that other plugins add.
      return undefined
  }
}
