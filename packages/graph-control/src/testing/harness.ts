/**
 * What the suite needs of a store and of a test runner. Imports no test runner, so any one with
 * `describe` and `it` will do.
 */
import type { DurableLog } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import type { GraphControl } from '../port.ts'
import { GraphControlStore } from '../store.ts'

/** `describe` and `it` of the caller's test runner. */
export interface TestApi {
  describe(title: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
}

/** Where a write of the medium fails: nothing is written then, or it is and its answer gets lost. */
export type FaultPlace = 'before' | 'after'

/** The medium under a store, as a test meddles with it. */
export interface StoreMedium {
  /** How many writes were asked for so far. */
  writes(): number
  /** Makes the n-th write fail, counted as {@link writes} does, once. */
  failWrite(n: number, place: FaultPlace): void
  /** Puts into the graph what no store wrote. */
  damage(graphId: string): Promise<void>
}

/** A fresh, empty store. */
export interface OpenedGraphStore {
  readonly store: GraphControl
  /** Stands for a crash and a restart: the same medium, opened anew. `store` is not used afterwards. */
  reopen(): Promise<GraphControl>
  /** Without it the suite injects no faults. */
  readonly medium?: StoreMedium
  /** Releases the medium, after all stores on it were closed. */
  close?(): Promise<void>
}

export type OpenGraphStore = () => OpenedGraphStore | Promise<OpenedGraphStore>

/** A fresh, empty log, and the same medium as a restart finds it. */
export interface OpenedGraphLog {
  readonly log: DurableLog
  reopen(): Promise<DurableLog>
}

const BEFORE_WRITES = ['before-append', 'before-remove'] as const
const AFTER_WRITES = ['after-append', 'after-remove'] as const

/** The store of this package on an adapter of the durable log, with faults. */
export function graphStoreOnLog(openLog: () => OpenedGraphLog | Promise<OpenedGraphLog>): OpenGraphStore {
  return async () => {
    const opened = await openLog()
    const logs = [opened.log]
    let [writes, fault] = [0, undefined as { n: number; place: FaultPlace } | undefined]
    const wrapped = (log: DurableLog): DurableLog =>
      faultyLog(log, [
        { at: BEFORE_WRITES, fault: 'call', call: () => (writes += 1) },
        { at: BEFORE_WRITES, when: () => fault?.place === 'before' && fault.n === writes, fault: 'fail' },
        { at: AFTER_WRITES, when: () => fault?.place === 'after' && fault.n === writes, fault: 'fail' },
      ])
    return {
      store: await GraphControlStore.open(wrapped(opened.log)),
      reopen: async () => {
        const log = await opened.reopen()
        logs.push(log)
        return GraphControlStore.open(wrapped(log))
      },
      medium: {
        writes: () => writes,
        failWrite: (n, place) => void (fault = { n, place }),
        damage: async (graphId) => {
          await logs.at(-1)?.append(`graph/${graphId}`, 'any', [{ type: 'foreign', data: null }])
        },
      },
      close: async () => {
        await Promise.all(logs.map((log) => log.close()))
      },
    }
  }
}

/** Runs a body over a fresh store; everything is closed at the end, reopened or not. */
export async function withStore<T>(
  open: OpenGraphStore,
  body: (opened: OpenedGraphStore) => Promise<T>,
): Promise<T> {
  const opened = await open()
  const stores = [opened.store]
  try {
    return await body({
      ...opened,
      reopen: async () => {
        const reopened = await opened.reopen()
        stores.push(reopened)
        return reopened
      },
    })
  } finally {
    await Promise.all(stores.map((store) => store.close()))
    await opened.close?.()
  }
}
