/**
 * The messages of one routing. They grow by the model's own answer and the reason it was rejected:
 * right behind the answer, one result for each of its calls.
 */
import {
  createAssistantMessage,
  createToolResultMessage,
  createUserMessage,
  type Message,
} from '@deepseek-ai/dsh-llm'
import { clip } from './routing-arguments.ts'
import { LegalBlocks } from './routing-blocks.ts'
import { legalHistory } from './routing-history.ts'
import type { ModelAnswer } from './routing-model.ts'
import type { GraphRoutingHistory } from './routing-types.ts'

/** Longest reason that is sent to the model. */
const REASON_CHARS = 8000

const SOURCE = { kind: 'plugin', plugin: 'dsh-graph-runtime' } as const

/** Where answers come from. */
export interface Route {
  readonly provider: string
  readonly model: string
}

export class RoutingTranscript {
  private readonly blocks = new LegalBlocks()
  private readonly list: Message[]

  constructor(history: GraphRoutingHistory, input: string) {
    this.list = legalHistory(history, this.blocks)
    this.list.push(createUserMessage({ content: [{ type: 'text', text: input }], source: SOURCE }))
  }

  /** The messages so far, for one request. */
  messages(): Message[] {
    return this.list.slice()
  }

  /**
   * Adds a rejected answer.
   *
   * @param reasonOf the reason for each of its calls, by position.
   */
  reject(answer: ModelAnswer, { provider, model }: Route, reasonOf: (position: number) => string): void {
    const content = this.blocks.of(answer.blocks)
    // What an adapter keeps to replay an answer fits that very answer only.
    const untouched = content === answer.blocks && answer.replayState !== undefined
    const source = { provider, model, ...(untouched ? { replayState: answer.replayState } : {}) }
    this.list.push(createAssistantMessage({ content: content.slice(), source }))
    const calls = content.filter((block) => block.type === 'tool-call')
    for (const [position, { id }] of calls.entries()) {
      const text = `Error: ${clip(reasonOf(position), REASON_CHARS)}`
      this.list.push(
        createToolResultMessage({ callId: id, content: [{ type: 'text', text }], isError: true }),
      )
    }
  }
}
