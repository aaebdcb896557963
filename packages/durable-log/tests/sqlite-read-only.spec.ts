import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sqliteLog } from '../src/index.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'read-only-'))
  path = join(folder, 'log.sqlite')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const entry = { type: 'a', data: { n: 1 } }

it('reads what a writer has committed, while it writes and after it is gone', async () => {
  const writer = sqliteLog({ path })
  const reader = sqliteLog({ path, readOnly: true })
  await writer.append('s', 0, [entry])
  expect(await reader.read('s')).toMatchObject([{ seq: 1, data: { n: 1 } }])
  await writer.append('s', 1, [entry])
  await writer.saveSnapshot('s', 2, { n: 2 })
  expect((await reader.list()).streams).toEqual([{ stream: 's', seq: 2 }])
  expect(await reader.loadSnapshot('s')).toMatchObject({ seq: 2 })
  await reader.close()
  await writer.close()
  const later = sqliteLog({ path, readOnly: true })
  expect(await later.read('s')).toHaveLength(2)
  await later.close()
})

it('refuses every write and leaves the file as it is', async () => {
  const writer = sqliteLog({ path })
  await writer.append('s', 0, [entry])
  await writer.close()
  const before = statSync(path).mtimeMs
  const reader = sqliteLog({ path, readOnly: true })
  const refusal = { code: 'unavailable', message: expect.stringContaining('for reading only') }
  await expect(reader.append('s', 1, [entry])).rejects.toMatchObject(refusal)
  await expect(reader.saveSnapshot('s', 1, null)).rejects.toMatchObject(refusal)
  await expect(reader.remove('s')).rejects.toMatchObject(refusal)
  expect(await reader.read('s')).toHaveLength(1)
  await reader.close()
  expect(statSync(path).mtimeMs).toBe(before)
})

it('creates no file, and takes none that is something else', async () => {
  const missing = sqliteLog({ path: join(folder, 'deep', 'log.sqlite'), readOnly: true })
  await expect(missing.list()).rejects.toMatchObject({ code: 'unavailable' })
  await missing.close()
  expect(existsSync(join(folder, 'deep'))).toBe(false)
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE t (x)')
  other.close()
  const foreign = sqliteLog({ path, readOnly: true })
  await expect(foreign.list()).rejects.toMatchObject({ code: 'unavailable' })
  await foreign.close()
  expect(readdirSync(folder)).toEqual(['log.sqlite'])
})
