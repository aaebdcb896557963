/** Where a shell command looks: the home, the database, the hosts that run on it. */
import { join, resolve } from 'node:path'
import { resolveDshHome } from '@deepseek-ai/dsh-home-paths'
import { runFolder, runningHosts, type RunningHost } from '../door/run-file.ts'
import type { ShellRequest } from './arguments.ts'

export interface Places {
  /** The DSH home. */
  readonly home: string
  readonly graphHome: string
  readonly database: string
  /** Folders in which commands are looked for. */
  readonly searchPath: string
  /** Looked up at each call; the newest first. */
  hosts(): readonly RunningHost[]
}

export function placesOf(
  { db, home }: Pick<ShellRequest, 'db' | 'home'>,
  environment: Readonly<Record<string, string | undefined>>,
): Places {
  const dshHome = resolveDshHome(home, { ...environment })
  const graphHome = join(dshHome, 'graph')
  return {
    home: dshHome,
    graphHome,
    database: db === undefined ? join(graphHome, 'log.sqlite') : resolve(db),
    searchPath: environment['PATH'] ?? '',
    hosts: () => runningHosts(runFolder(graphHome)),
  }
}
