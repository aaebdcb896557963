/**
 * Runs of code graphs that are under way, for pages that show their calls. Owns: listening, while
 * somebody looks, and what a page that comes late has to be told. Does not own: the graphs.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { RunNews } from './wire.ts'

/** News of dsh-graph-runtime, as far as they are used; a profile may lack that package. */
interface Progress {
  readonly tool: string
  readonly phase: 'start' | 'end' | 'error' | 'interrupt' | 'custom'
  readonly node?: string
  readonly error?: string
  readonly callId?: string
  readonly agent?: { readonly id: string }
}

const RUNS = 256
const ERROR_CHARS = 300
/** A page that is loaded anew comes back within this, and wants to hear of what went on. */
const LINGER_MS = 60_000

type Listener = (sessionId: string, news: RunNews) => void

export class CodeRuns {
  private readonly ctx: Context
  private readonly listeners = new Set<Listener>()
  /** By call: its session, and the newest news of each node. */
  private readonly open = new Map<
    string,
    { readonly sessionId: string; readonly news: Map<string, RunNews> }
  >()
  private stop: (() => void) | undefined
  private linger: ReturnType<typeof setTimeout> | undefined

  constructor(ctx: Context) {
    this.ctx = ctx
  }

  /** Tells what is under way in a session, then what comes. @returns the undo. */
  watch(sessionId: string, tell: (news: RunNews) => void): () => void {
    const listener: Listener = (id, news) => {
      if (id === sessionId) tell(news)
    }
    this.listeners.add(listener)
    clearTimeout(this.linger)
    // Graphs that nobody watches run without the cost of being watched.
    this.stop ??= this.listen()
    for (const run of this.open.values())
      if (run.sessionId === sessionId) for (const news of run.news.values()) tell(news)
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      clearTimeout(this.linger)
      this.linger = setTimeout(() => this.close(), LINGER_MS)
      this.linger.unref()
    }
  }

  close(): void {
    clearTimeout(this.linger)
    this.listeners.clear()
    this.stop?.()
    this.stop = undefined
    this.open.clear()
  }

  private listen(): () => void {
    const events = this.ctx as unknown as {
      on(name: string, heard: (progress: Progress) => void): () => unknown
    }
    const off = events.on('graphTools/progress', (progress) => this.heard(progress))
    return () => void off()
  }

  private heard({ tool, phase, node, error, callId, agent }: Progress): void {
    if (callId === undefined || agent === undefined || phase === 'custom') return
    const news: RunNews = {
      callId,
      tool,
      phase,
      at: Date.now(),
      ...(node === undefined ? {} : { node }),
      ...(error === undefined ? {} : { error: error.slice(0, ERROR_CHARS) }),
    }
    this.keep(agent.id, news)
    for (const listener of this.listeners) listener(agent.id, news)
  }

  private keep(sessionId: string, news: RunNews): void {
    const { callId, node, phase } = news
    if (node === undefined && phase !== 'start' && phase !== 'interrupt') return void this.open.delete(callId)
    let run = this.open.get(callId)
    if (run === undefined) {
      if (this.open.size >= RUNS) return
      run = { sessionId, news: new Map() }
      this.open.set(callId, run)
    }
    run.news.set(node ?? '', news)
  }
}
