/**
 * Directory hooks: folders under `graph/hooks` in the DSH home, and nowhere else. A folder is off until
 * the profile names it together with its pin; one whose files changed since is off again. The handler is
 * run from the very bytes that were pinned, so it is one file and imports `node:` modules only.
 */
import { readdir } from 'node:fs/promises'
import { parseHookHead, readHookFolder, type HookFolder } from './hook-folder.ts'

const FOLDER_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

export interface DirectoryHooksOptions {
  readonly root: string
  /** Folder name to pin, of those that are on. */
  readonly enabled: Readonly<Record<string, string>>
  readonly register: (plugin: string, name: string, handler: unknown, options: unknown) => void
  readonly warn: (text: string) => void
  readonly info: (text: string) => void
}

/** Never rejects: a folder that is no good is named in the log and left out. */
export async function loadDirectoryHooks(options: DirectoryHooksOptions): Promise<void> {
  const { root, enabled, warn } = options
  const names = await foldersOf(root, warn)
  for (const name of Object.keys(enabled)) {
    if (!names.includes(name)) warn(`directory hook "${name}" is on, but there is no such folder in ${root}`)
  }
  for (const name of names) {
    try {
      await loadFolder(await readHookFolder(root, name), options)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      warn(`directory hook "${name}" is left out: ${why}`)
    }
  }
}

async function foldersOf(root: string, warn: (text: string) => void): Promise<readonly string[]> {
  try {
    return (await readdir(root)).filter((name) => FOLDER_NAME.test(name)).sort()
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isAbsent) warn(`directory hooks in ${root} were not read: ${String(error)}`)
    return []
  }
}

async function loadFolder(folder: HookFolder, options: DirectoryHooksOptions): Promise<void> {
  const { name, pin } = folder
  const pinned = Object.hasOwn(options.enabled, name) ? options.enabled[name] : undefined
  if (pinned === undefined) {
    options.info(`directory hook "${name}" is off; hooks.directories.${name}: ${pin} turns it on`)
    return
  }
  if (pinned !== pin) {
    throw new Error(`its files are not the ones that were pinned; read them, their pin is ${pin}`)
  }
  const { events, options: hookOptions } = parseHookHead(folder)
  const handler = await handlerOf(folder)
  for (const event of events) options.register(`directory:${name}`, event, handler, hookOptions)
}

async function handlerOf({ handler }: HookFolder): Promise<unknown> {
  const url = `data:text/javascript;base64,${Buffer.from(handler, 'utf8').toString('base64')}`
  const module = (await import(url)) as { readonly default?: unknown }
  if (typeof module.default !== 'function') throw new Error('handler.mjs has no function as default export')
  return module.default
}
