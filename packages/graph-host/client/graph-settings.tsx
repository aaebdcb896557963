/** What a person may set for agent graphs, in DSH's settings: which sessions have them, and how they run. */
import { SettingsCard, type SettingsSource } from '@dsh-graph/page-parts'
import { graphFields } from './graph-fields.ts'
import type { Words } from './words.ts'

/** In this order: that of the host, and that of the tools. */
export const GRAPH_NAMESPACES = ['dsh-graph-host', 'dsh-tool-graph'] as const

export interface GraphSettingsProps {
  readonly sources: readonly [host: SettingsSource, tools: SettingsSource]
  readonly words: Words
  readonly locale: string
}

export function GraphSettings({ locale, sources, words }: GraphSettingsProps) {
  return (
    <SettingsCard
      id="dg-settings"
      locale={locale}
      title={words.say('settings.title')}
      text={words.say('settings.text')}
      fields={graphFields(sources, words)}
    />
  )
}
