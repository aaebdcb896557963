/** Binds a card to DSH's settings, where the page has them. */
import type { SettingsSource } from './settings-form.ts'

/** What is needed of a browser half's context. */
export interface SettingsPage {
  inject(services: readonly ['settingsScope'], callback: (inner: SettingsPage) => void): unknown
  readonly settingsScope: { bind(spec: { readonly namespace: string }): SettingsSource }
  readonly slots: {
    inject(slot: string, register: () => () => void): unknown
    register(options: object, component: unknown): () => void
  }
}

export interface SettingsBinding {
  /** The first is the key of the card: it shows where the host has settings of that name. */
  readonly namespaces: readonly [string, ...string[]]
  /** What the card gets besides `sources`, one for each namespace. */
  readonly face: object
  readonly card: unknown
}

/**
 * Everything ends with the context. A page without settings lacks the card and nothing else, so the
 * service is asked for in a context of its own.
 */
export function bindSettings(ctx: unknown, { card, face, namespaces }: SettingsBinding): void {
  const page = ctx as SettingsPage
  page.inject(['settingsScope'], (inner) => {
    const sources = namespaces.map((namespace) => inner.settingsScope.bind({ namespace }))
    inner.slots.inject('settings.plugin.item', () =>
      inner.slots.register(
        { name: 'settings.plugin.item', key: namespaces[0], inject: () => ({ ...face, sources }) },
        card,
      ),
    )
  })
}
