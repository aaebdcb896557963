/** What a person may set for queues, in DSH's settings: how messages join a session that is busy. */
import { SettingsCard, type SettingsSource } from '@dsh-graph/page-parts'
import { queueFields } from './queue-fields.ts'
import type { Words } from './words.ts'

export const QUEUE_NAMESPACES = ['dsh-agent-loop-host'] as const

export interface QueueSettingsProps {
  readonly sources: readonly [SettingsSource]
  readonly words: Words
  readonly locale: string
}

export function QueueSettings({ locale, sources, words }: QueueSettingsProps) {
  return (
    <SettingsCard
      id="dl-settings"
      locale={locale}
      title={words.say('settings.title')}
      text={words.say('settings.text')}
      fields={queueFields(sources[0], words)}
    />
  )
}
