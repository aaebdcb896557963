/** What every part of the page needs, handed down from its slot. */
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react'
import type { Desk } from './desk.ts'
import type { FeedClient, GraphSource } from './feed-client.ts'
import type { GraphModel } from './graph-model.ts'
import type { Words } from './words.ts'

export interface Page {
  readonly feed: FeedClient
  readonly desk: Desk
  readonly words: Words
  /** Shows the session of an operator. Rejects when DSH cannot. */
  readonly openSession: (rootSessionId: string, sessionId: string) => Promise<void>
}

export const PageContext = createContext<Page | undefined>(undefined)

export function usePage(): Page {
  const page = useContext(PageContext)
  if (page === undefined) throw new Error('this part of the graph page stands outside of it')
  return page
}

export function useModel(source: GraphSource): GraphModel {
  return useSyncExternalStore(source.subscribe, source.getSnapshot)
}

/** The time, once a second while it is wanted. */
export function useNow(isWanted: boolean): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!isWanted) return undefined
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [isWanted])
  return now
}
