/** The language that DSH shows now, where it has the service that tells; the browser's until then. */

interface Locale {
  getSnapshot(): { readonly active: string }
  subscribe(listener: () => void): () => void
}

/** What is needed of a browser half's context. */
export interface PageContext {
  inject(services: ['locale'], callback: (inner: PageContext) => void): unknown
  get(service: 'locale'): unknown
  effect(run: () => () => void, label: string): unknown
}

/** A source for `hooks` of a slot; it lives as long as the context. */
export class LocaleSource {
  private active = navigator.language
  private readonly listeners = new Set<() => void>()

  constructor(ctx: unknown) {
    const page = ctx as PageContext
    page.inject(['locale'], (inner) => {
      const locale = inner.get('locale') as Locale
      const look = () => this.become(locale.getSnapshot().active)
      look()
      inner.effect(() => locale.subscribe(look), 'page language')
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
