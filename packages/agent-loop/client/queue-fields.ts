/** The fields of the card of queues: what the host takes, in a person's words and units. */
import type { SettingsField, SettingsSource } from '@dsh-graph/page-parts'
import type { Words } from './words.ts'

const MODES = ['followup', 'collect', 'steer', 'steer-backlog', 'interrupt'] as const
const DROPS = ['summarize', 'old', 'new'] as const

export function queueFields(source: SettingsSource, { say }: Words): readonly SettingsField[] {
  return [
    {
      kind: 'choice',
      name: 'mode',
      source,
      label: say('settings.mode'),
      hint: say('settings.modeHint'),
      choices: MODES.map((value) => ({ value, label: say(`settings.mode.${value}`) })),
    },
    {
      kind: 'number',
      name: 'debounceMs',
      source,
      label: say('settings.debounce'),
      hint: say('settings.debounceHint'),
      min: 0,
      max: 60_000,
    },
    {
      kind: 'number',
      name: 'cap',
      source,
      label: say('settings.cap'),
      hint: say('settings.capHint'),
      min: 1,
      max: 10_000,
    },
    {
      kind: 'choice',
      name: 'drop',
      source,
      label: say('settings.drop'),
      hint: say('settings.dropHint'),
      choices: DROPS.map((value) => ({ value, label: say(`settings.drop.${value}`) })),
    },
  ]
}
