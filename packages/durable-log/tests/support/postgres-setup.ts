/**
 * Global setup of the unit tests: one PostgreSQL for the whole run, started when the first test asks
 * for it. `DATABASE_URL` selects a server outside instead.
 *
 * Tests ask through a socket (postgres.ts), since they run in other processes.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the socket that answers with a connection string. */
    postgresStarter: string
  }
}

/** @returns the undo. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-starter-'))
  const path = process.platform === 'win32' ? `\\\\.\\pipe\\${folder}` : join(folder, 'starter.sock')
  let server: Promise<PostgresServer> | undefined
  const starter = createServer((socket) => {
    socket.on('error', () => undefined)
    const outside = process.env['DATABASE_URL']
    const url =
      outside === undefined || outside === ''
        ? // Nothing of a test run has to survive a power loss.
          (server ??= startPostgres(['fsync=off', 'full_page_writes=off'])).then((started) => started.url)
        : Promise.resolve(outside)
    url.then(
      (text) => socket.end(JSON.stringify({ url: text })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    )
  })
  starter.listen(path)
  await once(starter, 'listening')
  provide('postgresStarter', path)
  return async () => {
    starter.close()
    const started = await server?.catch(() => undefined)
    await started?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
