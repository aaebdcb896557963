/**
 * What travels between the host and the page about one graph. Types only: the browser half imports
 * them, and nothing of the host with them.
 *
 * The socket carries the live picture: one page of works after another, then the works that changed.
 * Everything else is asked for over the RPC channel, which DSH itself fences.
 */

/** Path of the socket. */
export type FeedPath = '/dsh-graph-host/feed'

/** A work as the picture needs it; its instruction and its records are asked for one by one. */
export interface WorkCard {
  readonly id: string
  /** Place in order of addition, from 1. */
  readonly ordinal: number
  /** The author's words: the title, or the first words of the instruction. */
  readonly title: string
  readonly status: WorkCardStatus
  /** Who does it, as `agent:default`. */
  readonly target: string
  readonly inputIds: readonly string[]
  /** Absent for one whose session is at work, and for one that is over. */
  readonly waits?: WaitReason
  readonly reason?: string
  readonly attempt?: number
  readonly retries?: number
  /** Epoch milliseconds. */
  readonly addedAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly records: number
  /** The child session it is done in. */
  readonly sessionId?: string
  readonly replacedBy?: string
  /** The `forEach` work that this one does an item of. */
  readonly joinedBy?: string
  readonly items?: { readonly total: number; readonly pending: number }
}

export type WorkCardStatus =
  | 'waiting'
  | 'ready'
  | 'claimed'
  | 'running'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'stopped'
  | 'superseded'
  | 'skipped'

/** Why a work does not go on now. */
export type WaitReason =
  | { readonly for: 'draft' }
  | { readonly for: 'works'; readonly ids: readonly string[]; readonly more: number }
  | { readonly for: 'slot' }
  /** Its run is in line for the lane that all operators of the host share. */
  | { readonly for: 'lane'; readonly lane: string; readonly width: number; readonly depth: number }
  /** Its operator has a slot and is about to begin. */
  | { readonly for: 'start' }
  | { readonly for: 'operator'; readonly workId: string }
  | { readonly for: 'person'; readonly reason: string }
  | { readonly for: 'model'; readonly reason: string }
  | { readonly for: 'time'; readonly at: number }

/** One graph of the root, in order of their epochs. */
export interface EpochCard {
  readonly epoch: number
  readonly graphId: string
  readonly createdAt: number
}

/** The graph as a whole. */
export interface GraphHead {
  readonly graphId: string
  readonly epoch: number
  readonly epochs: readonly EpochCard[]
  /** Position in the graph's stream; a page that comes back names it and gets what it missed. */
  readonly seq: number
  readonly revision: number
  readonly phase: 'draft' | 'open' | 'closed'
  readonly createdAt?: number
  readonly finish?: { readonly reason: string; readonly finishedAt: number; readonly results: number }
  readonly works: number
  readonly pending: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** The root yielded and waits. */
  readonly wait?: { readonly until: 'any' | 'all'; readonly reason?: string; readonly since: number }
  /** Wakes for a time to come, the next one's time. */
  readonly nextWakeAt?: number
}

/** From the page. `key` is the page's own name for what it looks at. */
export type PageMessage =
  | {
      readonly type: 'watch'
      readonly key: number
      readonly sessionId: string
      /** Default: the newest graph of the session, also of epochs to come. */
      readonly graphId?: string
      /** What the page has already; only with the graph it has it of. */
      readonly have?: { readonly graphId: string; readonly seq: number }
    }
  /** Runs of code graphs that a session calls. */
  | { readonly type: 'runs'; readonly key: number; readonly sessionId: string }
  /** Whether a session supervises graphs. */
  | { readonly type: 'supervision'; readonly key: number; readonly sessionId: string }
  | { readonly type: 'unwatch'; readonly key: number }

/** To the page. */
export type FeedMessage =
  /** The session has no graph (yet). */
  | { readonly type: 'none'; readonly key: number }
  /** Forget what was known; `works` follow until `last`. */
  | { readonly type: 'snapshot'; readonly key: number; readonly head: GraphHead }
  | {
      readonly type: 'works'
      readonly key: number
      readonly works: readonly WorkCard[]
      /** Of a snapshot: the last page of it. */
      readonly last?: boolean
      /** The graph's head after them. */
      readonly head: GraphHead
    }
  | { readonly type: 'run'; readonly key: number; readonly news: RunNews }
  /** `null`: the session is not open in this process, or a child. */
  | { readonly type: 'supervision'; readonly key: number; readonly supervised: boolean | null }
  | { readonly type: 'refused'; readonly key: number; readonly code: string; readonly message: string }

/** A run of a code graph, or one of its nodes, began or ended. */
export interface RunNews {
  /** The tool call. */
  readonly callId: string
  readonly tool: string
  readonly phase: 'start' | 'end' | 'error' | 'interrupt'
  readonly node?: string
  readonly error?: string
  readonly at: number
}

/** A code graph as it can be drawn. */
export interface CodeGraphCard {
  readonly name: string
  readonly description: string
  readonly nodes: readonly {
    readonly name: string
    readonly description?: string
    readonly subgraph: boolean
  }[]
  readonly edges: readonly {
    readonly from: string
    /** Absent where the graph picks any node while it runs. */
    readonly to?: string
    readonly conditional: boolean
    readonly label?: string
  }[]
  /** Why something is missing. */
  readonly note?: string
}

/** The RPC channel and what it answers, by endpoint. */
export interface FeedCalls {
  /** A ticket for one connection of the socket. */
  readonly ticket: { readonly ask: object; readonly answer: { readonly ticket: string } }
  readonly work: {
    readonly ask: { readonly sessionId: string; readonly graphId: string; readonly workId: string }
    readonly answer: WorkDetail
  }
  readonly result: {
    readonly ask: {
      readonly sessionId: string
      readonly graphId: string
      readonly recordId: string
      readonly offset: number
    }
    readonly answer: {
      readonly text: string
      readonly offset: number
      readonly nextOffset?: number
      readonly totalChars: number
    }
  }
  readonly timeline: {
    readonly ask: {
      readonly sessionId: string
      readonly graphId: string
      /** Events after this position. */
      readonly afterSeq: number
    }
    readonly answer: { readonly events: readonly TimelineCard[]; readonly omittedAfter: number }
  }
  /** The code graphs that are tools of every session, by name. */
  readonly codeGraphs: { readonly ask: object; readonly answer: { readonly names: readonly string[] } }
  readonly codeGraph: {
    readonly ask: { readonly name: string }
    readonly answer: CodeGraphCard
  }
  /** A person switches it, for good. Idempotent. */
  readonly supervise: {
    readonly ask: { readonly sessionId: string; readonly supervised: boolean }
    readonly answer: { readonly supervised: boolean | null }
  }
  readonly stop: {
    readonly ask: {
      readonly sessionId: string
      readonly graphId: string
      /** Absent: everything. */
      readonly workId?: string
      readonly cascade?: boolean
      /** The page's own name for this click: the same one again commits nothing more. */
      readonly click: string
    }
    readonly answer: Done
  }
  readonly retry: {
    readonly ask: {
      readonly sessionId: string
      readonly graphId: string
      readonly workId: string
      readonly click: string
    }
    readonly answer: Done
  }
  /** Ends the hold of an attempt that was lost or refused: it runs again. */
  readonly confirm: {
    readonly ask: {
      readonly sessionId: string
      readonly graphId: string
      readonly workId: string
      /** The attempt the person saw. */
      readonly attempt: number
    }
    readonly answer: Done
  }
}

/** What was done, in a sentence. */
export interface Done {
  readonly said: string
}

export type FeedEndpoint = keyof FeedCalls

/** Everything about one work. */
export interface WorkDetail {
  readonly card: WorkCard
  readonly instruction: string
  readonly model?: string
  readonly effort?: string
  readonly replay: 'safe' | 'confirm' | 'model'
  readonly when: 'all' | 'any' | 'always'
  readonly retryReason?: string
  readonly records: readonly RecordCard[]
}

export interface RecordCard {
  readonly recordId: string
  readonly kind: 'conclusion' | 'artifact'
  readonly name?: string
  readonly summary: string
  readonly bytes: number
  readonly committedAt: number
}

/** One event of the history, with the works it is about. */
export interface TimelineCard {
  readonly seq: number
  readonly kind: string
  readonly at: number
  readonly workIds: readonly string[]
  /** What replays the picture: the status that those works had from then on. */
  readonly status?: WorkCardStatus
  /** A few words: an outcome, a reason, a time. */
  readonly note?: string
}
