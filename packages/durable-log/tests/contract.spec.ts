import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { memoryLog, sqliteLog } from '../src/index.ts'
import { durableLogContract } from '../src/testing/index.ts'

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
