/** The history of a graph, read page by page and then as it grows. */
import { useEffect, useState } from 'react'
import type { TimelineCard } from '../src/feed/wire.ts'
import { usePage } from './page.ts'

/** While a graph moves it is asked this often. */
const LOOK_MS = 1_000

interface History {
  readonly graphId: string
  readonly events: readonly TimelineCard[]
}

/** @param seq how far the graph is; the history is read up to there. */
export function useTimeline(sessionId: string, graphId: string, seq: number): readonly TimelineCard[] {
  const { desk } = usePage()
  const [history, setHistory] = useState<History>({ graphId, events: [] })
  const events = history.graphId === graphId ? history.events : NONE
  const known = events.at(-1)?.seq ?? 0
  useEffect(() => {
    if (known >= seq) return undefined
    let isWanted = true
    const read = () => {
      desk('timeline', { sessionId, graphId, afterSeq: known }).then(
        (page) => {
          if (isWanted && page.events.length > 0)
            setHistory((before) => ({
              graphId,
              events: [...(before.graphId === graphId ? before.events : NONE), ...page.events],
            }))
        },
        // The next change asks again.
        () => undefined,
      )
    }
    const timer = setTimeout(read, known === 0 ? 0 : LOOK_MS)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
    // A graph that moves on while a page is awaited must not put the reading off for ever.
  }, [desk, sessionId, graphId, known, seq > known])
  return events
}

const NONE: readonly TimelineCard[] = []
