/**
 * The pnpm of this test run: the one that started it, else the one on PATH, else the pinned one
 * through npx (its path is asked for once, so that later calls need no npx).
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..', '..')

function pinned(): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { packageManager: string }
  return manifest.packageManager
}

function onPath(): string | undefined {
  const found = spawnSync('sh', ['-c', 'command -v pnpm'], { encoding: 'utf8' })
  return found.status === 0 ? found.stdout.trim() : undefined
}

function throughNpx(): string {
  const found = spawnSync('npx', ['-y', '--prefer-offline', '-p', pinned(), '-c', 'command -v pnpm'], {
    encoding: 'utf8',
  })
  const path = found.stdout.trim().split('\n').at(-1) ?? ''
  if (found.status !== 0 || path === '') throw new Error(`no pnpm: npx -p ${pinned()} said ${found.stderr}`)
  return path
}

let known: string | undefined

/** Absolute path of a pnpm: an executable, or a script for Node. */
export function pnpmPath(): string {
  if (known !== undefined) return known
  const starter = process.env['npm_execpath']
  known = starter !== undefined && /pnpm/u.test(starter) ? starter : (onPath() ?? throughNpx())
  return known
}

/**
 * Writes a `pnpm` command into `folder`.
 *
 * @returns a PATH that finds it first, then the running Node, then the machine's commands.
 */
export function pathWithPnpm(folder: string): string {
  const pnpm = pnpmPath()
  const command = /\.[cm]?js$/u.test(pnpm) ? `"${process.execPath}" "${pnpm}"` : `"${pnpm}"`
  mkdirSync(folder, { recursive: true })
  const shim = join(folder, 'pnpm')
  writeFileSync(shim, `#!/bin/sh\nexec ${command} "$@"\n`)
  chmodSync(shim, 0o755)
  return [folder, resolve(process.execPath, '..'), process.env['PATH'] ?? ''].join(delimiter)
}
