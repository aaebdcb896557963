/**
 * Keeps what the manifests share in one place: peer ranges, engines and pins follow from
 * `compatibility.json`, the list of host versions that were tested.
 *
 * `node scripts/manifests.ts` writes, `--check` only tells (exit 1 when a manifest is stale).
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

interface Compatibility {
  readonly dsh: { readonly tested: readonly string[] }
  readonly cordis: { readonly tested: readonly string[] }
  readonly schemastery: { readonly tested: readonly string[] }
  readonly node: string
}

interface Manifest {
  name: string
  private?: boolean
  engines?: Record<string, string>
  dsh?: { engines?: Record<string, string> } & Record<string, unknown>
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional: boolean }>
  devDependencies?: Record<string, string>
}

const compatibility = JSON.parse(readFileSync(join(root, 'compatibility.json'), 'utf8')) as Compatibility

/** A caret range a prerelease tuple: a caret matches prereleases of its own tuple only. */
export function rangeOf(tested: readonly string[]): string {
  const floors = new Map<string, string>()
  for (const version of tested) {
    const [tuple = version] = version.split('-')
    // The list is in release order, so the first of a tuple is its oldest.
    if (!floors.has(tuple)) floors.set(tuple, version)
  }
  return [...floors.values()].map((version) => `^${version}`).join(' || ')
}

function listOf(host: string): readonly string[] {
  if (host === '@deepseek-ai/cordis') return compatibility.cordis.tested
  if (host === '@deepseek-ai/schemastery') return compatibility.schemastery.tested
  return compatibility.dsh.tested
}

/** Engines, peer ranges, optional marks and exact development pins of one manifest. */
export function refreshed(manifest: Manifest): Manifest {
  const next = structuredClone(manifest)
  const dshRange = rangeOf(compatibility.dsh.tested)
  next.engines = { ...next.engines, node: compatibility.node, dsh: dshRange }
  if (next.dsh !== undefined) next.dsh.engines = { dsh: dshRange }
  const peers = Object.keys(next.peerDependencies ?? {})
  const hosts = peers.filter((peer) => peer.startsWith('@deepseek-ai/'))
  if (peers.length > 0) {
    next.peerDependencies = {
      ...next.peerDependencies,
      ...Object.fromEntries(hosts.map((host) => [host, rangeOf(listOf(host))])),
    }
    next.peerDependenciesMeta = Object.fromEntries(peers.map((peer) => [peer, { optional: true }]))
    next.devDependencies = {
      ...next.devDependencies,
      ...Object.fromEntries(hosts.map((host) => [host, listOf(host).at(-1) ?? '*'])),
    }
  }
  return next
}

/** Manifests of everything that is published. */
export function publishedManifests(): string[] {
  const packages = readdirSync(join(root, 'packages')).map((name) =>
    join(root, 'packages', name, 'package.json'),
  )
  return [join(root, 'package.json'), ...packages].filter(
    (file) => (JSON.parse(readFileSync(file, 'utf8')) as Manifest).private !== true,
  )
}

function main(check: boolean): number {
  let stale = 0
  for (const file of publishedManifests()) {
    const before = readFileSync(file, 'utf8')
    const after = `${JSON.stringify(refreshed(JSON.parse(before) as Manifest), null, 2)}\n`
    if (after === before) continue
    stale += 1
    if (check) console.error(`stale: ${file.slice(root.length + 1)}; run: pnpm manifests`)
    else writeFileSync(file, after)
  }
  return check && stale > 0 ? 1 : 0
}

if (import.meta.main) process.exitCode = main(process.argv.includes('--check'))
