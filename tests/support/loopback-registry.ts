/**
 * A package registry on 127.0.0.1 for the installs of the tests: our own packages from their packed
 * tarballs, and what they depend on, packed from the workspace's installed folders.
 *
 * Nothing is proxied. A name that is not ours and not in the closure is 404 and kept in `refused`,
 * so a test can show that an install asked for nothing else.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import semver from 'semver'
import type { PackedPackage } from '../../scripts/pack.ts'
import { dependencyClosure, type InstalledManifest } from './dependency-closure.ts'
import { packInstalled } from './pack-installed.ts'
import { readFrom } from './tarball.ts'

export interface LoopbackRegistry extends AsyncDisposable {
  /** With a trailing slash. */
  readonly url: string
  /** Names that were asked for, in order of their first request. */
  readonly asked: readonly string[]
  /** Names (or paths) that were asked for and are not here. */
  readonly refused: readonly string[]
  /** Forgets what was asked. */
  forget(): void
}

/** One version on the shelf; the tarball may be packed at the first request. */
interface Edition {
  readonly manifest: InstalledManifest
  readonly file: string
  readonly tarball: () => Buffer
}

/** Long before any test run, so that no age policy of an installer holds a version back. */
const PUBLISHED_AT = '2024-01-01T00:00:00.000Z'

function onceOnly<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

function fileNameOf(manifest: InstalledManifest): string {
  return `${manifest.name.replace('/', '+')}-${manifest.version}.tgz`
}

function ownEditions(packed: readonly PackedPackage[]): Edition[] {
  return packed.map(({ tarball }) => {
    const manifest = JSON.parse(readFrom(tarball, 'package.json').toString('utf8')) as InstalledManifest
    return { manifest, file: fileNameOf(manifest), tarball: onceOnly(() => readFileSync(tarball)) }
  })
}

function thirdPartyEditions(packed: readonly PackedPackage[]): Edition[] {
  const own = new Set(packed.map(({ name }) => name))
  return dependencyClosure(
    packed.map(({ dir }) => dir),
    own,
  ).map(({ dir, manifest }) => {
    const file = fileNameOf(manifest)
    return { manifest, file, tarball: onceOnly(() => packInstalled(dir)) }
  })
}

function packumentOf(name: string, editions: readonly Edition[], url: string): object {
  const versions = editions.map(({ manifest, file, tarball }) => {
    const bytes = tarball()
    const dist = {
      tarball: `${url}-/tarballs/${encodeURIComponent(file)}`,
      integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
      shasum: createHash('sha1').update(bytes).digest('hex'),
    }
    return [manifest.version, { ...manifest, dist }] as const
  })
  const names = versions.map(([version]) => version)
  const published = Object.fromEntries(names.map((version) => [version, PUBLISHED_AT]))
  return {
    name,
    'dist-tags': { latest: semver.rsort([...names])[0] },
    versions: Object.fromEntries(versions),
    time: { created: PUBLISHED_AT, modified: PUBLISHED_AT, ...published },
  }
}

function answer(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

/** @param packed every package of ours that an install may ask for. */
export async function startLoopbackRegistry(packed: readonly PackedPackage[]): Promise<LoopbackRegistry> {
  const shelf = new Map<string, Edition[]>()
  const tarballs = new Map<string, Edition>()
  for (const edition of [...ownEditions(packed), ...thirdPartyEditions(packed)]) {
    shelf.set(edition.manifest.name, [...(shelf.get(edition.manifest.name) ?? []), edition])
    tarballs.set(edition.file, edition)
  }
  const asked = new Set<string>()
  const refused = new Set<string>()
  let url = ''

  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').split('?')[0] ?? '/').slice(1)
    const tarball = tarballs.get(path.replace(/^-\/tarballs\//u, ''))
    if (tarball !== undefined) return answer(response, 200, 'application/octet-stream', tarball.tarball())
    asked.add(path)
    const editions = shelf.get(path)
    if (request.method === 'GET' && editions !== undefined)
      return answer(response, 200, 'application/json', JSON.stringify(packumentOf(path, editions, url)))
    refused.add(path)
    answer(response, 404, 'application/json', JSON.stringify({ error: `${path} is not here` }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

  return {
    url,
    get asked() {
      return [...asked]
    },
    get refused() {
      return [...refused]
    },
    forget() {
      asked.clear()
      refused.clear()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
