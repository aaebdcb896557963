import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type DurableLog, sqliteLog } from '../src/index.ts'
import { loadSqlite } from '../src/node-sqlite.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const one = { type: 'test/entry', data: 1 }

function openLog(path: string): DurableLog {
  const log = sqliteLog({ path })
  onTestFinished(() => log.close())
  return log
}

/** Changes the file as a foreign hand would, with no log open. */
function edit(path: string, sql: string): void {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

const modeOf = (path: string) => statSync(path).mode & 0o777

describe('SQLite log file', () => {
  it('creates the file and its companions for the owner only, in a folder for the owner only', async () => {
    const path = newPath('deep/er/log.sqlite')
    await openLog(path).append('s', 0, [one])
    for (const suffix of ['', '-wal', '-shm']) expect(modeOf(`${path}${suffix}`)).toBe(0o600)
    expect(modeOf(dirname(path))).toBe(0o700)
    expect(modeOf(dirname(dirname(path)))).toBe(0o700)
  })

  it('closes an existing file to others and leaves the mode of an existing folder', async () => {
    const path = newPath()
    mkdirSync(dirname(path), { mode: 0o755 })
    writeFileSync(path, '', { mode: 0o644 })
    await openLog(path).append('s', 0, [one])
    expect(modeOf(path)).toBe(0o600)
    expect(modeOf(dirname(path))).toBe(0o755)
  })

  it('creates nothing before it is used', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.close()
    expect(existsSync(dirname(path))).toBe(false)
  })

  it('names the path when it cannot be opened, and opens it once it can', async () => {
    const blocked = newPath('file')
    mkdirSync(dirname(blocked))
    writeFileSync(blocked, '')
    const path = join(blocked, 'log.sqlite')
    const log = openLog(path)
    await expect(log.append('s', 0, [one])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(path) as string,
    })
    rmSync(blocked)
    expect(await log.append('s', 0, [one])).toBe(1)
  })

  it('refuses a folder, a file that is no database and the database of another program', async () => {
    const folder = newPath('folder')
    mkdirSync(folder, { recursive: true })
    const text = newPath()
    mkdirSync(dirname(text))
    writeFileSync(text, 'not a database, but long enough to be taken for the header of one'.repeat(100))
    const foreign = newPath()
    mkdirSync(dirname(foreign))
    edit(foreign, 'CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)')
    for (const path of [folder, text, foreign]) {
      await expect(openLog(path).read('s')).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(path) as string,
      })
    }
  })

  it('refuses a file of a newer version and leaves it as it is', async () => {
    const path = newPath()
    const log = sqliteLog({ path })
    await log.append('s', 0, [one])
    await log.close()
    edit(path, 'PRAGMA user_version = 2')
    await expect(openLog(path).append('s', 1, [one])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('newer version') as string,
    })
    edit(path, 'PRAGMA user_version = 1')
    expect(await openLog(path).read('s')).toHaveLength(1)
  })

  it('refuses to append to a file that was removed or replaced under it', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.append('s', 0, [one])
    renameSync(path, `${path}.moved`)
    await vi.waitUntil(() =>
      log.append('s', 'any', [one]).then(
        () => false,
        (error: unknown) => (error as { code?: string }).code === 'unavailable',
      ),
    )
    const other = openLog(path)
    expect(await other.append('s', 0, [one])).toBe(1)
    await expect(log.append('s', 'any', [one])).rejects.toMatchObject({ code: 'unavailable' })
    expect(await other.read('s')).toHaveLength(1)
  })

  it('shares one open file between logs of a process, until the last one closes', async () => {
    const path = newPath()
    const first = openLog(path)
    const second = openLog(join(dirname(path), '.', 'log.sqlite'))
    await first.append('s', 0, [one])
    expect(await second.append('s', 1, [one])).toBe(2)
    const told = new Promise((resolve) => second.subscribe('s', resolve))
    await first.append('s', 2, [one])
    expect(await told).toEqual({ stream: 's', seq: 3 })
    await first.close()
    expect(existsSync(`${path}-wal`)).toBe(true)
    expect(await second.read('s')).toHaveLength(3)
    await second.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  it.each([
    { path: '' },
    { path: 'a\0b' },
    { path: 'x', busyTimeoutMs: -1 },
    { path: 'x', pollIntervalMs: 0 },
  ])('refuses the options %o', (options) => {
    expect(() => sqliteLog(options)).toThrow(expect.objectContaining({ code: 'invalid' }))
  })
})

describe('SQLite log with a damaged file', () => {
  /** Three streams of three entries, `damaged` snapshotted at 3; then the edit. */
  async function damagedBy(sql: string): Promise<DurableLog> {
    const path = newPath()
    const log = sqliteLog({ path })
    for (const stream of ['before', 'damaged', 'later']) {
      await log.append(
        stream,
        0,
        [1, 2, 3].map((n) => ({ type: 'test/entry', data: { n } })),
      )
      await log.saveSnapshot(stream, 3, { sum: 6 })
    }
    await log.close()
    edit(path, sql)
    return openLog(path)
  }

  it.each([
    ['edited data', `UPDATE entries SET data = '{"n":9}' WHERE stream = 'damaged' AND seq = 2`],
    ['torn data', `UPDATE entries SET data = substr(data, 1, 3) WHERE stream = 'damaged' AND seq = 2`],
    ['edited type', `UPDATE entries SET type = 'test/other' WHERE stream = 'damaged' AND seq = 2`],
    ['edited time', `UPDATE entries SET appended_at = 0 WHERE stream = 'damaged' AND seq = 2`],
    ['unknown format', `UPDATE entries SET format = 2 WHERE stream = 'damaged' AND seq = 2`],
    [
      'bytes that are no text',
      `UPDATE entries SET data = CAST(x'ff00fe' AS TEXT) WHERE stream = 'damaged' AND seq = 2`,
    ],
    [
      'a number beyond the safe ones',
      `UPDATE entries SET appended_at = 9e18 WHERE stream = 'damaged' AND seq = 2`,
    ],
    ['a missing entry', `DELETE FROM entries WHERE stream = 'damaged' AND seq = 2`],
    [
      'an entry of another stream',
      `DELETE FROM entries WHERE stream = 'damaged' AND seq = 2;
       UPDATE entries SET stream = 'damaged' WHERE stream = 'later' AND seq = 2`,
    ],
  ])('names stream and seq of %s', async (_, sql) => {
    const log = await damagedBy(sql)
    await expect(log.read('damaged')).rejects.toMatchObject({ code: 'corrupt', stream: 'damaged', seq: 2 })
    expect(await log.read('damaged', { limit: 1 })).toHaveLength(1)
    expect(await log.read('damaged', { afterSeq: 2 })).toHaveLength(1)
    expect(await log.read('before')).toHaveLength(3)
    expect((await log.list()).streams).toHaveLength(3)
  })

  it('names stream and seq of a damaged snapshot, and the entries stay readable', async () => {
    const log = await damagedBy(`UPDATE snapshots SET data = '{"sum":7}' WHERE stream = 'damaged'`)
    await expect(log.loadSnapshot('damaged')).rejects.toMatchObject({
      code: 'corrupt',
      stream: 'damaged',
      seq: 3,
    })
    expect(await log.read('damaged')).toHaveLength(3)
    expect(await log.loadSnapshot('later')).toEqual({ seq: 3, snapshot: { sum: 6 } })
    await log.saveSnapshot('damaged', 3, { sum: 6 })
    expect(await log.loadSnapshot('damaged')).toEqual({ seq: 3, snapshot: { sum: 6 } })
  })

  it('opens the streams whose pages are whole when one page is not', async () => {
    const path = newPath()
    const log = sqliteLog({ path })
    const text = 'x'.repeat(20_000)
    await log.append('damaged', 0, [{ type: 'test/entry', data: text }])
    await log.append('whole', 0, [{ type: 'test/entry', data: text }])
    await log.close()
    const bytes = readFileSync(path)
    bytes[bytes.indexOf('x'.repeat(4000))] = 0x79
    writeFileSync(path, bytes)
    const reopened = openLog(path)
    await expect(reopened.read('damaged')).rejects.toMatchObject({
      code: 'corrupt',
      stream: 'damaged',
      seq: 1,
    })
    expect((await reopened.read('whole'))[0]?.data).toBe(text)
  })
})
