/**
 * The vocabulary of replies: what of a run's events a person gets to see. A *payload* is one message to
 * the person; a *block* is a part of it, sent while the model still writes; a *final* is what is left to
 * say when the run is over.
 */
import type { EventBlock, DeliveryReceipt } from '../streams/types.ts'
import type { FinishedCall } from '../streams/turn-translator.ts'

export type BreakPreference = 'paragraph' | 'newline' | 'sentence'

export interface ChunkLimits {
  /** Nothing is cut off before so many characters are there; default 800. */
  readonly minChars: number
  /** No chunk is longer, the fence lines of a split block included; default 1,200, at least 16. */
  readonly maxChars: number
  /** The best place to cut; the ones behind it are taken when there is none. Default `paragraph`. */
  readonly breakPreference: BreakPreference
}

export interface ReplyOptions {
  /**
   * `off` (default): no blocks, the final says it all. `text_end`: blocks as soon as there is enough, and
   * the rest at the end of each text. `message_end`: blocks when the message is complete.
   */
  readonly blocks?: 'off' | 'text_end' | 'message_end'
  readonly chunk?: Partial<ChunkLimits>
  /** `off` (default); `stream`: as thinking deltas; `on`: as a payload before the answer. */
  readonly reasoning?: 'off' | 'stream' | 'on'
  /** Whether a line about each tool call is told; default false. */
  readonly verbose?: boolean
  /** How often the growing text is told at most, milliseconds; default 150; 0 tells each delta. */
  readonly deltaIntervalMs?: number
  /** Whom the answer goes to, thread included; compared with where messaging tools sent theirs. */
  readonly target?: string
  /** The word of a model that has nothing to say; default `NO_REPLY`. */
  readonly silentToken?: string
}

export type PayloadKind = 'error' | 'tool' | 'reasoning' | 'answer'

export interface ReplyPayload {
  readonly kind: PayloadKind
  /** The assistant's message it stems from, from 1; 0 for what the host says. */
  readonly message: number
  readonly text: string
  readonly images: readonly EventBlock[]
}

export type Reply =
  /** The text of the message under way, as far as it is told; replaces the delta before it. */
  | { readonly kind: 'delta'; readonly runId: string; readonly message: number; readonly text: string }
  | { readonly kind: 'thinking'; readonly runId: string; readonly message: number; readonly text: string }
  /** A part of a payload, to be sent now; `index` counts within the run, from 1. */
  | {
      readonly kind: 'block'
      readonly runId: string
      readonly index: number
      readonly payload: ReplyPayload
    }
  /** Text that was told as a delta, or sent as blocks, and is written anew: a request is repeated. */
  | { readonly kind: 'reset'; readonly runId: string; readonly message: number }
  /** Events are gone; the final is still whole where the log has it. */
  | { readonly kind: 'gap'; readonly runId: string }
  /** After the end of the run, once. `payloads` is what no block has said yet. */
  | {
      readonly kind: 'final'
      readonly runId: string
      readonly state: string
      readonly payloads: readonly ReplyPayload[]
      /** Everything that the run said, with or without blocks. */
      readonly all: readonly ReplyPayload[]
    }

/** A tool that sends messages to people, so that its text is not said a second time. */
export interface MessagingTool {
  /** The name of the tool as the model knows it. */
  readonly name: string
  /**
   * What a successful call delivered, or nothing when it sent no message. Called once, with what the
   * model wrote: check it. One that throws is taken for none.
   */
  readonly receipt: (call: FinishedCall) => Omit<DeliveryReceipt, 'message'> | undefined
}
