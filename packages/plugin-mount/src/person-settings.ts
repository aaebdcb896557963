/**
 * What a person sets in DSH's own settings, over what the row of a plugin configures. DSH checks a value
 * against the schema before it is kept, keeps it in its settings document, and tells the plugin.
 *
 * A profile without the service of settings has what is configured, and so has one whose document holds
 * something that cannot be: a plugin starts all the same, and says so.
 */
import type { Context } from '@deepseek-ai/cordis'

/** DSH's `ctx.settings`, as far as it is used here. */
interface Settings {
  /** Throws for a name that is taken, and for a stored value that the schema refuses. Ends with the caller's context. */
  register<T>(
    namespace: string,
    schema: object,
    options: { readonly base: Partial<T> },
  ): { get(): T; watch(listener: () => void): () => void }
}

export interface PersonSettingsOptions<T> {
  /** Lowercase words with hyphens; the page's card has the same. */
  readonly namespace: string
  /** A schema of `@deepseek-ai/schemastery`. */
  readonly schema: object
  /** What holds where a person set nothing. JSON. */
  readonly configured: T
  /** After what holds may have changed; not while `ctx` goes away. */
  readonly onChange?: () => void
}

/** @returns what holds now. */
export function personSettings<T extends object>(
  ctx: Context,
  { configured, namespace, onChange, schema }: PersonSettingsOptions<T>,
): () => T {
  let holds: (() => T) | undefined
  ctx.inject(['settings'], (child: Context) => {
    try {
      const scope = (child as unknown as { settings: Settings }).settings.register<T>(namespace, schema, {
        base: configured,
      })
      holds = () => scope.get()
      scope.watch(() => onChange?.())
    } catch (error) {
      child
        .logger(namespace)
        .warn('%s', `settings of ${namespace} are not used, what is configured is: ${String(error)}`)
      return
    }
    child.effect(() => () => void (holds = undefined), `settings of ${namespace}`)
    onChange?.()
  })
  return () => holds?.() ?? configured
}
