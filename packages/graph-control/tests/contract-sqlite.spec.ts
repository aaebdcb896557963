import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { afterAll, describe, it } from 'vitest'
import { graphControlStoreContract, graphStoreOnLog } from '../src/testing/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'graph-contract-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0

/** Every write of every clause takes minutes on a disk: `GRAPH_CONTRACT=all` asks for them. */
const options = process.env['GRAPH_CONTRACT'] === 'all' ? {} : { failingWrites: 1 }

graphControlStoreContract(
  { describe, it },
  'SQLite, left open as a crash leaves it',
  graphStoreOnLog(() => {
    const path = join(folder, `${(count += 1)}.sqlite`)
    return { log: sqliteLog({ path }), reopen: async () => sqliteLog({ path }) }
  }),
  options,
)
