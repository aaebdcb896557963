/**
 * Copies a log in a SQLite file while hosts go on writing to it:
 *
 *     node backup.ts <log.sqlite> <copy>
 *
 * The copy is one moment of the log, checked before it gets its name, and readable by its user only.
 */
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'

const [source, copy] = process.argv.slice(2)
if (source === undefined || copy === undefined || !existsSync(source)) {
  console.error('usage: node backup.ts <log.sqlite> <copy>; the first must be there')
  process.exit(2)
}
if (existsSync(copy)) {
  console.error(`${copy} is there already; a backup replaces nothing`)
  process.exit(2)
}
process.umask(0o077)
const draft = `${copy}.draft`
rmSync(draft, { force: true })
const log = new DatabaseSync(source, { readOnly: true, timeout: 10_000 })
try {
  await backup(log, draft)
  const copied = new DatabaseSync(draft)
  try {
    const { integrity_check: found } = copied.prepare('PRAGMA integrity_check').get() as Record<
      string,
      unknown
    >
    if (found !== 'ok') throw new Error(`the copy is damaged: ${String(found)}`)
    // The file alone is the copy then, without one beside it.
    copied.exec('PRAGMA journal_mode = DELETE')
  } finally {
    copied.close()
  }
  chmodSync(draft, 0o600)
  renameSync(draft, copy)
} finally {
  log.close()
  rmSync(draft, { force: true })
}
console.log(`copied to ${copy}`)
