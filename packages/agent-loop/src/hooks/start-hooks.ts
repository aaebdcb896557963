/** The start of the hooks: the directory hooks that are on, and `gateway_start` once the boot has settled. */
import type { Context } from '@deepseek-ai/cordis'
import { dshHomePath } from '@deepseek-ai/dsh-home-paths'
import { loadDirectoryHooks } from './directory-hooks.ts'
import type { HookHost } from './hook-host.ts'
import type { HookSettings } from './settings.ts'

/** The part of the Cordis loader that tells when a boot has settled. */
interface Settling {
  await(): Promise<unknown>
}

/** Registers the directory hooks that are on. Never rejects. */
export async function loadHooks(ctx: Context, hooks: HookHost, settings: HookSettings): Promise<void> {
  const logger = ctx.logger('agent-loop-host')
  await loadDirectoryHooks({
    root: dshHomePath('graph', 'hooks'),
    enabled: settings.directories,
    register: (plugin, name, handler, options) => void hooks.register(plugin, name, handler, options),
    warn: (text) => void logger.warn('%s', text),
    info: (text) => void logger.info('%s', text),
  })
}

/** Never rejects. */
export async function startHooks(ctx: Context, hooks: HookHost): Promise<void> {
  const loader = ctx.get('loader') as Settling | undefined
  try {
    await loader?.await()
  } catch {
    // A boot that failed reports itself; the host is there all the same.
  }
  await hooks.start()
}
