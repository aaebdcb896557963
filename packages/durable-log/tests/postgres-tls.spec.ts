/** TLS to a PostgreSQL that has it, with a certificate that nobody knows but who is told. */
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresLog, type PostgresLogOptions } from '../src/index.ts'
import { query } from './support/postgres.ts'
import { type PostgresServer, SERVER_USER, startPostgres } from './support/postgres-server.ts'

const ENTRY = { type: 'test/entry', data: 1 }

describe('a PostgreSQL with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-tls-'))
  let server: PostgresServer
  let certificate: string

  beforeAll(async () => {
    const made = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
    certificate = made.cert
    const files = { certificate: join(folder, 'server.crt'), key: join(folder, 'server.key') }
    writeFileSync(files.certificate, made.cert)
    writeFileSync(files.key, made.private, { mode: 0o600 })
    const { uid, gid } = SERVER_USER
    if (uid !== undefined && gid !== undefined)
      for (const path of [folder, files.certificate, files.key]) chownSync(path, uid, gid)
    server = await startPostgres([
      'ssl=on',
      `ssl_cert_file=${files.certificate}`,
      `ssl_key_file=${files.key}`,
    ])
  })

  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  function open(options: Partial<PostgresLogOptions> = {}) {
    const log = postgresLog({ connectionString: server.url, patienceMs: 0, ...options })
    onTestFinished(() => log.close())
    return log
  }

  /** Of every connection to the server but the one that asks. */
  async function encrypted(): Promise<readonly boolean[]> {
    const sql = `SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
      WHERE a.backend_type = 'client backend' AND a.pid <> pg_backend_pid()`
    return (await query<{ ssl: boolean }>(server.url, sql)).map(({ ssl }) => ssl)
  }

  it('is spoken to in TLS where the certificate is given, writers and listeners alike', async () => {
    const log = open({ ssl: { ca: certificate, servername: 'localhost' } })
    log.subscribe('', () => undefined)
    expect(await log.append('a', 0, [ENTRY])).toBe(1)
    // One that shakes hands yet counts as not encrypted.
    await expect.poll(encrypted).not.toContain(false)
    expect((await encrypted()).length).toBeGreaterThan(1)
  })

  it('is refused where the certificate is one that nobody vouches for, and says so', async () => {
    const refused = await open({ ssl: { rejectUnauthorized: true } })
      .append('a', 'any', [ENTRY])
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'unavailable' })
    expect(String(refused)).toMatch(/certificate/iu)
    expect(String(refused)).not.toContain(new URL(server.url).password)
  })

  it('is refused where the certificate is for another name', async () => {
    const log = open({ ssl: { ca: certificate, servername: 'elsewhere.test' } })
    await expect(log.append('a', 'any', [ENTRY])).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('is spoken to without TLS where nobody asked for it', async () => {
    expect(await open().list()).toMatchObject({ streams: expect.anything() as unknown })
    expect(await encrypted()).toContain(false)
  })
})
