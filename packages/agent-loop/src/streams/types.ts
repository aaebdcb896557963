/**
 * The vocabulary of a run's events. An *event* has a place in its run, its `seq`; a *delta* is a piece
 * of text as the model wrote it; a *final* says the whole again, and is what the durable log keeps. A
 * *gap* stands for events that are gone.
 */
import type { JsonValue } from 'dsh-durable-log'
import type { RunError, RunState, RunUsage } from '../types.ts'

/** One text or image of a tool's result, after sanitising; never the bytes of an image. */
export type EventBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly id: string; readonly mediaType: string; readonly bytes: number }
  /** A block of another kind, by its name only. */
  | { readonly type: 'other'; readonly kind: string }

/** The first event of a run's turn is `start`; exactly one `end` or `error` is the last of the run. */
export type LifecycleData =
  | { readonly phase: 'start'; readonly attempt: number; readonly startedAt: number }
  | {
      readonly phase: 'end'
      readonly state: RunState
      readonly startedAt?: number
      readonly endedAt: number
      readonly usage?: RunUsage
    }
  | {
      readonly phase: 'error'
      readonly state: RunState
      readonly startedAt?: number
      readonly endedAt: number
      readonly error: RunError
    }

/** `message` counts the assistant's messages of the run, from 1; `block` is the block's place in it. */
export type AssistantData =
  | { readonly phase: 'delta'; readonly message: number; readonly block: number; readonly delta: string }
  /** The whole text of the block, which replaces what the deltas said. Comes once a block. */
  | { readonly phase: 'text-end'; readonly message: number; readonly block: number; readonly text: string }
  /** The whole text of the message, which replaces what came before. Comes once a message. */
  | {
      readonly phase: 'message-end'
      readonly message: number
      readonly text: string
      readonly images: readonly EventBlock[]
      /** How many tools it calls. */
      readonly toolCalls: number
      readonly interrupted?: true
      readonly usage?: RunUsage
    }
  /** Forget what this message said so far: the model is asked again. */
  | {
      readonly phase: 'reset'
      readonly message: number
      readonly reason: 'request-retry' | 'compaction-retry'
    }

export type ThinkingData =
  | { readonly phase: 'delta'; readonly message: number; readonly block: number; readonly delta: string }
  | { readonly phase: 'end'; readonly message: number; readonly block: number; readonly text: string }

/** What a messaging tool delivered, as its registration reads it from the call. */
export interface DeliveryReceipt {
  /** The assistant's message that made the call. */
  readonly message: number
  /** Whom it went to, thread included; absent: the person whom the run's answer goes to. */
  readonly target?: string
  readonly text?: string
  /** Keys of the images or files that went along. */
  readonly media?: readonly string[]
  /** What went out is the answer: texts of this and later messages only confirm it. */
  readonly isAnswer?: boolean
}

export type ToolData =
  | {
      readonly phase: 'start'
      readonly message: number
      readonly callId: string
      readonly name: string
      readonly args: JsonValue
    }
  /** A call that the tool made in its turn, such as a program's. */
  | {
      readonly phase: 'update'
      readonly callId: string
      readonly subCallId: string
      readonly name: string
      readonly state: 'started' | 'done' | 'failed'
    }
  | {
      readonly phase: 'end'
      readonly message: number
      readonly callId: string
      readonly name: string
      readonly isError: boolean
      readonly content: readonly EventBlock[]
      /** The code of the failure, where the tool gave one. */
      readonly code?: string
      readonly receipt?: DeliveryReceipt
    }

export type CompactionData =
  | { readonly phase: 'start'; readonly compactionId: string }
  | {
      readonly phase: 'end'
      readonly compactionId: string
      /** Whether the model is asked again because of it. */
      readonly willRetry: boolean
      readonly error?: string
    }

/** Events that are neither in memory nor in the log: `firstSeq` to `seq` of the envelope. */
export interface GapData {
  readonly reason: 'not-kept'
}

export type EventBody =
  | { readonly stream: 'lifecycle'; readonly data: LifecycleData }
  | { readonly stream: 'assistant'; readonly data: AssistantData }
  | { readonly stream: 'thinking'; readonly data: ThinkingData }
  | { readonly stream: 'tool'; readonly data: ToolData }
  | { readonly stream: 'compaction'; readonly data: CompactionData }

export type StreamName = EventBody['stream']

interface Envelope {
  readonly runId: string
  readonly sessionId: string
  /** Place in the run, from 1, without holes: each event begins where the one before it ended. */
  readonly seq: number
  /** There when the event stands for several: all from `firstSeq` to `seq`. */
  readonly firstSeq?: number
  /** Epoch milliseconds. */
  readonly ts: number
}

/** An event of a run as it happened. */
export type RunEvent = Envelope & EventBody

/** What a subscription yields. */
export type AgentEvent = RunEvent | (Envelope & { readonly stream: 'gap'; readonly data: GapData })

export interface SubscribeRequest {
  /** Events of this run; the subscription ends behind its `end` or `error`. */
  readonly runId?: string
  /**
   * Events of each run of this session, until the signal fires. Begins with the runs that are under
   * way. Order holds within a run.
   */
  readonly sessionId?: string
  /**
   * The `seq` after which to go on; default 0, the beginning. It counts within a run: a session alone
   * takes only 0, which begins with the oldest run that is known. With run and session: after this event
   * of the run, and then the later runs of the session.
   */
  readonly afterSeq?: number
  /** Ends the subscription and nothing else. */
  readonly signal?: AbortSignal
}
