/**
 * PostgreSQL as a row asks for it: by the environment variable that holds the connection string, which
 * itself never goes into a configuration. `storage-backend.ts` is the same for the storage of DSH.
 */
import { DurableLogError } from './errors.ts'
import { postgresLog } from './postgres-log.ts'
import type { DurableLog } from './types.ts'

export const DEFAULT_CONNECTION_ENV = 'DATABASE_URL'
export const DEFAULT_SCHEMA = 'durable_log'
export const CONNECTION_ENV_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/u

export interface PostgresBackend {
  /** Name of the environment variable; default `DATABASE_URL`. */
  readonly connectionEnv?: string | undefined
  /** Schema of the tables; default `durable_log`. */
  readonly schema?: string | undefined
}

/** @throws DurableLogError `invalid` when the variable is not set. */
export function openPostgresLog({
  connectionEnv = DEFAULT_CONNECTION_ENV,
  schema = DEFAULT_SCHEMA,
}: PostgresBackend): DurableLog {
  const connectionString = process.env[connectionEnv]
  if (connectionString !== undefined && connectionString !== '')
    return postgresLog({ connectionString, schema })
  throw new DurableLogError(
    'invalid',
    `backend "postgres" needs the environment variable ${connectionEnv} with a connection string (postgres://…)`,
  )
}
