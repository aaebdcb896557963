/** Backup and restore, as `docs/deployment.md` says: while hosts write, onto another medium. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  type DurableLog,
  postgresLog,
  sqliteLog,
  type StoredEntry,
} from '../../packages/durable-log/src/index.ts'
import { startPostgres } from '../../packages/durable-log/tests/support/postgres-server.ts'
import { ROOT } from '../support/composition.ts'
import { snippetsOf } from '../support/snippets.ts'

const STREAMS = ['graph/a', 'graph/b', 'run/图', 'lease/x']

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'backup-'))
  // The server writes into it under a user of its own.
  chmodSync(path, 0o777)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Writes until it is stopped, each stream in turn, so that a hole would show. */
class Writer {
  private readonly log: DurableLog
  private readonly stopping = new AbortController()
  private readonly writing: Promise<void>
  private count = 0

  constructor(log: DurableLog) {
    this.log = log
    this.writing = this.write()
  }

  async whenAt(count: number): Promise<void> {
    while (this.count < count) await new Promise((resolve) => setImmediate(resolve))
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.writing
  }

  private async write(): Promise<void> {
    for (; !this.stopping.signal.aborted; this.count += 1) {
      const stream = STREAMS[this.count % STREAMS.length] ?? ''
      const data = { count: this.count, text: '字\\N\t' }
      const seq = await this.log.append(stream, 'any', [{ type: 'written', data }])
      if (seq % 50 === 0) await this.log.saveSnapshot(stream, seq, { upTo: seq })
    }
  }
}

async function contentOf(log: DurableLog): Promise<Readonly<Record<string, readonly StoredEntry[]>>> {
  const read = STREAMS.map(async (stream) => [stream, await log.read(stream)] as const)
  return Object.fromEntries(await Promise.all(read))
}

/**
 * Checks that the copy is one moment of the original, has its snapshots, and can be gone on with.
 *
 * @returns how many entries it had.
 */
async function momentOf(copy: DurableLog, original: DurableLog): Promise<number> {
  const whole = await contentOf(original)
  const moment = await contentOf(copy)
  let last = 0
  for (const stream of STREAMS) {
    const entries = moment[stream] ?? []
    expect(entries).toEqual(whole[stream]?.slice(0, entries.length))
    last += entries.length
  }
  // Appended in turn: no stream of one moment is ahead of another by more than one.
  const lengths = STREAMS.map((stream) => moment[stream]?.length ?? 0)
  expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1)
  for (const [index, stream] of STREAMS.entries()) {
    const length = lengths[index] ?? 0
    const upTo = Math.floor(length / 50) * 50
    // A snapshot follows its entry: that of the very last one may not be there yet.
    const snapshot = await copy.loadSnapshot(stream)
    expect([upTo, upTo - 50]).toContain(snapshot?.seq ?? 0)
    expect(await copy.append(stream, length, [{ type: 'after', data: null }])).toBe(length + 1)
  }
  return last
}

it('copies a SQLite log while it is written to, and a host goes on with the copy', async () => {
  const at = folder()
  const source = join(at, 'log.sqlite')
  const copy = join(at, 'log-copy.sqlite')
  const log = sqliteLog({ path: source })
  onTestFinished(() => log.close())
  const writing = new Writer(log)
  await writing.whenAt(400)
  const [command = ''] = snippetsOf('docs/deployment.md').flatMap(({ text }) =>
    text.startsWith('node deploy/backup.ts') ? [text] : [],
  )
  const run = () =>
    spawnSync(
      'sh',
      ['-c', command.replace('node ', `"${process.execPath}" `).replace('log-copy.sqlite', copy)],
      {
        cwd: ROOT,
        encoding: 'utf8',
        env: { ...process.env, DSH_HOME: join(at, 'home') },
      },
    )
  // The path of the document, in a home of this test.
  expect(run().status).toBe(2)
  const script = command.replace('"${DSH_HOME:-$HOME/.dsh}/graph/log.sqlite"', `"${source}"`)
  const backup = () =>
    spawnSync(
      'sh',
      ['-c', script.replace('node ', `"${process.execPath}" `).replace('log-copy.sqlite', copy)],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    )
  const done = backup()
  expect(done).toMatchObject({ status: 0, stdout: `copied to ${copy}\n` })
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  expect(backup().status).toBe(2)
  await writing.stop()
  const restored = sqliteLog({ path: copy })
  onTestFinished(() => restored.close())
  expect(await momentOf(restored, log)).toBeGreaterThanOrEqual(400)
})

it('copies no file that is damaged', () => {
  const at = folder()
  const source = join(at, 'log.sqlite')
  writeFileSync(source, 'SQLite format 3\0 and nothing more '.padEnd(8192, '.'))
  const run = spawnSync(process.execPath, ['deploy/backup.ts', source, join(at, 'copy')], { cwd: ROOT })
  expect(run.status).not.toBe(0)
  expect(existsSync(join(at, 'copy'))).toBe(false)
})

it('copies a PostgreSQL log while it is written to, and restores it on another server', async () => {
  const at = folder()
  const [one, other] = await Promise.all([startPostgres(), startPostgres()])
  onTestFinished(async () => void (await Promise.all([one.stop(), other.stop()])))
  const [save = '', restore = ''] = snippetsOf('docs/deployment.md')
    .filter(({ language }) => language === 'sql')
    .map(({ text }) => text.replaceAll('/backup/', `${at}/`))
  const log = postgresLog({ connectionString: one.url })
  onTestFinished(() => log.close())
  const writing = new Writer(log)
  await writing.whenAt(400)
  await execute(one.url, save)
  await writing.stop()
  // Makes the tables, as a host does that is started once.
  const first = postgresLog({ connectionString: other.url })
  await first.list()
  await first.close()
  await execute(other.url, restore)
  const restored = postgresLog({ connectionString: other.url })
  onTestFinished(() => restored.close())
  expect(await momentOf(restored, log)).toBeGreaterThanOrEqual(400)
})

interface Client {
  connect(): Promise<void>
  query(sql: string): Promise<unknown>
  end(): Promise<void>
}

async function execute(connectionString: string, sql: string): Promise<void> {
  const require = createRequire(join(ROOT, 'packages', 'durable-log', 'package.json'))
  const pg = require('pg') as { Client: new (options: { connectionString: string }) => Client }
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
