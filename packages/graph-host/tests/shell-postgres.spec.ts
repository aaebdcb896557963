/** The shell commands on graphs that a PostgreSQL keeps, with and without a database that is there. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { databaseUrl, dropSchemas, newSchema, query } from '../../durable-log/tests/support/postgres.ts'
import { main as agentMain } from '../src/agent-shell.ts'
import { EXIT, main } from '../src/shell.ts'
import { addWorks, claimWork, settleWork } from './graph-deeds.ts'

const schema = newSchema()
const empty = newSchema()
const SECRET = 'sesame-of-nobody'
let url: string
let home: string
let graphId: string

beforeAll(async () => {
  url = await databaseUrl()
  home = mkdtempSync(join(tmpdir(), 'shell-postgres-'))
  const log = postgresLog({ connectionString: url, schema })
  const store = await GraphControlStore.open(log)
  graphId = await addWorks(store, 'root', [{ workId: 'done' }, { workId: 'busy' }])
  await claimWork(store, graphId, 'done')
  await settleWork(store, graphId, 'done', { outcome: 'completed', conclusion: 'all well' })
  await store.close()
  await log.close()
}, 120_000)

afterAll(async () => {
  rmSync(home, { recursive: true, force: true })
  await dropSchemas(url, [schema, empty])
})

async function run(shell: typeof main, argv: readonly string[], more: Record<string, string> = {}) {
  let out = ''
  let err = ''
  const environment = { DSH_HOME: home, TERM: 'xterm', PATH: '', DATABASE: url, ...more }
  const stdout = { write: (text: string) => (out += text) }
  const code = await shell(argv, { stdout, stderr: { write: (text: string) => (err += text) }, environment })
  return { code, out, err }
}

const graph = (...argv: string[]) => run(main, [...argv, '--db', 'env:DATABASE', '--schema', schema])

describe('dsh-graph on a PostgreSQL', () => {
  it('lists, shows, tells, exports and checks', async () => {
    expect(await graph('list')).toMatchObject({ code: EXIT.ok, out: expect.stringContaining(graphId) })
    expect((await graph('show', graphId)).out).toContain('2 works: 1 ready, 1 completed')
    expect((await graph('timeline', graphId)).out).toContain('activation terminal')
    expect((await graph('export', graphId, '--format', 'dot')).out).toContain('digraph')
    expect(await graph('replay-check')).toMatchObject({ code: EXIT.ok })
    const told = await graph('doctor')
    expect(told.out).toContain(`the PostgreSQL of $DATABASE, schema ${schema}`)
    expect(told.out).toContain('1, 1 open, 0 unreadable')
    expect(told.out).not.toContain(new URL(url).password)
  })

  it('takes the database of the environment, too', async () => {
    const told = await run(main, ['list', '--schema', schema], { DSH_GRAPH_DB: 'env:DATABASE' })
    expect(told).toMatchObject({ code: EXIT.ok, out: expect.stringContaining(graphId) })
  })

  it('writes only when it is told to, where no host runs', async () => {
    expect(await graph('stop', graphId, 'busy')).toMatchObject({ code: EXIT.noHost })
    expect((await graph('show', graphId)).out).toContain('1 ready')
    expect(await graph('stop', graphId, 'busy', '--write')).toMatchObject({ code: EXIT.ok })
    expect((await graph('show', graphId)).out).toContain('1 stopped')
  })

  it('makes nothing in a database that holds no log', async () => {
    const told = await run(main, ['list', '--db', 'env:DATABASE', '--schema', empty])
    expect(told).toMatchObject({ code: EXIT.database, out: '' })
    expect(told.err).toContain('holds no log yet')
    expect(await query(url, 'SELECT 1 FROM pg_namespace WHERE nspname = $1', [empty])).toEqual([])
  })
})

describe.each([
  ['dsh-graph', main, ['list']],
  ['dsh-agent', agentMain as typeof main, ['wait', 'run_of_nobody']],
] as const)('%s', (_name, shell, argv) => {
  it('says that a variable is not set', async () => {
    const told = await run(shell, [...argv, '--db', 'env:NOT_SET'])
    expect(told.code).toBe(EXIT.database)
    expect(told.err).toContain('NOT_SET is not set')
  })

  it('takes no connection string as an argument, and repeats none', async () => {
    const told = await run(shell, [...argv, '--db', `postgres://me:${SECRET}@127.0.0.1:1/x`])
    expect(told.code).toBe(EXIT.usage)
    expect(told.out + told.err).not.toContain(SECRET)
  })

  it('tells of a server that is away, without its password', { timeout: 30_000 }, async () => {
    const away = { DATABASE: `postgres://me:${SECRET}@127.0.0.1:1/x` }
    const told = await run(shell, [...argv, '--db', 'env:DATABASE'], away)
    expect(told.code).toBe(EXIT.database)
    expect(told.err).toContain('127.0.0.1:1/x')
    expect(told.out + told.err).not.toContain(SECRET)
  })
})
