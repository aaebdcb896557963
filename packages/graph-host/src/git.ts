/**
 * Git, as this host runs it: no hooks, no submodules, no prompts, nothing of the caller's environment
 * that points to another repository.
 */
import { execFile } from 'node:child_process'
import { GraphHostError } from './errors.ts'

const TIMEOUT_MS = 60_000
/** Of one answer; a patch may be large. */
const MAX_BYTES = 64 * 1024 * 1024

const SAFE = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['submodule.recurse', 'false'],
  ['commit.gpgSign', 'false'],
  ['user.name', 'dsh-graph'],
  ['user.email', 'dsh-graph@localhost'],
].flatMap(([key, value]) => ['-c', `${key}=${value}`])

function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' }
}

/** @returns what git printed. @throws GraphHostError `git-failed` with what it complained of. */
export function git(cwd: string, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: environment(), timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES }
    execFile('git', [...SAFE, ...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const why = stderr.trim().slice(0, 500) || error.message
      reject(new GraphHostError('git-failed', `git ${args[0] ?? ''} in ${cwd}: ${why}`, { cause: error }))
    })
  })
}

/** Whether git answers without a complaint. */
export async function gitAccepts(cwd: string, ...args: readonly string[]): Promise<boolean> {
  try {
    await git(cwd, ...args)
    return true
  } catch {
    return false
  }
}
