/** Finds the script that a row of a profile names. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ScriptedLlmError } from './errors.ts'
import { parseScript } from './script.ts'
import type { Script } from './types.ts'

/**
 * The script of a row: inline YAML, or a file, or neither; then it is empty and every request is an
 * unexpected one.
 *
 * @param source.file a path, relative to the working directory of the process.
 * @throws ScriptedLlmError `invalid-config` for both, `unreadable-script`, `invalid-script`.
 */
export async function loadScript(source: {
  readonly script?: string
  readonly file?: string
}): Promise<Script> {
  const { script, file } = source
  if (script !== undefined && file !== undefined) {
    throw new ScriptedLlmError(
      'invalid-config',
      'llm-scripted has both "script" and "file"; give one of them',
    )
  }
  if (file !== undefined) return parseScript(await readScript(file), { origin: file })
  return parseScript(script ?? { tracks: [] })
}

async function readScript(file: string): Promise<string> {
  const path = resolve(file)
  try {
    return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ScriptedLlmError('unreadable-script', `cannot read the script ${file} (${path}): ${why}`, {
      cause,
    })
  }
}
