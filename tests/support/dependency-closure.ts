/** What a package needs at run time, found where the workspace has installed it. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface InstalledManifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly [key: string]: unknown
}

export interface InstalledPackage {
  /** Absolute, links resolved. */
  readonly dir: string
  readonly manifest: InstalledManifest
}

export function manifestOf(dir: string): InstalledManifest {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as InstalledManifest
}

/** Looks for `name` as Node does: in each `node_modules` from `from` upward. */
function find(from: string, name: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
    if (dirname(at) === at) return undefined
  }
}

/**
 * The third-party packages that `roots` pull in through `dependencies`, each version once.
 *
 * @param roots package folders with an installed `node_modules`.
 * @param own names that are not third-party; they are left out and not followed.
 * @throws Error when a dependency is not installed (an optional one may be missing: other platforms).
 */
export function dependencyClosure(roots: readonly string[], own: ReadonlySet<string>): InstalledPackage[] {
  const found = new Map<string, InstalledPackage>()
  const queue = roots.map((dir) => ({ dir, manifest: manifestOf(dir) }))
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = next.manifest
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (own.has(name)) continue
      const dir = find(next.dir, name)
      if (dir === undefined) {
        if (name in optionalDependencies) continue
        throw new Error(`${next.manifest.name} depends on ${name}, which is not installed`)
      }
      if (found.has(dir)) continue
      const installed = { dir, manifest: manifestOf(dir) }
      found.set(dir, installed)
      queue.push(installed)
    }
  }
  // One version may be installed several times, once per set of peers.
  const versions = new Map(
    [...found.values()].map((installed) => [
      `${installed.manifest.name}@${installed.manifest.version}`,
      installed,
    ]),
  )
  return [...versions.values()]
}
