/**
 * Where the readers of a subscription come from: the one run it names, or the runs of a session, first
 * those that are over and wanted, then those under way, then each that begins.
 */
import { AgentLoopError } from '../errors.ts'
import type { RunReader } from './run-reader.ts'
import { SessionFeed } from './session-feed.ts'
import type { ReaderSource } from './subscription.ts'
import type { SubscribeRequest } from './types.ts'
import type { Wakes } from './wakes.ts'

/** What a subscription knows of a run. */
export interface SourceRun {
  readonly runId: string
  readonly sessionId: string
  /** Its place among the runs of its session. */
  readonly beganAt: number
  readonly hasBegun: boolean
  readonly isOver: boolean
}

export interface SourcePorts {
  readonly wakes: Wakes
  /** @throws AgentLoopError `closed`. */
  readonly assertOpen: () => void
  readonly find: (runId: string) => Promise<SourceRun | undefined>
  /** In their order. */
  readonly runsOf: (sessionId: string) => readonly SourceRun[]
  readonly reader: (run: { runId: string; sessionId: string }, afterSeq: number) => RunReader
  /** Opens the feed of a session. @returns closes it. */
  readonly follow: (sessionId: string, feed: SessionFeed) => () => void
}

/** The name under which the readers of a run wait. */
export const runNews = (runId: string): string => `run:${runId}`
export const sessionNews = (sessionId: string): string => `session:${sessionId}`

/** A subscription to the run that it names; over when the run is. */
export function runSource({ runId = '', afterSeq = 0 }: SubscribeRequest, ports: SourcePorts): ReaderSource {
  return {
    first: async () => [ports.reader(await known(runId, ports), afterSeq)],
    more: () => {
      ports.assertOpen()
      return []
    },
    isComplete: () => true,
    onNews: (_readers, callback) => ports.wakes.on(runNews(runId), callback),
    ended: () => undefined,
  }
}

/** A subscription to a session; never over by itself. */
export class SessionSource implements ReaderSource {
  private readonly sessionId: string
  private readonly request: SubscribeRequest
  private readonly ports: SourcePorts
  /** Runs that are over, each read when the one before it has been. */
  private past: SourceRun[] = []
  private underWay: SourceRun[] = []
  private feed: SessionFeed | undefined
  private unfollow = (): void => undefined

  constructor(request: SubscribeRequest, ports: SourcePorts) {
    this.sessionId = request.sessionId ?? ''
    this.request = request
    this.ports = ports
  }

  first = async (): Promise<readonly RunReader[]> => {
    const { runId, afterSeq } = this.request
    const named = runId === undefined ? undefined : await known(runId, this.ports)
    if (named !== undefined) this.assertOwn(named)
    const runs = this.ports.runsOf(this.sessionId)
    const wanted = named === undefined ? runs : from(named, runs)
    const isAll = runId !== undefined || afterSeq === 0
    this.past = isAll ? wanted.filter(({ isOver }) => isOver) : []
    this.underWay = wanted.filter(({ isOver, hasBegun }) => !isOver && hasBegun)
    this.feed = new SessionFeed(
      this.sessionId,
      this.underWay.map((run) => run.runId),
    )
    this.unfollow = this.ports.follow(this.sessionId, this.feed)
    return []
  }

  more = (isIdle: boolean): readonly RunReader[] => {
    this.ports.assertOpen()
    const over = isIdle ? this.past.shift() : undefined
    if (over !== undefined) return [this.read(over)]
    if (this.past.length > 0) return []
    const begun = this.underWay.splice(0).map((run) => this.read(run))
    const { sessionId } = this
    const fresh = this.feed?.take() ?? []
    return [...begun, ...fresh.map((runId) => this.ports.reader({ runId, sessionId }, 0))]
  }

  isComplete = (): boolean => false

  onNews = (readers: readonly RunReader[], callback: () => void): (() => void) => {
    const names = [sessionNews(this.sessionId), ...readers.map(({ runId }) => runNews(runId))]
    const undos = names.map((name) => this.ports.wakes.on(name, callback))
    return () => {
      for (const undo of undos) undo()
    }
  }

  ended = (): void => this.unfollow()

  private read(run: SourceRun): RunReader {
    const { runId, afterSeq = 0 } = this.request
    return this.ports.reader(run, run.runId === runId ? afterSeq : 0)
  }

  private assertOwn({ runId, sessionId }: SourceRun): void {
    if (sessionId === this.sessionId) return
    throw new AgentLoopError(
      'invalid',
      `subscribe refused: run ${JSON.stringify(runId)} belongs to session ${JSON.stringify(sessionId)}`,
    )
  }
}

/** The run and those behind it. */
function from(named: SourceRun, runs: readonly SourceRun[]): readonly SourceRun[] {
  const index = runs.findIndex(({ runId }) => runId === named.runId)
  return index < 0 ? [named, ...runs.filter(({ beganAt }) => beganAt > named.beganAt)] : runs.slice(index)
}

async function known(runId: string, ports: SourcePorts): Promise<SourceRun> {
  const run = await ports.find(runId)
  if (run !== undefined) return run
  throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} was ever accepted`)
}
