/**
 * PostgreSQL for a test: the server of the run (postgres-setup.ts), and a schema of its own.
 */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { randomBytes } from 'node:crypto'
import { Client, type QueryResultRow } from 'pg'
import { inject } from 'vitest'
import './postgres-setup.ts'

/** Connection string of a role that may make schemas. Starts the server of this run if need be. */
export async function databaseUrl(): Promise<string> {
  const answer = JSON.parse(await text(connect(inject('postgresStarter')))) as {
    url?: string
    error?: string
  }
  if (answer.url === undefined) throw new Error(`there is no PostgreSQL: ${answer.error}`)
  return answer.url
}

/** A name that no other test uses. The schema is made by whoever opens a log in it. */
export function newSchema(): string {
  return `test_${randomBytes(8).toString('hex')}`
}

/** Runs a statement as a foreign hand would. */
export async function query<R extends QueryResultRow>(
  connectionString: string,
  sql: string,
  values: unknown[] = [],
): Promise<R[]> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<R>(sql, values)).rows
  } finally {
    await client.end()
  }
}

export async function dropSchemas(connectionString: string, schemas: readonly string[]): Promise<void> {
  for (const schema of schemas) await query(connectionString, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)
}
