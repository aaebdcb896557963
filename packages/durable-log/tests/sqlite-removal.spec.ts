import { describe, expect, it, onTestFinished } from 'vitest'
import { type DurableLog, sqliteLog, type StreamHead } from '../src/index.ts'
import { loadSqlite } from '../src/node-sqlite.ts'
import { heard } from '../src/testing/harness.ts'
import { startChild } from './fixtures/children.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const one = { type: 'test/entry', data: 1 }

function openLog(path: string, pollIntervalMs = 10): DurableLog {
  const log = sqliteLog({ path, pollIntervalMs })
  onTestFinished(() => log.close())
  return log
}

/** Changes the file as a foreign hand would. */
function edit(path: string, sql: string): void {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

/** What a listener hears, in order. */
function listen(log: DurableLog) {
  const told: string[] = []
  const news = heard<StreamHead>()
  log.subscribe('', (head) => {
    told.push(`${head.stream} ${head.seq}`)
    news.tell(head)
  })
  return { told, first: news.first }
}

describe('removal from a SQLite file', () => {
  it('is told to other processes, and so are the appends that follow it', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.append('s', 0, [one, one, one])
    const { told, first } = listen(log)
    const child = startChild('remover.ts', [path])
    expect(await child.nextLine()).toBe('ready')
    child.send('remove s')
    expect(await child.nextLine()).toBe('done')
    await first(({ stream, seq }) => stream === 's' && seq === 0)
    expect(await log.read('s')).toEqual([])
    // The positions of what was removed are not given again, so this is news.
    child.send('append s')
    expect(await child.nextLine()).toBe('done')
    await first(({ stream, seq }) => stream === 's' && seq === 1)
    child.send('remove unknown')
    expect(await child.nextLine()).toBe('done')
    child.send('both s')
    expect(await child.nextLine()).toBe('done')
    await first(({ stream }) => stream === 'last')
    expect(told).toEqual(['s 0', 's 1', 's 0', 's 1', 'last 1'])
    await expect(log.append('s', 3, [one])).rejects.toMatchObject({ code: 'conflict', currentSeq: 1 })
  })

  it('is found by an own append that lands behind the removal of another process', async () => {
    const path = newPath()
    const log = openLog(path, 60_000)
    await log.append('s', 0, [one])
    const { told, first } = listen(log)
    await log.list()
    const child = startChild('remover.ts', [path])
    await child.nextLine()
    child.send('remove s')
    await child.nextLine()
    await log.append('own', 0, [one])
    await first(({ stream }) => stream === 'own')
    expect(told).toEqual(['s 0', 'own 1'])
  })

  it('keeps its traces out of lists and within bounds', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.append('kept', 0, [one])
    await Promise.all(
      Array.from({ length: 1100 }, (_, n) => [log.append(`s${n}`, 0, [one]), log.remove(`s${n}`)]).flat(),
    )
    expect(await log.list()).toEqual({ streams: [{ stream: 'kept', seq: 1 }] })
    await log.close()
    const { DatabaseSync } = loadSqlite()
    const database = new DatabaseSync(path)
    expect(database.prepare('SELECT count(*) AS rows FROM entries').get()).toEqual({ rows: 1001 })
    database.close()
  })

  it.each([
    ['edited data', `UPDATE entries SET data = '9' WHERE stream = 's' AND seq = 2`],
    ['a missing entry', `DELETE FROM entries WHERE stream = 's' AND seq = 1`],
    ['a newer format', `UPDATE entries SET format = 2 WHERE stream = 's'`],
  ])('ends the quarantine of a stream with %s', async (_, sql) => {
    const path = newPath()
    const first = sqliteLog({ path })
    for (const stream of ['s', 'other']) await first.append(stream, 0, [one, one, one])
    await first.close()
    edit(path, sql)
    const log = openLog(path)
    await expect(log.read('s')).rejects.toMatchObject({ code: 'corrupt' })
    await log.remove('s')
    expect(await log.append('s', 0, [one])).toBe(1)
    expect(await log.read('s')).toHaveLength(1)
    expect(await log.read('other')).toHaveLength(3)
  })

  it('removes a stream that has a damaged snapshot only', async () => {
    const path = newPath()
    const first = sqliteLog({ path })
    await first.append('s', 0, [one])
    await first.saveSnapshot('s', 1, 'state')
    await first.close()
    edit(path, `UPDATE snapshots SET data = '7'; DELETE FROM entries`)
    const log = openLog(path)
    await expect(log.loadSnapshot('s')).rejects.toMatchObject({ code: 'corrupt' })
    await log.remove('s')
    expect(await log.loadSnapshot('s')).toBeUndefined()
  })
})
