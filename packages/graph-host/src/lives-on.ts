/** Whether this process outlives one task: only such a process takes up what others left. */
import type { Context } from '@deepseek-ai/cordis'
import type { Config } from './config.ts'

const HEADLESS_ROWS = '@deepseek-ai/dsh-headless'

/** The part of the Cordis loader that tells its rows, and when a boot has settled. */
interface Loader {
  await(): Promise<unknown>
  entries(): Iterable<{ readonly options: { readonly name: string } }>
}

/** Resolves once the boot has settled, also one that failed. */
export async function whenBooted(ctx: Context): Promise<void> {
  try {
    await (ctx.get('loader') as Loader | undefined)?.await()
  } catch {
    // A boot that failed reports itself.
  }
}

/** Asked after the boot: the web server is a row like any other. */
export function livesOn(ctx: Context, { adoptRoots }: Config): boolean {
  if (adoptRoots === 'never' || isHeadless(ctx)) return false
  return adoptRoots === 'always' || ctx.get('webServer') !== undefined
}

/** It ends with its one task, whatever a setting that all profiles share says. */
function isHeadless(ctx: Context): boolean {
  const rows = (ctx.get('loader') as Loader | undefined)?.entries() ?? []
  return [...rows].some(({ options }) => options.name === HEADLESS_ROWS)
}
