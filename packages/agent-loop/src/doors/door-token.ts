/**
 * The token of this process's doors: made once for a tree of plugins and shared by its doors, so that
 * the run file that tells one of them tells them all.
 */
import { randomBytes } from 'node:crypto'
import type { Context } from '@deepseek-ai/cordis'

const tokens = new WeakMap<Context, string>()

/** 64 hexadecimal digits. Whoever has it may act as the person whose process this is. */
export function doorToken({ root }: Context): string {
  const token = tokens.get(root) ?? randomBytes(32).toString('hex')
  tokens.set(root, token)
  return token
}
