/**
 * One directory hook as it lies on the disk: `HOOK.md` with a YAML head, and `handler.mjs`. Reads the two
 * files once; what is pinned, parsed and run are the same bytes. Runs nothing.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { isHookName } from './catalogue.ts'
import type { HookName, HookOptions } from './types.ts'

const MAX_HEAD_BYTES = 64 * 1024
const MAX_HANDLER_BYTES = 1024 * 1024
const WRITABLE_BY_OTHERS = 0o002

export interface HookFolder {
  readonly name: string
  /** SHA-256 over both files, 64 hexadecimal digits. */
  readonly pin: string
  readonly head: string
  readonly handler: string
}

export interface HookHead {
  readonly events: readonly HookName[]
  readonly options: HookOptions
}

/** Members it does not know belong to others; nothing is made of them. */
const headSchema = z.looseObject({
  name: z.string(),
  events: z.array(z.string().refine(isHookName, 'is no hook')).min(1).max(50),
  priority: z.number().optional(),
  timeoutMs: z.number().optional(),
  failMode: z.enum(['open', 'closed']).optional(),
})

/** @throws an Error that says what is wrong with the folder. */
export async function readHookFolder(root: string, name: string): Promise<HookFolder> {
  const folder = join(root, name)
  const stats = await lstat(folder)
  if (!stats.isDirectory()) throw new Error('it is no folder, and links are not followed')
  assertOwn(stats.mode, 'the folder')
  const head = await readOwn(join(folder, 'HOOK.md'), MAX_HEAD_BYTES)
  const handler = await readOwn(join(folder, 'handler.mjs'), MAX_HANDLER_BYTES)
  const hash = createHash('sha256')
  for (const bytes of [head, handler]) hash.update(`${bytes.length}:`).update(bytes)
  return { name, pin: hash.digest('hex'), head: head.toString('utf8'), handler: handler.toString('utf8') }
}

/** @throws an Error that names every problem. */
export function parseHookHead({ name, head }: HookFolder): HookHead {
  const yaml = /^---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/.exec(head)?.[1]
  if (yaml === undefined) throw new Error('HOOK.md does not begin with a YAML head between two lines "---"')
  const parsed = headSchema.safeParse(parse(yaml))
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    throw new Error(`the head of HOOK.md is no good: ${problems.join('; ')}`)
  }
  const { events, priority, timeoutMs, failMode } = parsed.data
  if (parsed.data.name !== name) throw new Error(`HOOK.md calls itself ${JSON.stringify(parsed.data.name)}`)
  const options = {
    ...(priority === undefined ? {} : { priority }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(failMode === undefined ? {} : { failMode }),
  }
  return { events: [...new Set(events)] as HookName[], options }
}

async function readOwn(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new Error(`${path} is no plain file`)
    assertOwn(stats.mode, path)
    if (stats.size > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`)
    const bytes = await file.readFile()
    if (bytes.length > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`)
    return bytes
  } finally {
    await file.close()
  }
}

function assertOwn(mode: number, what: string): void {
  if (process.platform === 'win32' || (mode & WRITABLE_BY_OTHERS) === 0) return
  throw new Error(`every user of this machine may write to ${what}`)
}
