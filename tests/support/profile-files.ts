/** What a DSH profile consists of on disk. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files that the launcher rewrites at each boot; everything else of a profile is the user's or pnpm's. */
const OF_THE_LAUNCHER = new Set(['cordis.yml'])

/** Contents of the profile's own files (manifest, patch, settings, lockfile) by name. */
export function profileFiles(dir: string): Readonly<Record<string, string>> {
  const names = readdirSync(dir).filter(
    (name) => lstatSync(join(dir, name)).isFile() && !OF_THE_LAUNCHER.has(name),
  )
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}

/** Paths under `dir`, relative, links not followed. */
export function pathsUnder(dir: string): readonly string[] {
  return existsSync(dir) ? (readdirSync(dir, { recursive: true }) as string[]) : []
}

/** Names of the packages in the profile's `node_modules`. */
export function installedIn(dir: string): readonly string[] {
  const modules = join(dir, 'node_modules')
  if (!existsSync(modules)) return []
  const isPackage = (name: string) => existsSync(join(modules, name, 'package.json'))
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
    )
    .filter(isPackage)
}

/** Files under `dir` that carry `word` in their path or, as text, in their content. */
export function tracesOf(word: RegExp, dir: string): readonly string[] {
  return pathsUnder(dir).filter((path) => {
    if (word.test(path)) return true
    const file = join(dir, path)
    return lstatSync(file).isFile() && word.test(readFileSync(file, 'utf8'))
  })
}
