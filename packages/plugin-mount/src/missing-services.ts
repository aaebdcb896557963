/**
 * One warning for what a row lacks. A missing optional service must not leave the row pending:
 * the row is active, its answers say "unavailable", and the log says why, once.
 */
import type { Context } from '@deepseek-ai/cordis'

/** The part of the Cordis loader that tells when a boot has settled. */
interface Settling {
  await(): Promise<unknown>
}

/**
 * Warns once, after the boot has settled, when any of `services` is absent.
 *
 * @param ctx the row's context; nothing is said after its disposal.
 * @param name the plugin's package name.
 * @param services keys of the services it would use.
 * @param consequence what does not work without them, a clause that ends the sentence.
 */
export function warnWhenMissing(
  ctx: Context,
  name: string,
  services: readonly string[],
  consequence: string,
): void {
  let disposed = false
  ctx.effect(() => () => void (disposed = true), `missing services of ${name}`)
  const loader = ctx.get('loader') as Settling | undefined
  void Promise.resolve(loader?.await()).then(
    () => {
      if (disposed) return
      const missing = services.filter((service) => ctx.get(service) === undefined)
      if (missing.length === 0) return
      ctx.logger(name).warn(`missing service ${missing.join(', ')}: ${consequence}`)
    },
    // A boot that failed reports itself.
    () => undefined,
  )
}
