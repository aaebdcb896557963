/**
 * A host of an earlier release: the built JavaScript of `dsh-durable-log` and `dsh-agent-loop-host` as that
 * release had it, in an archive that ordinary tests only read. Its dependencies are those of this checkout.
 *
 * `node frozen-hosts.ts` freezes what is built now under the version in `package.json`; done once for each
 * release, and never again for one that is published.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { HostSettings } from './host-process.ts'

const PACKAGES = resolve(import.meta.dirname, '..', '..')
const FROZEN = ['durable-log', 'agent-loop'] as const

function archiveOf(version: string): string {
  return join(PACKAGES, 'agent-loop', 'tests', 'fixtures', `hosts-${version}.tar.gz`)
}

function tar(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('tar', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`tar failed: ${stderr}`, { cause: error })
}

/** Writes the archive. @throws when this version is frozen already. */
function freeze(): string {
  const manifest = readFileSync(join(PACKAGES, 'agent-loop', 'package.json'), 'utf8')
  const archive = archiveOf((JSON.parse(manifest) as { readonly version: string }).version)
  if (existsSync(archive)) throw new Error(`${archive} is there; remove it if that version is not published`)
  const files = FROZEN.flatMap((name) =>
    readdirSync(join(PACKAGES, name, 'dist'))
      .filter((file) => file.endsWith('.js'))
      .map((file) => join(name, 'dist', file))
      .concat(join(name, 'package.json')),
  )
  tar('--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-czf', archive, '-C', PACKAGES, ...files)
  return archive
}

/**
 * Unpacks a frozen host.
 *
 * @param folder exists, and is the caller's to remove.
 * @returns the doors of its packages.
 */
export function unfreeze(version: string, folder: string): Pick<HostSettings, 'log' | 'sessions' | 'loop'> {
  tar('-xzf', archiveOf(version), '-C', folder)
  for (const name of FROZEN) linkDependencies(name, folder)
  return {
    log: join(folder, 'durable-log', 'dist', 'index.js'),
    sessions: join(folder, 'durable-log', 'dist', 'sessions.js'),
    loop: join(folder, 'agent-loop', 'dist', 'index.js'),
  }
}

/** The dependencies of this checkout, but for the frozen sibling. */
function linkDependencies(name: string, folder: string): void {
  const from = join(PACKAGES, name, 'node_modules')
  const to = join(folder, name, 'node_modules')
  mkdirSync(to)
  const names = readdirSync(from).flatMap((entry) =>
    entry.startsWith('@') ? readdirSync(join(from, entry)).map((inner) => join(entry, inner)) : [entry],
  )
  for (const dependency of names.filter((entry) => !entry.startsWith('.'))) {
    mkdirSync(join(to, dependency, '..'), { recursive: true })
    const isFrozen = dependency === 'dsh-durable-log'
    const target = isFrozen ? join(folder, 'durable-log') : realpathSync(join(from, dependency))
    symlinkSync(target, join(to, dependency), 'dir')
  }
}

if (import.meta.main) process.stdout.write(`${freeze()}\n`)
