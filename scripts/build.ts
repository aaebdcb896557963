/**
 * Builds every package: JavaScript with tsup, declarations with `tsc -b`
 * (tsup's own declaration step needs a compiler API that TypeScript 7 does not have).
 * Entries come from each package's `exports` and `bin`, so a new door needs no second list.
 *
 * `node scripts/build.ts [folder …]` builds all packages, or the named folders of `packages/`.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'tsup'
import { buildClient } from './build-client.ts'

const root = resolve(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly dependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  readonly exports?: Record<string, string | { readonly default?: string }>
  readonly bin?: Record<string, string>
}

/** Source entries of one package, read from the `default` targets of its exports and from its commands. */
function entriesOf(dir: string, manifest: Manifest): Record<string, string> {
  const entries: Record<string, string> = {}
  for (const target of [...Object.values(manifest.exports ?? {}), ...Object.values(manifest.bin ?? {})]) {
    const file = typeof target === 'string' ? target : target.default
    const match = file === undefined ? null : /^\.\/dist\/(.+)\.js$/.exec(file)
    if (match?.[1] !== undefined) entries[match[1]] = join(dir, 'src', `${match[1]}.ts`)
  }
  return entries
}

const only = process.argv.slice(2)
const dirs = readdirSync(join(root, 'packages'))
  .filter((name) => only.length === 0 || only.includes(name))
  .map((name) => join(root, 'packages', name))
  .filter((dir) => existsSync(join(dir, 'package.json')))

const packages = dirs.map((dir) => {
  const manifest = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest
  return { dir, manifest, entry: entriesOf(dir, manifest) }
})

// Private packages are compiled into their users, so they are built first.
packages.sort((a, b) => Number(b.manifest.name.startsWith('@')) - Number(a.manifest.name.startsWith('@')))

for (const { dir, entry, manifest } of packages) {
  rmSync(join(dir, 'dist'), { recursive: true, force: true })
  await build({
    entry,
    outDir: join(dir, 'dist'),
    tsconfig: join(dir, 'tsconfig.json'),
    format: 'esm',
    target: 'node22',
    platform: 'node',
    splitting: true,
    sourcemap: false,
    clean: false,
    dts: false,
    silent: true,
    config: false,
    // tsup would read the root manifest for this; what a package names stays outside of it.
    external: [/^@deepseek-ai\//, ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })],
    noExternal: [/^@dsh-graph\//],
  })
  await buildClient(dir, manifest.name)
}

const tsc = spawnSync(
  join(root, 'node_modules', '.bin', 'tsc'),
  ['-b', ...(only.length === 0 ? ['tsconfig.json'] : dirs)],
  { cwd: root, stdio: 'inherit' },
)
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
