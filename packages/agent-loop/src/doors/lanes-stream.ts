/**
 * The lanes and the queues of a host as they move, for a page that shows them: the whole each time, since it
 * is small, and not more often than anybody can read.
 */
import type { Clock } from '../clock.ts'
import type { AgentLoopHost } from '../types.ts'
import type { LanesNews } from './lanes-news.ts'

/** Milliseconds from one look to the next, at least; and as many times as long as a look takes. */
const GAP_MS = 100
const REST = 20
/** Sessions whose queues are told item by item. */
const QUEUES = 32

type Watched = Pick<AgentLoopHost, 'lanes' | 'metrics' | 'queue' | 'watchLanes'>

/** What is there now, then each time something has moved, until the signal. */
export async function* lanesNews(
  host: Watched,
  sessionId: string | undefined,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<LanesNews, void, undefined> {
  let move = Promise.withResolvers<void>()
  const undo = host.watchLanes(() => move.resolve())
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    while (!signal.aborted) {
      move = Promise.withResolvers<void>()
      const began = clock.monotonic()
      const news = await look(host, sessionId)
      const tookMs = clock.monotonic() - began
      yield news
      await Promise.race([move.promise, ended])
      if (!signal.aborted) await pause(clock, Math.max(GAP_MS, REST * tookMs), ended)
    }
  } finally {
    undo()
  }
}

async function look({ lanes, metrics, queue }: Watched, own: string | undefined): Promise<LanesNews> {
  const sessions = lanes()
  const waiting = sessions.filter(({ queued }) => queued.length > 0).map(({ sessionId }) => sessionId)
  const asked = [...new Set([...(own === undefined ? [] : [own]), ...waiting])].slice(0, QUEUES)
  const queues = await Promise.all(
    asked.map(async (sessionId) => ({ sessionId, items: await queue.list(sessionId) })),
  )
  return { lanes: sessions, metrics: metrics(), queues }
}

async function pause(clock: Clock, ms: number, ended: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>()
  const disarm = clock.after(ms, () => over.resolve())
  await Promise.race([over.promise, ended]).finally(disarm)
}
