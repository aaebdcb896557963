import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { KV_UNIT_DESCRIPTOR, kvUnitLog, memoryLog, sqliteLog } from '../src/index.ts'
import { durableLogContract, faultyLog, memoryKvUnit } from '../src/testing/index.ts'
import { jsonBackend } from './fixtures/json-storage.ts'

const folder = mkdtempSync(join(tmpdir(), 'durable-log-contract-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
const nextFolder = () => join(folder, String((count += 1)))

durableLogContract({ describe, it }, 'memory', () => {
  const log = memoryLog()
  // The medium is the object itself; nothing of it survives the process.
  return { log, reopen: async () => log }
})

durableLogContract({ describe, it }, 'SQLite, closed and opened again', () => {
  const path = join(nextFolder(), 'log.sqlite')
  const log = sqliteLog({ path })
  return {
    log,
    reopen: async () => {
      await log.close()
      return sqliteLog({ path })
    },
  }
})

durableLogContract({ describe, it }, 'SQLite, files as a crash leaves them', () => {
  const from = nextFolder()
  const log = sqliteLog({ path: join(from, 'log.sqlite') })
  return {
    log,
    reopen: async () => {
      const to = nextFolder()
      cpSync(from, to, { recursive: true })
      return sqliteLog({ path: join(to, 'log.sqlite') })
    },
  }
})

durableLogContract({ describe, it }, 'KvUnit in memory, left open as a crash leaves it', () => {
  const unit = memoryKvUnit()
  return { log: kvUnitLog(unit), reopen: async () => kvUnitLog(unit.reopen()) }
})

durableLogContract({ describe, it }, 'KvUnit of the JSON backend, closed and opened again', async () => {
  const root = nextFolder()
  const backend = await jsonBackend(root)
  const unit = await backend.kv.open(KV_UNIT_DESCRIPTOR)
  const log = kvUnitLog(unit)
  return {
    log,
    reopen: async () => {
      await log.close()
      await backend.close()
      return kvUnitLog(await (await jsonBackend(root)).kv.open(KV_UNIT_DESCRIPTOR))
    },
  }
})

durableLogContract({ describe, it }, 'a faulty log with an empty plan', () => {
  const unit = memoryKvUnit()
  return { log: faultyLog(kvUnitLog(unit)), reopen: async () => faultyLog(kvUnitLog(unit.reopen())) }
})
