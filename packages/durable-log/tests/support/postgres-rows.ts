/**
 * The rows of a PostgreSQL log as a frozen file keeps them: all columns but `xact`, which is of one
 * cluster.
 */
import { Client } from 'pg'

export interface PostgresRows {
  readonly entries: readonly object[]
  readonly snapshots: readonly object[]
}

const COLUMNS = {
  entries: 'stream, seq, format, appended_at, type, data, checksum',
  snapshots: 'stream, seq, format, data, checksum',
} as const

/** Numbers as text, as the client gives them. */
export async function rowsOf(connectionString: string, schema: string): Promise<PostgresRows> {
  return onClient(connectionString, async (client) => {
    const all = async (table: keyof typeof COLUMNS) =>
      (await client.query<object>(`SELECT ${COLUMNS[table]} FROM ${schema}.${table} ORDER BY stream, seq`))
        .rows
    return { entries: await all('entries'), snapshots: await all('snapshots') }
  })
}

/** @param schema with empty tables. */
export async function insertRows(
  connectionString: string,
  schema: string,
  rows: PostgresRows,
): Promise<void> {
  await onClient(connectionString, async (client) => {
    for (const table of ['entries', 'snapshots'] as const) {
      await client.query(
        `INSERT INTO ${schema}.${table} (${COLUMNS[table]})
         SELECT ${COLUMNS[table]} FROM json_populate_recordset(NULL::${schema}.${table}, $1)`,
        [JSON.stringify(rows[table])],
      )
    }
  })
}

async function onClient<T>(connectionString: string, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}
