/** The language that DSH shows now, where it has the service that tells; the browser's until then. */
import type { ClientContext } from '@deepseek-ai/dsh-client-runtime/client'

interface Locale {
  getSnapshot(): { readonly active: string }
  subscribe(listener: () => void): () => void
}

export class LocaleSource {
  private active = navigator.language
  private readonly listeners = new Set<() => void>()

  constructor(ctx: ClientContext) {
    ctx.inject(['locale'], (inner) => {
      const locale = inner.get('locale') as unknown as Locale
      const look = () => this.become(locale.getSnapshot().active)
      look()
      inner.effect(() => locale.subscribe(look), 'graph language')
    })
  }

  readonly getSnapshot = (): string => this.active

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  private become(active: string): void {
    if (active === this.active) return
    this.active = active
    for (const listener of this.listeners) listener()
  }
}
