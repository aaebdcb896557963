/**
 * Writes a preset `graph` into the person's own preset folder: the rows of another preset, and the
 * graph tools. Nothing of the preset it starts from is changed.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { callHost } from '../door/door-client.ts'
import type { RunningHost } from '../door/run-file.ts'
import { EXIT, ShellError } from './shell-error.ts'

export const PRESET_ID = 'graph'
const DEFAULT_SOURCE = 'standard'
const COMPOSITION = 'agent.cordis.yml'
const METADATA = 'preset.yml'
const PRESET_NAME = /^[a-z0-9][a-z0-9-]*$/u

const ROW = `
# Lets the root sessions of this preset supervise agent graphs, whatever the host's row says.
- id: graph-tools
  name: dsh-tool-graph
`

const DESCRIPTION = `name: Graph
description: Supervises durable graphs of operators that run in parallel and survive restarts.
`

export interface PresetInstall {
  /** The DSH home. */
  readonly home: string
  /** The preset to start from: an id, or an absolute folder. Default: the shipped `standard`. */
  readonly from: string | undefined
  readonly force: boolean
  /** Where the command of DSH is looked for, as in `PATH`. */
  readonly searchPath: string
  readonly hosts: readonly RunningHost[]
}

/** @returns the folder of the preset. @throws ShellError. */
export async function installPreset(install: PresetInstall): Promise<string> {
  const { force, from = DEFAULT_SOURCE, home } = install
  const target = join(home, '.agent-presets', PRESET_ID)
  if (existsSync(target) && !force)
    throw new ShellError(EXIT.refused, 'preset-exists', `there is a preset at ${target}; --force replaces it`)
  const composition = await compositionOf(from, install)
  if (/^- id: graph-tools$/mu.test(composition))
    throw new ShellError(EXIT.refused, 'preset-has-tools', `preset "${from}" has the graph tools already`)
  writeFolder(target, { [COMPOSITION]: `${composition.trimEnd()}\n${ROW}`, [METADATA]: DESCRIPTION })
  return target
}

/** Whole or not at all: a half-written preset would be listed as a broken one. */
function writeFolder(target: string, files: Readonly<Record<string, string>>): void {
  const draft = `${target}.${randomBytes(6).toString('hex')}.tmp`
  const old = `${draft}.old`
  mkdirSync(draft, { recursive: true, mode: 0o700 })
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(draft, name), text, { mode: 0o600 })
    if (existsSync(target)) renameSync(target, old)
    renameSync(draft, target)
  } finally {
    rmSync(draft, { recursive: true, force: true })
    if (existsSync(target)) rmSync(old, { recursive: true, force: true })
    else if (existsSync(old)) renameSync(old, target)
  }
}

async function compositionOf(from: string, { home, hosts, searchPath }: PresetInstall): Promise<string> {
  if (isAbsolute(from)) return read(join(from, COMPOSITION))
  if (!PRESET_NAME.test(from))
    throw new ShellError(EXIT.usage, 'usage', '--from is the id of a preset, or an absolute folder')
  const own = join(home, '.agent-presets', from, COMPOSITION)
  if (existsSync(own)) return read(own)
  for (const host of hosts) {
    const answer = await callHost(host, 'preset-text', { id: from }).catch(() => undefined)
    if (answer?.ok === true) return (answer.value as { text: string }).text
  }
  const shipped = installations(searchPath).map((folder) =>
    join(folder, 'config', 'agent-presets', from, COMPOSITION),
  )
  const found = shipped.find((file) => existsSync(file))
  if (found !== undefined) return read(found)
  throw new ShellError(
    EXIT.missing,
    'unknown-preset',
    `preset "${from}" is not found; start "dsh web" and try again, or name a folder with --from`,
  )
}

/** Where DSH may be installed, told by the command on the PATH. */
function installations(searchPath: string): readonly string[] {
  return searchPath.split(delimiter).flatMap((folder) => {
    try {
      // <installation>/lib/<file>
      return [dirname(dirname(realpathSync(join(folder, 'dsh')))), join(folder, '..', '@deepseek-ai', 'dsh')]
    } catch {
      return []
    }
  })
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ShellError(EXIT.missing, 'unknown-preset', `there is no preset at ${file}`, { cause: error })
  }
}
