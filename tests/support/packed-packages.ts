/** Packs packages as a registry would receive them, without a look at any registry. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packAll, pnpmCommand, type PackedPackage } from '../../scripts/pack.ts'
import { pnpmPath } from './pnpm-command.ts'

/**
 * What the packing pnpm is told: it need not look up the version that the root manifest pins (it
 * runs already), and where it looks anyway nobody listens.
 */
const OFFLINE = {
  pnpm_config_pm_on_fail: 'ignore',
  pnpm_config_registry: 'http://127.0.0.1:9/',
  pnpm_config_verify_deps_before_run: 'false',
}

function offline<T>(run: () => T): T {
  const before = { ...process.env }
  Object.assign(process.env, OFFLINE, { npm_execpath: pnpmPath() })
  try {
    return run()
  } finally {
    for (const name of [...Object.keys(OFFLINE), 'npm_execpath'])
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
  }
}

/**
 * Everything that is published.
 *
 * @throws Error with pnpm's words when a package cannot be packed, or when packing asks a registry.
 */
export function packOffline(destination: string): PackedPackage[] {
  return offline(() => packAll(destination))
}

/** One package of the workspace that is not published, such as an example. */
export function packFolder(dir: string, destination: string): PackedPackage {
  const { name, version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as {
    name: string
    version: string
  }
  return offline(() => {
    const { command, args } = pnpmCommand()
    const packed = spawnSync(command, [...args, 'pack', '--pack-destination', destination], {
      cwd: dir,
      encoding: 'utf8',
    })
    if (packed.status !== 0) throw new Error(`pnpm pack of ${name} failed: ${packed.stderr}${packed.stdout}`)
    return { name, version, dir, tarball: join(destination, `${name}-${version}.tgz`) }
  })
}
