/** What the page knows of the runs of code graphs in one session: which nodes run, ended, failed. */
import type { FeedMessage, PageMessage, RunNews } from '../src/feed/wire.ts'
import type { Mark } from './status.ts'
import { Watchers } from './watchers.ts'

export interface RunNode {
  readonly mark: Mark
  /** How often it began. */
  readonly times: number
  readonly error?: string
}

export interface CodeRun {
  readonly tool: string
  readonly nodes: ReadonlyMap<string, RunNode>
  readonly isOver: boolean
}

export type CodeRuns = ReadonlyMap<string, CodeRun>

export interface RunsSource {
  getSnapshot(): CodeRuns
  subscribe(listener: () => void): () => void
}

const MARKS: Readonly<Record<RunNews['phase'], Mark>> = {
  start: 'running',
  end: 'completed',
  error: 'failed',
  interrupt: 'held',
}

/** Pure: the runs after a piece of news. */
export function afterNews(runs: CodeRuns, { callId, tool, phase, node, error }: RunNews): CodeRuns {
  const before = runs.get(callId) ?? { tool, nodes: new Map<string, RunNode>(), isOver: false }
  const next = new Map(runs)
  if (node === undefined) return next.set(callId, { ...before, isOver: phase === 'end' || phase === 'error' })
  const known = before.nodes.get(node)
  const entry: RunNode = {
    mark: MARKS[phase],
    times: (known?.times ?? 0) + (phase === 'start' ? 1 : 0),
    ...(error === undefined ? {} : { error }),
  }
  return next.set(callId, { ...before, nodes: new Map(before.nodes).set(node, entry) })
}

/** One look of the page's connection at the runs of a session. */
export class RunsLook implements RunsSource {
  readonly key: number
  private readonly sessionId: string
  private readonly watchers: Watchers
  private runs: CodeRuns = new Map()

  constructor(key: number, sessionId: string, onWatched: (look: RunsLook) => void) {
    this.key = key
    this.sessionId = sessionId
    this.watchers = new Watchers(() => onWatched(this))
  }

  readonly getSnapshot = (): CodeRuns => this.runs

  readonly subscribe = (listener: () => void): (() => void) => this.watchers.subscribe(listener)

  get isWatched(): boolean {
    return this.watchers.isWatched
  }

  watch(): PageMessage {
    return { type: 'runs', key: this.key, sessionId: this.sessionId }
  }

  hear(message: FeedMessage): void {
    if (message.type !== 'run') return
    this.runs = afterNews(this.runs, message.news)
    this.watchers.tell()
  }

  /** What was under way is told anew by the next connection. */
  disconnected(): void {
    this.runs = new Map()
  }
}
