/** Where a shell command looks: the home, the database, the hosts that run on it. */
import { join } from 'node:path'
import { resolveDshHome } from '@deepseek-ai/dsh-home-paths'
import { runFolder, runningHosts, type RunningHost } from '../door/run-file.ts'
import { databaseOf, type Database } from './database.ts'

export interface Places {
  /** The DSH home. */
  readonly home: string
  readonly graphHome: string
  readonly database: Database
  /** Folders in which commands are looked for. */
  readonly searchPath: string
  /** Looked up at each call; the newest first. */
  hosts(): readonly RunningHost[]
}

/** What was typed about places. */
export interface NamedPlaces {
  readonly home?: string | undefined
  readonly db?: string | undefined
  readonly schema?: string | undefined
}

/** @throws ShellError when the database that is named cannot be. */
export function placesOf(
  { db, home, schema }: NamedPlaces,
  environment: Readonly<Record<string, string | undefined>>,
): Places {
  const dshHome = resolveDshHome(home, { ...environment })
  const graphHome = join(dshHome, 'graph')
  return {
    home: dshHome,
    graphHome,
    database: databaseOf(db, schema, graphHome, environment),
    searchPath: environment['PATH'] ?? '',
    hosts: () => runningHosts(runFolder(graphHome)),
  }
}
