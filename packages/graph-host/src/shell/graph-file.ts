/** The database of a home, read as it lies there, whether or not a host runs on it. */
import type { DurableLog } from 'dsh-durable-log'
import { GraphControlStore, type GraphControl, type GraphSummary } from 'dsh-graph-control'
import type { WaitOptions } from '../board/waits.ts'
import { openDatabase, type Database } from './database.ts'
import { EXIT, ShellError } from './shell-error.ts'

export interface GraphFile {
  readonly log: DurableLog
  readonly store: GraphControl
  /** What the processes that drive the graphs know besides; nothing where none runs. */
  readonly standing?: () => Promise<Pick<WaitOptions, 'slots' | 'runWait'>>
  close(): Promise<void>
}

/** @throws ShellError when there is no such database; DurableLogError when it cannot be opened. */
export async function openGraphFile(database: Database, readOnly: boolean): Promise<GraphFile> {
  const log = openDatabase(database, readOnly)
  try {
    const store = await GraphControlStore.open(log)
    const close = async (): Promise<void> => {
      await store.close()
      await log.close()
    }
    return { log, store, close }
  } catch (error) {
    await log.close()
    throw error
  }
}

export interface GraphList {
  readonly graphs: readonly GraphSummary[]
  readonly unreadable: readonly { readonly graphId: string; readonly reason: string }[]
}

/** Every graph, or those of one root. */
export async function listAll(store: GraphControl, rootSessionId?: string): Promise<GraphList> {
  const graphs: GraphSummary[] = []
  const unreadable: { graphId: string; reason: string }[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await store.listGraphs({
      limit: 200,
      ...(rootSessionId === undefined ? {} : { rootSessionId }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    graphs.push(...page.graphs)
    unreadable.push(...page.unreadable)
    cursor = page.cursor
  }
  return { graphs, unreadable }
}

/**
 * The graph that a person means: by its id, by its session, or by the beginning of its id.
 *
 * @throws ShellError when there is none, or more than one.
 */
export async function findGraph(store: GraphControl, meant: string): Promise<string> {
  if ((await store.readGraph(meant)) !== undefined) return meant
  const epoch = await store.currentEpoch(meant)
  if (epoch !== undefined) return epoch.graphId
  const { graphs } = await listAll(store)
  const found = graphs.filter(({ graphId }) => graphId.startsWith(meant)).map(({ graphId }) => graphId)
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  const what =
    found.length === 0
      ? `there is no graph or session "${meant}"`
      : `"${meant}" begins ${found.length} graphs`
  throw new ShellError(EXIT.missing, 'unknown-graph', `${what}; dsh-graph list shows them`)
}
