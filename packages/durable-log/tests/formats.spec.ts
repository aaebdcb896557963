import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type DurableLog,
  KV_UNIT_DESCRIPTOR,
  kvUnitLog,
  leaseStore,
  postgresLog,
  sqliteLog,
} from '../src/index.ts'
import { loadSqlite } from '../src/node-sqlite.ts'
import { writeExample } from './fixtures/format-example.ts'
import { jsonBackend } from './fixtures/json-storage.ts'
import { tempFolder } from './fixtures/temp-folder.ts'
import { insertRows, type PostgresRows, rowsOf as postgresRowsOf } from './support/postgres-rows.ts'
import { databaseUrl, dropSchemas, newSchema } from './support/postgres.ts'

const newPath = tempFolder()
const FORMATS = join(import.meta.dirname, 'fixtures', 'formats')
const example = JSON.parse(readFileSync(join(FORMATS, 'example-1.json'), 'utf8')) as Record<
  string,
  { readonly entries: readonly object[]; readonly snapshot: object | null }
>

function copyOf(format: string, name: string): string {
  const path = newPath(name)
  mkdirSync(dirname(path))
  copyFileSync(join(FORMATS, format), path)
  return path
}

/** Opens copies of the frozen files. */
const formats: readonly { readonly format: string; readonly open: () => Promise<DurableLog> }[] = [
  {
    format: 'sqlite-1.sqlite',
    open: async () => sqliteLog({ path: copyOf('sqlite-1.sqlite', 'log.sqlite') }),
  },
  {
    format: 'kv-1.json',
    open: async () => {
      const backend = await jsonBackend(dirname(copyOf('kv-1.json', `${KV_UNIT_DESCRIPTOR.name}.json`)))
      onTestFinished(() => backend.close())
      return kvUnitLog(await backend.kv.open(KV_UNIT_DESCRIPTOR))
    },
  },
  {
    format: 'postgres-2.json',
    open: async () => {
      const { connectionString, schema } = await postgresSchema()
      const log = postgresLog({ connectionString, schema })
      await log.list()
      await insertRows(connectionString, schema, publishedRows())
      return log
    },
  },
]

function publishedRows(): PostgresRows {
  return JSON.parse(readFileSync(join(FORMATS, 'postgres-2.json'), 'utf8')) as PostgresRows
}

async function postgresSchema() {
  const connectionString = await databaseUrl()
  const schema = newSchema()
  onTestFinished(() => dropSchemas(connectionString, [schema]))
  return { connectionString, schema }
}

/** Rows as they lie in the tables of a SQLite file. */
function rowsOf(path: string): unknown[] {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path)
  const tables = ['entries', 'snapshots', 'sqlite_schema'].map((table) =>
    database.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
  )
  const pragmas = ['user_version', 'application_id'].map((name) => database.prepare(`PRAGMA ${name}`).get())
  database.close()
  return [...tables, ...pragmas]
}

describe.each(formats)('the published format $format', ({ open }) => {
  it('is read as it was written', async () => {
    const log = await open()
    onTestFinished(() => log.close())
    const { streams } = await log.list()
    expect(streams.map(({ stream }) => stream)).toEqual(Object.keys(example))
    for (const [stream, { entries, snapshot }] of Object.entries(example)) {
      const stored = await log.read(stream)
      expect(JSON.stringify(stored)).toBe(JSON.stringify(entries))
      expect((await log.loadSnapshot(stream)) ?? null).toEqual(snapshot)
    }
  })

  it('is appended to at the end of its streams', async () => {
    const log = await open()
    onTestFinished(() => log.close())
    expect(await log.append('graph/1', 4, [{ type: 'graph/updated', data: 'later' }])).toBe(5)
    expect(await log.read('graph/1')).toHaveLength(5)
    await expect(log.saveSnapshot('graph/1', 3, 'older')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('holds a lease whose epochs go on', async () => {
    const log = await open()
    onTestFinished(() => log.close())
    expect((await leaseStore({ log }).acquire('root-1')).epoch).toBe(3)
  })
})

describe('what is written today', () => {
  it('is the published SQLite format, row by row', async () => {
    const path = newPath()
    const log = sqliteLog({ path })
    await writeExample(log)
    await log.close()
    expect(rowsOf(path)).toEqual(rowsOf(copyOf('sqlite-1.sqlite', 'log.sqlite')))
  })

  it('is the published PostgreSQL format, row by row', async () => {
    const { connectionString, schema } = await postgresSchema()
    const log = postgresLog({ connectionString, schema })
    await writeExample(log)
    await log.close()
    expect(await postgresRowsOf(connectionString, schema)).toEqual(publishedRows())
  })

  it('is the published kv format, byte by byte', async () => {
    const root = dirname(newPath())
    const backend = await jsonBackend(root)
    const log = kvUnitLog(await backend.kv.open(KV_UNIT_DESCRIPTOR))
    await writeExample(log)
    await log.close()
    await backend.close()
    expect(readFileSync(join(root, `${KV_UNIT_DESCRIPTOR.name}.json`), 'utf8')).toBe(
      readFileSync(join(FORMATS, 'kv-1.json'), 'utf8'),
    )
  })
})
