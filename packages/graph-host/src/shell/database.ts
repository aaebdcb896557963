/**
 * Which database a shell command reads: a SQLite file, or a PostgreSQL whose connection string stands
 * in an environment variable. The string itself is never an argument, and never part of a message.
 */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { postgresLog, sqliteLog, type DurableLog } from 'dsh-durable-log'
import { EXIT, ShellError } from './shell-error.ts'

export type Database =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'server'; readonly variable: string; readonly url: string; readonly schema: string }

type Environment = Readonly<Record<string, string | undefined>>

/** Names the database where `--db` does not. */
const VARIABLE = 'DSH_GRAPH_DB'
const SERVER = /^env:([A-Za-z_][A-Za-z0-9_]*)$/u
const DEFAULT_SCHEMA = 'durable_log'
/** How long a lock of another process, or a server that is away, is waited for. */
const PATIENCE_MS = 5_000

/**
 * @param named what stands after `--db`: a file, or `env:<variable>`.
 * @throws ShellError when the variable is not set.
 */
export function databaseOf(
  named: string | undefined,
  schema: string | undefined,
  graphHome: string,
  environment: Environment,
): Database {
  const meant = named ?? environment[VARIABLE]
  if (meant === undefined || meant === '') return { kind: 'file', path: join(graphHome, 'log.sqlite') }
  const variable = SERVER.exec(meant)?.[1]
  if (variable === undefined) {
    if (/^postgres(?:ql)?:/u.test(meant))
      throw new ShellError(
        EXIT.usage,
        'usage',
        'a connection string is no argument, since others could see it; write --db env:<variable that holds it>',
      )
    return { kind: 'file', path: resolve(meant) }
  }
  const url = environment[variable] ?? ''
  if (url === '')
    throw new ShellError(EXIT.database, 'no-database', `the environment variable ${variable} is not set`)
  return { kind: 'server', variable, url, schema: schema ?? DEFAULT_SCHEMA }
}

/** For a person. */
export function nameOf(database: Database): string {
  return database.kind === 'file'
    ? database.path
    : `the PostgreSQL of $${database.variable}, schema ${database.schema}`
}

/** Whether there may be something to read. Asks no server. */
export function isThere(database: Database): boolean {
  if (database.kind === 'server') return true
  return statSync(database.path, { throwIfNoEntry: false })?.isFile() === true
}

/** Opens at first use. @throws ShellError when there is no such file, or the string is none. */
export function openDatabase(database: Database, readOnly: boolean): DurableLog {
  if (!isThere(database))
    throw new ShellError(
      EXIT.database,
      'no-database',
      `there is no database at ${nameOf(database)}; no graph was kept there yet. A PostgreSQL is named with --db env:<variable>`,
    )
  if (database.kind === 'file')
    return sqliteLog({ path: database.path, busyTimeoutMs: PATIENCE_MS, readOnly })
  const { schema, url } = database
  return postgresLog({ connectionString: url, schema, patienceMs: PATIENCE_MS, poolSize: 2, readOnly })
}
