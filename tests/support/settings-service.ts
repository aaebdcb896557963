/**
 * DSH's `ctx.settings` without a document: values are checked against the schema of their namespace, and
 * whoever registered is told afterwards, as DSH does. Tests that boot no whole DSH provide it.
 */
import { Service, type Context } from '@deepseek-ai/cordis'

interface Registration {
  readonly schema: (value: object) => object
  readonly base: object
  readonly listeners: Set<() => void>
  value: object
}

export class SettingsService extends Service {
  private readonly known = new Map<string, Registration>()
  private readonly stored: Readonly<Record<string, object>>

  /** @param stored what the document has from the start, by namespace. */
  constructor(ctx: Context, stored: Readonly<Record<string, object>> = {}) {
    super(ctx, 'settings')
    this.stored = stored
  }

  register(namespace: string, schema: Registration['schema'], { base }: { readonly base: object }) {
    if (this.known.has(namespace)) throw new Error(`settings namespace "${namespace}" is already registered`)
    const value = schema({ ...base, ...this.stored[namespace] })
    const one: Registration = { schema, base, listeners: new Set(), value }
    this.ctx.effect(() => {
      this.known.set(namespace, one)
      return () => void this.known.delete(namespace)
    }, `settings ${namespace}`)
    return {
      get: () => one.value,
      watch: (listener: () => void) => {
        one.listeners.add(listener)
        return () => void one.listeners.delete(listener)
      },
    }
  }

  get namespaces(): readonly string[] {
    return [...this.known.keys()]
  }

  /** What a person writes, and no more. @throws what the schema does; then nothing changes. */
  write(namespace: string, user: object): void {
    const one = this.known.get(namespace)
    if (one === undefined) throw new Error(`nobody has settings ${namespace}`)
    one.value = one.schema({ ...one.base, ...user })
    for (const listener of one.listeners) listener()
  }
}
