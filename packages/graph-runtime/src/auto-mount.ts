/**
 * Mounts published definitions into one Cordis root, on the plugin's own context: tools land in the
 * global layer, and everything ends with the plugin. What cannot be mounted is warned about once and
 * skipped; nothing here throws, since authors' modules are still loading.
 */
import type { Context } from '@deepseek-ai/cordis'
import { recordOf } from './definition-record.ts'
import { messageOf, quotedName } from './errors.ts'
import { attach } from './queue.ts'
import { registrationOf, type GraphMounts } from './mounts.ts'
import type { GraphDefinition, GraphEntry } from './types.ts'

/** Cordis' states of a fiber that is being loaded, and of one that runs; it has no names for them at run time. */
const LIVE: readonly number[] = [1, 2]

/**
 * Mounts everything published, now and from now on, as long as the plugin lives.
 *
 * @returns stops that and unmounts everything; resolves when the running calls have ended.
 */
export function autoMount(ctx: Context, mounts: GraphMounts): () => Promise<void> {
  const entries = new Map<GraphDefinition, GraphEntry>()
  const warn = (text: string): void => ctx.logger('graph-runtime').warn('%s', text)

  const mount = (definition: GraphDefinition): void => {
    // While the plugin unloads, the definition waits in the queue, and the next load mounts it.
    if (!LIVE.includes(ctx.fiber.state)) return
    try {
      entries.set(definition, mounts.adopt(registrationOf(definition), ctx))
    } catch (error) {
      const place = recordOf(definition)?.origin().place
      const where = place === undefined ? '' : ` (defined at ${place})`
      warn(`graph ${quotedName(definition.name)}${where} is skipped: ${messageOf(error)}`)
    }
  }

  const unmount = async (definition: GraphDefinition): Promise<void> => {
    const entry = entries.get(definition)
    entries.delete(definition)
    await entry?.dispose().catch((error: unknown) => warn(`graph "${definition.name}": ${messageOf(error)}`))
  }

  const detach = attach({
    mount,
    unmount: (definition) => void unmount(definition),
    replace(old, next) {
      if (entries.has(old)) {
        ctx.logger('graph-runtime').info('%s', `graph "${next.name}" is replaced by its newer definition`)
      }
      void unmount(old)
      mount(next)
    },
  })
  return async () => {
    detach()
    await Promise.all(Array.from(entries.keys(), unmount))
  }
}
