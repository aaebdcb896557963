import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type DurableLog, sqliteLog } from '../src/index.ts'
import { loadSqlite } from '../src/node-sqlite.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const STREAMS = [
  'graph/aaaaaaaaaaaaaaaa',
  'graph/bbbbbbbbbbbbbbbb',
  'run/cccccccccccccccc',
  'run/dddddddddddddddd',
]
const entry = (n: number) => ({ type: 'test/entry', data: { n } })

function openLog(path: string): DurableLog {
  const log = sqliteLog({ path })
  onTestFinished(() => log.close())
  return log
}

function warnings(): () => string[] {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => void warned.mockRestore())
  return () => warned.mock.calls.map(([text]) => String(text))
}

/** Streams of one to four entries, taken in turn, in a file nobody has open. */
async function newFile(): Promise<string> {
  const path = newPath()
  const log = sqliteLog({ path })
  for (let seq = 0; seq < STREAMS.length; seq += 1) {
    for (const stream of STREAMS.slice(seq)) await log.append(stream, seq, [entry(seq + 1)])
  }
  await log.close()
  return path
}

async function contentOf(log: DurableLog): Promise<Record<string, unknown[]>> {
  const content: Record<string, unknown[]> = {}
  for (const { stream } of (await log.list()).streams) {
    content[stream] = (await log.read(stream)).map(({ seq, data }) => ({ seq, data }))
  }
  return content
}

/** Where names begin on the page of a table or an index. */
function namesOn(path: string, object: string): number[] {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path)
  const row = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(object)
  const size = Number(database.prepare('PRAGMA page_size').get()?.['page_size'])
  database.close()
  const from = (Number(row?.['rootpage']) - 1) * size
  const page = readFileSync(path)
    .subarray(from, from + size)
    .toString('latin1')
  return [...page.matchAll(/(?:graph|run)\/[a-d]{16}/gu)].map(({ index }) => from + index)
}

/** Overwrites 16 bytes of the name with this index on the page. */
function overwriteName(path: string, object: string, index: number, byte: number): void {
  const offset = namesOn(path, object)[index] ?? 0
  const file = readFileSync(path)
  file.fill(byte, offset + 2, offset + 18)
  writeFileSync(path, file)
}

describe('a SQLite file with damaged names', () => {
  it.each([
    { object: 'entries_by_stream', repairs: 40 },
    { object: 'entries', repairs: 16 },
  ])('gives every entry although any one name in $object was overwritten', async ({ object, repairs }) => {
    const warned = warnings()
    const intact = await newFile()
    const content = await contentOf(openLog(intact))
    const count = namesOn(intact, object).length
    expect(count).toBe(10)
    for (let index = 0; index < count; index += 1) {
      for (const byte of [0x00, 0x58, 0x7a, 0xff]) {
        const path = await newFile()
        overwriteName(path, object, index, byte)
        const log = sqliteLog({ path })
        expect(await contentOf(log), `byte ${byte} in name ${index}`).toEqual(content)
        for (const [stream, entries] of Object.entries(content)) {
          expect(await log.append(stream, entries.length, [entry(9)])).toBe(entries.length + 1)
        }
        await log.close()
      }
    }
    expect(warned()).toHaveLength(repairs)
  })

  it('warns once, naming the file, and is whole from then on', async () => {
    const warned = warnings()
    const path = await newFile()
    overwriteName(path, 'entries_by_stream', 3, 0x7a)
    await openLog(path).list()
    expect(warned()).toEqual([expect.stringMatching(/index .* was damaged and is built anew/u)])
    expect(warned()[0]).toContain(path)
    const { DatabaseSync } = loadSqlite()
    const database = new DatabaseSync(path)
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    database.close()
  })

  it('removes a stream whose name was overwritten in an entry', async () => {
    warnings()
    for (let index = 0; index < 10; index += 1) {
      const path = await newFile()
      overwriteName(path, 'entries', index, 0x58)
      const log = sqliteLog({ path })
      for (const [n, stream] of STREAMS.entries()) {
        expect(await log.read(stream)).toHaveLength(n + 1)
        await log.remove(stream)
        expect(await log.append(stream, 0, [entry(1)])).toBe(1)
      }
      expect((await log.list()).streams).toEqual(STREAMS.map((stream) => ({ stream, seq: 1 })))
      await log.close()
    }
  })

  it('leaves a file alone whose streams lack entries that no page has', async () => {
    const warned = warnings()
    const path = await newFile()
    const { DatabaseSync } = loadSqlite()
    const database = new DatabaseSync(path)
    database.exec(`DELETE FROM entries WHERE stream = '${STREAMS[3]}' AND seq = 2`)
    database.close()
    await expect(openLog(path).read(STREAMS[3] ?? '')).rejects.toMatchObject({ code: 'corrupt', seq: 2 })
    expect(warned()).toEqual([])
  })

  it('opens with removals of which the oldest are forgotten', async () => {
    const warned = warnings()
    const path = await newFile()
    const log = openLog(path)
    for (let n = 0; n < 3; n += 1) {
      await log.append('s', 0, [entry(1)])
      await log.remove('s')
    }
    await log.close()
    const { DatabaseSync } = loadSqlite()
    const database = new DatabaseSync(path)
    database.exec(`DELETE FROM entries WHERE stream = '' AND seq < 3`)
    database.close()
    expect((await openLog(path).list()).streams).toHaveLength(STREAMS.length)
    expect(warned()).toEqual([])
  })
})
