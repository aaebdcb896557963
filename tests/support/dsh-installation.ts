/**
 * An installation of DSH alone, as a user has it.
 *
 * DSH looks for bundles beside itself before it looks into a profile. Inside this workspace it would
 * find our checkout there, and a test of an installed tarball would read the checkout. So the files
 * of DSH and of all it depends on are taken (as hard links where the disk allows) into a folder of
 * their own, in the layout that pnpm gave them.
 */
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { tempFolder, type TempFolder } from './temp-folder.ts'

const MODULES = resolve(import.meta.dirname, '..', '..', 'node_modules')
const STORE = join(MODULES, '.pnpm')

export interface DshInstallation extends Disposable {
  /** The command's script, for Node. */
  readonly bin: string
  /** The folder of the `@deepseek-ai/dsh` package. */
  readonly dir: string
}

function take(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    copyFileSync(from, to)
  }
}

/** Takes a tree; links are taken as they are, and told to `onLink` with where they lead. */
function takeTree(from: string, to: string, onLink: (target: string) => void): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (entry.isDirectory()) takeTree(source, target, onLink)
    else if (entry.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target)
      onLink(resolve(from, readlinkSync(source)))
    } else take(source, target)
  }
}

/** The entry of pnpm's store folder that a path lies in. */
function storeEntryOf(path: string): string | undefined {
  const [entry] = relative(STORE, path).split(sep)
  return entry === undefined || entry === '..' || entry === 'node_modules' ? undefined : entry
}

/** Names of the packages in a `node_modules` folder that are links. */
function linkedIn(modules: string): string[] {
  if (!existsSync(modules)) return []
  return readdirSync(modules, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.'))
    .flatMap((entry) =>
      entry.name.startsWith('@')
        ? readdirSync(join(modules, entry.name)).map((inner) => join(entry.name, inner))
        : [entry.name],
    )
    .filter((name) => lstatSync(join(modules, name)).isSymbolicLink())
}

/**
 * Packages that DSH reaches without declaring them: pnpm offers those to everyone, in a folder
 * beside its entries, or in the workspace's own folder when the workspace depends on them, too.
 */
function takeShared(store: string): void {
  for (const modules of [join(STORE, 'node_modules'), MODULES])
    for (const name of linkedIn(modules)) {
      const target = realpathSync(join(modules, name))
      const entry = storeEntryOf(target)
      const link = join(store, 'node_modules', name)
      if (entry === undefined || !existsSync(join(store, entry)) || existsSync(link)) continue
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(join(store, relative(STORE, target)), link)
    }
}

/** Takes DSH and its closure, about a second. */
export function installDsh(): DshInstallation {
  const folder: TempFolder = tempFolder('installation')
  const store = join(folder.path, 'node_modules', '.pnpm')
  const package_ = realpathSync(join(MODULES, '@deepseek-ai', 'dsh'))
  const first = storeEntryOf(package_)
  if (first === undefined) throw new Error(`${package_} is not in the layout of pnpm`)
  const queue = [first]
  const known = new Set(queue)
  for (let entry = queue.pop(); entry !== undefined; entry = queue.pop())
    takeTree(join(STORE, entry), join(store, entry), (target) => {
      const next = storeEntryOf(target)
      if (next === undefined || known.has(next)) return
      known.add(next)
      queue.push(next)
    })
  takeShared(store)
  const dir = join(store, relative(STORE, package_))
  return { dir, bin: join(dir, 'lib', 'bin.js'), [Symbol.dispose]: () => folder[Symbol.dispose]() }
}
