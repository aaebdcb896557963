/** Packs everything that is published, as a registry would receive it. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { publishedManifests } from './manifests.ts'

export interface PackedPackage {
  readonly name: string
  readonly version: string
  /** The package's folder in the repository. */
  readonly dir: string
  /** Absolute path of the tarball. */
  readonly tarball: string
}

/** The pnpm that runs this script, or the one on PATH. */
export function pnpmCommand(): { command: string; args: string[] } {
  const path = process.env['npm_execpath']
  if (path === undefined || !/pnpm/u.test(path)) return { command: 'pnpm', args: [] }
  return /\.[cm]?js$/u.test(path) ? { command: process.execPath, args: [path] } : { command: path, args: [] }
}

/** @throws Error with pnpm's words when a package cannot be packed. */
export function packAll(destination: string): PackedPackage[] {
  const pnpm = pnpmCommand()
  return publishedManifests().map((file) => {
    const dir = dirname(file)
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string }
    const packed = spawnSync(
      pnpm.command,
      [...pnpm.args, '--config.verify-deps-before-run=false', 'pack', '--pack-destination', destination],
      { cwd: dir, encoding: 'utf8' },
    )
    if (packed.status !== 0) throw new Error(`pnpm pack of ${name} failed: ${packed.stderr}${packed.stdout}`)
    return { name, version, dir, tarball: join(destination, `${name}-${version}.tgz`) }
  })
}
