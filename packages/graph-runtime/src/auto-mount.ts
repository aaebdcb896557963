/**
 * Mounts published definitions into one Cordis root, on the plugin's own context: tools land in the
 * global layer, and everything ends with the plugin. What cannot be mounted is warned about once and
 * skipped; nothing here throws, since authors' modules are still loading.
 */
import type { Context } from '@deepseek-ai/cordis'
import { recordOf } from './definition-record.ts'
import { messageOf } from './errors.ts'
import { attach } from './queue.ts'
import type { GraphTools } from './registry.ts'
import type { GraphDefinition, GraphEntry } from './types.ts'

/** Cordis refuses effects while a fiber unloads; the definition is queued and the next load mounts it. */
function isUnloading(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'INACTIVE_EFFECT'
}

/**
 * Mounts everything published, now and from now on.
 *
 * @returns stops listening; the mounts themselves belong to `ctx`.
 */
export function autoMount(ctx: Context, graphs: GraphTools): () => void {
  const entries = new WeakMap<GraphDefinition, GraphEntry>()
  const log = ctx.logger('graph-runtime')

  const mount = (definition: GraphDefinition): void => {
    try {
      entries.set(definition, graphs.mount(definition, ctx))
    } catch (error) {
      if (isUnloading(error)) return
      const place = recordOf(definition)?.origin().place
      const where = place === undefined ? '' : ` (defined at ${place})`
      log.warn('%s', `graph "${definition.name}"${where} is skipped: ${messageOf(error)}`)
    }
  }

  const unmount = (definition: GraphDefinition): void => {
    const entry = entries.get(definition)
    entries.delete(definition)
    entry
      ?.dispose()
      .catch((error: unknown) => log.warn('%s', `graph "${definition.name}": ${messageOf(error)}`))
  }

  return attach({
    mount,
    unmount,
    replace(old, next) {
      if (entries.has(old)) log.info('%s', `graph "${next.name}" is replaced by its newer definition`)
      unmount(old)
      mount(next)
    },
  })
}
