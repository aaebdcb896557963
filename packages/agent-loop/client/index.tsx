/** The browser half of dsh-agent-loop-host: the tab Lanes, and a card of settings. It needs only what every page of DSH has. */
import type { ClientContext, SessionId } from '@deepseek-ai/dsh-client-runtime/client'
import {
  addStyle,
  bindSettings,
  LocaleSource,
  SETTINGS_STYLE,
  type SettingsSource,
} from '@dsh-graph/page-parts'
import { lanesDoor, type LanesDoor } from './door.ts'
import { LanesPage } from './lanes-page.tsx'
import { QUEUE_NAMESPACES, QueueSettings } from './queue-settings.tsx'
import css from './style.css'
import { wordsFor } from './words.ts'

export const inject = ['slots']

export function apply(ctx: ClientContext): void {
  ctx.effect(() => addStyle('dsh-agent-loop-host', css + SETTINGS_STYLE), 'lanes style')
  const locale = new LocaleSource(ctx)
  bindSettings(ctx, { namespaces: QUEUE_NAMESPACES, face: { hooks: { locale } }, card: QueueSettingsCard })
  const door = lanesDoor({
    fetch: (...request) => fetch(...request),
    socket: (path) => new WebSocket(new URL(path, window.location.href.replace(/^http/u, 'ws'))),
  })
  ctx.slots.inject('conversation.view', () =>
    ctx.slots.register(
      {
        name: 'conversation.view',
        id: 'dsh-lanes',
        order: 45,
        label: () => wordsFor(locale.getSnapshot()).say('tab'),
        inject: () => ({ door, hooks: { locale } }),
      },
      LanesTab,
    ),
  )
}

function QueueSettingsCard({
  sources,
  useLocale,
}: Pick<Face, 'useLocale'> & { sources: readonly [SettingsSource] }) {
  const locale = useLocale((now) => now)
  return <QueueSettings sources={sources} locale={locale} words={wordsFor(locale)} />
}

interface Face {
  readonly door: LanesDoor
  readonly sessionId: SessionId
  readonly useLocale: <T>(select: (locale: string) => T) => T
}

function LanesTab({ door, sessionId, useLocale }: Face) {
  const words = wordsFor(useLocale((locale) => locale))
  return <LanesPage key={sessionId} door={door} sessionId={sessionId} words={words} />
}
