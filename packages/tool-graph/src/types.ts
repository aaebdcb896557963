/**
 * The vocabulary of the model's door to an agent graph: what a call carries, what a controller
 * answers, and the port through which a controller makes operators run.
 */
import type {
  Claim,
  GraphControl,
  GraphLease,
  GraphState,
  JsonValue,
  Operator,
  TokenUsage,
  Work,
  WorkCondition,
} from 'dsh-graph-control'

import type { GraphLimits } from './limits.ts'

/** Key of the service that holds the controller, or the controllers of many roots. */
export const AGENT_GRAPH_CONTROLLER_SERVICE = 'agentGraphController'

/** Where a tool call comes from, taken from the live execution, never from its arguments. */
export interface GraphCall {
  readonly sessionId: string
  /** Number of the session's current turn; becomes `graph_run_<n>` and `graph_turn_<n>`. */
  readonly turn: number
  readonly toolCallId: string
}

export interface ViewInput {
  readonly graphId?: string
  /** `summary`: counts and what runs, without pages. Default `full`. */
  readonly mode?: 'full' | 'summary'
  readonly cursor?: string
  /** Only what changed after this `seq` of an earlier view. */
  readonly since?: number
  /** Whole conclusions: record ids, or work ids for all records of a work; `@<offset>` for a later page, as answers name it. */
  readonly results?: readonly string[]
  /** What preprocessing dropped or corrected, told in the answer. */
  readonly adjusted?: readonly string[]
}

export interface UpdateInput {
  readonly graphId?: string
  readonly addWork?: readonly AddWorkInput[]
  readonly stop?: readonly StopInput[]
  readonly retry?: readonly { readonly workId: string; readonly reason: string }[]
  /** Record ids, or work ids for the conclusion of a work. */
  readonly finish?: { readonly resultIds: readonly string[]; readonly reason: string }
  readonly draft?: 'open' | 'commit'
  readonly idempotencyKey?: string
  /** What preprocessing dropped or corrected, told in the answer. */
  readonly adjusted?: readonly string[]
}

export interface StopInput {
  readonly targetId: string
  readonly reason: string
  readonly cascadeDownstream?: boolean
}

export interface AddWorkInput {
  readonly workId?: string
  readonly agentId?: string
  readonly subagentId?: string
  /** An operator, or the work that it was provisioned for. */
  readonly operatorId?: string
  readonly graphName?: string
  readonly args?: JsonValue
  readonly instruction: string
  readonly title?: string
  readonly inputIds: readonly string[]
  readonly selectedResultInputs?: readonly { readonly sourceGraphId: string; readonly resultId: string }[]
  readonly when?: WorkCondition
  readonly forEach?: string
  readonly replaces?: string
  readonly replay?: 'safe' | 'confirm' | 'model'
  readonly model?: string
  readonly effort?: string
}

export interface YieldInput {
  readonly graphId?: string
  readonly reason?: string
  /** Wake at the next change (`any`, the default) or when nothing is pending (`all`). */
  readonly until?: 'any' | 'all'
  readonly adjusted?: readonly string[]
}

/** What `update_agent_graph` answers. */
export interface UpdateAnswer {
  readonly update: {
    readonly updateId: string
    readonly revision: number
    readonly committedAt: number
    readonly created: boolean
    /** In the order of `addWork`; as many as fit. */
    readonly workIds: readonly string[]
    readonly omittedWorkIds?: number
  }
  /** What was dropped or corrected before the commit; absent when nothing was. */
  readonly adjusted?: readonly string[]
  /** The counts, and the works of this update. */
  readonly graph: JsonValue
}

/** What `yield_agent_graph` answers. */
export interface YieldAnswer {
  readonly graphId: string
  /**
   * True: the turn ends, and the wake becomes a turn of its own once the session is idle. False:
   * something has changed since the last view already; `changed` shows it, and the turn goes on.
   */
  readonly deliveredOnIdle: boolean
  /** The reserved id of this wait. */
  readonly wakeId: string
  readonly pendingWorkCount: number
  readonly until: 'any' | 'all'
  /** What the session waits for, in words: works, each with what that one waits for; as many as fit. */
  readonly waitingFor: readonly string[]
  readonly moreWaiting?: number
  readonly changed?: JsonValue
  readonly adjusted?: readonly string[]
}

/** The model's door to the graphs of one root session. */
export interface AgentGraphController {
  readonly rootSessionId: string
  view(call: GraphCall, input: ViewInput): Promise<JsonValue>
  update(call: GraphCall, input: UpdateInput): Promise<UpdateAnswer>
  yield(call: GraphCall, input: YieldInput): Promise<YieldAnswer>
}

/** A controller that also drives: what {@link createAgentGraphController} returns. */
export interface DrivingAgentGraphController extends AgentGraphController {
  /** Drives what is open after a restart; resolves when the first pass is through. */
  recover(): Promise<void>
  /** Decides anew what may begin: options that are read when they are needed say something else now. */
  lookAgain(): void
  /** Something can still wake the root: live work, an undelivered change, or an open wake. */
  expectsWake(): boolean
  /** Calls back when {@link expectsWake} may have changed. Returns the undo. */
  watch(listener: () => void): () => void
  /** Resolves when nothing is under way in this process: no pass, no activation, no wake. */
  whenQuiet(): Promise<void>
  /** Stops driving. Activations under way are left to the next process. Idempotent. */
  dispose(): Promise<void>
}

/** Serves many roots from one service. */
export interface AgentGraphControllers {
  forSession(sessionId: string): AgentGraphController | undefined
}

/** The conclusion of an input, handed to an operator as data. */
export interface Handoff {
  readonly workId: string
  readonly recordId: string
  readonly title?: string
  readonly text: string
  readonly truncated: boolean
}

/** One activation that is to run. */
export interface Activation {
  readonly graphId: string
  readonly rootSessionId: string
  readonly work: Work
  readonly operator: Operator
  /** As it stood when this was decided on: `claimed` where the activation begins with it. */
  readonly claim: Claim
  readonly attempt: number
  /** The run of this attempt; stable over restarts. */
  readonly runId: string
}

/**
 * How an activation ended. `interrupted`: the run was lost, and may be tried again. `needs-person`:
 * it was refused something that only a person can allow; it is held until one says so.
 */
export interface ActivationEnd {
  readonly outcome: 'completed' | 'failed' | 'aborted' | 'cancelled' | 'interrupted' | 'needs-person'
  readonly conclusion?: string
  readonly artifacts?: readonly { readonly name: string; readonly text: string }[]
  readonly usage?: TokenUsage
  readonly reason?: string
}

/**
 * Runs operators. Every method is idempotent per run id and safe to repeat after a restart. What
 * `provision` and `start` reject with is tried again with back-off, unless it has `retryable: false`.
 */
export interface GraphExecutor {
  /** Prepares the operator of a work; rejects when its target cannot be had. */
  provision?(work: Work, operator: Operator): Promise<void>
  /** Makes the run durable; resolves when it will happen even after a crash. */
  start(activation: Activation, prompt: string): Promise<void>
  /** Resolves when the run has ended. Rejects only when it cannot be known. */
  observe(activation: Activation, signal: AbortSignal): Promise<ActivationEnd>
  cancel(activation: Activation, reason: string): Promise<void>
}

/** One delivery of a wake. */
export interface WakeDelivery {
  readonly graphId: string
  readonly wakeId: string
  readonly attemptId: string
  /** The attempt was begun earlier, maybe by a process that is gone: its turn may have been made. */
  readonly isResumed: boolean
  readonly message: string
  /** Asked right before the turn is sent: false means that the root has seen it all by now. */
  readonly stillWanted: () => Promise<boolean>
  /** The root's turn stands still until its person answers: the wake says so. Never rejects. */
  readonly park: (reason: string) => Promise<void>
  /** The person has answered. Never rejects. */
  readonly goOn: () => Promise<void>
}

export interface WakeSender {
  /**
   * Makes one turn of the root out of it and resolves when that turn is over.
   * `superseded`: it was no longer wanted. Rejects when the turn failed; the wake is tried again.
   */
  deliver(delivery: WakeDelivery, signal: AbortSignal): Promise<'delivered' | 'superseded'>
}

export interface CatalogEntry {
  readonly id: string
  readonly description?: string
}

/** What a work may ask for. A list that is absent is not checked. */
export interface OperatorCatalog {
  readonly agents: readonly CatalogEntry[]
  readonly presets: readonly CatalogEntry[]
  /** Code graphs that may be operators. */
  readonly graphs?: readonly CatalogEntry[]
  /** Models that a work may name, and the efforts of each; none listed: every effort is accepted. */
  readonly models?: readonly (CatalogEntry & { readonly efforts?: readonly string[] })[]
}

export interface ControllerOptions {
  readonly executor: GraphExecutor
  readonly wakes?: WakeSender
  /** Accepted for compatibility: records are read from the store, which is durable. */
  readonly recordSource?: unknown
  /** Activations that may be under way at once; default 8. */
  readonly maxNewActivations?: number
  /** Ceilings; default: none. */
  readonly limits?: GraphLimits
  /** Default: every agent id is accepted. */
  readonly catalog?: () => OperatorCatalog | Promise<OperatorCatalog>
  /** Why a work could not be done as it is asked for, beyond the catalog. Asked before a commit. */
  readonly checkWork?: (work: AddWorkInput) => Promise<readonly string[]>
  /** Why a code graph would refuse these arguments; empty when it would not. Asked before a commit. */
  readonly checkArgs?: (graphName: string, args: JsonValue | undefined) => readonly string[]
  /** Default: the instruction, then the inputs as delimited data. */
  readonly renderPrompt?: (work: Work, handoffs: readonly Handoff[]) => string
  /** Attempts of an activation whose run was lost, default 3; and of a wake, default 5. */
  readonly maxAttempts?: number
  /** First pause before a lost or refused attempt is made again, milliseconds; it doubles. Default 1,000. */
  readonly retryBackoffMs?: number
  /** How long changes gather before a wake is made, milliseconds; default 250. */
  readonly wakeDelayMs?: number
  /** First pause after a wake that could not be delivered, milliseconds; it doubles. Default 2,000. */
  readonly wakeBackoffMs?: number
  /** What holds up the run of an operator although it has a slot, in words for the model. */
  readonly runWait?: (operator: Operator) => string | undefined
  readonly onError?: (error: unknown, doing: string) => void
}

/** A lease of a root session that this process holds. */
export interface RootLease extends GraphLease {
  /** The store refused a commit for it: another holder commits now. */
  markLost(): void
  /** Resolves when it is held no more, or when the signal fires. */
  whenLost(signal: AbortSignal): Promise<void>
  /** Gives it back. Idempotent; nothing happens to a lost one. */
  release(): Promise<void>
}

/** Where the lease of one root session comes from. */
export interface LeaseSource {
  /** The lease, or `undefined` while another process holds it. */
  acquire(): Promise<RootLease | undefined>
  /** Resolves when it may be had, or when the signal fires. */
  whenFree(signal: AbortSignal): Promise<void>
}

export interface ControllerConfig {
  readonly store: GraphControl
  readonly rootSessionId: string
  /** Where several processes may have the same root: graphs are driven only under a lease of it. */
  readonly leases?: LeaseSource
  /** Accepted for compatibility: every id is derived from what it names. */
  readonly newId?: () => string
  readonly observeGraph?: (state: GraphState) => void
  readonly options: ControllerOptions
}
