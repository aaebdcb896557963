/** The chat-completions wire as the tests read it: one received request, and what it shows. */

export interface WireToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface WireMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[] | null
  readonly tool_calls?: readonly WireToolCall[]
  readonly tool_call_id?: string
}

export interface WireTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: object }
}

/** A request body. */
export interface WireBody {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly tools?: readonly WireTool[]
  readonly stream?: boolean
}

export function textOf(message: WireMessage | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('')
}

/** A request as it came over the wire. */
export class WireRequest {
  /** Position among all requests, from 0. */
  readonly index: number
  readonly body: WireBody

  constructor(index: number, body: WireBody) {
    this.index = index
    this.body = body
  }

  /** Names of the tools that the model was offered. */
  get toolNames(): readonly string[] {
    return (this.body.tools ?? []).map((tool) => tool.function.name)
  }

  get system(): string {
    return this.body.messages
      .filter(({ role }) => role === 'system')
      .map(textOf)
      .join('\n')
  }

  get last(): WireMessage | undefined {
    return this.body.messages.at(-1)
  }

  /** Texts of the user messages, oldest first. */
  get userTexts(): readonly string[] {
    return this.body.messages.filter(({ role }) => role === 'user').map(textOf)
  }

  /** What was said last to the model. DSH's own snapshots of the runtime context are left out. */
  get lastSaid(): string {
    return this.userTexts.findLast((text) => !text.startsWith('Current runtime context.')) ?? ''
  }

  /** The tool call that the last message answers. */
  get answeredCall(): { readonly name: string; readonly result: string } | undefined {
    const { last } = this
    if (last?.role !== 'tool') return undefined
    const call = this.body.messages
      .flatMap((message) => message.tool_calls ?? [])
      .find(({ id }) => id === last.tool_call_id)
    return call === undefined ? undefined : { name: call.function.name, result: textOf(last) }
  }

  /** Results of all calls of one tool, oldest first. */
  resultsOf(tool: string): readonly string[] {
    const ids = new Set(
      this.body.messages
        .flatMap((message) => message.tool_calls ?? [])
        .filter((call) => call.function.name === tool)
        .map(({ id }) => id),
    )
    return this.body.messages
      .filter(
        ({ role, tool_call_id }) => role === 'tool' && tool_call_id !== undefined && ids.has(tool_call_id),
      )
      .map(textOf)
  }
}
