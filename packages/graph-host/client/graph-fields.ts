/** The fields of the card of graphs: what the host takes, in a person's words and units. */
import type { SettingsField, SettingsSource } from '@dsh-graph/page-parts'
import type { Words } from './words.ts'

/** Everything holds at once, but for what says otherwise. */
export function graphFields(
  [host, tools]: readonly [host: SettingsSource, tools: SettingsSource],
  { say }: Words,
): readonly SettingsField[] {
  return [
    {
      kind: 'choice',
      name: 'sessions',
      source: tools,
      label: say('settings.sessions'),
      hint: say('settings.sessionsHint'),
      choices: (['all', 'chosen', 'none'] as const).map((value) => ({
        value,
        label: say(`settings.sessions.${value}`),
      })),
    },
    {
      kind: 'list',
      name: 'presets',
      source: tools,
      label: say('settings.presets'),
      hint: say('settings.presetsHint'),
    },
    {
      kind: 'number',
      name: 'maxNewActivations',
      source: host,
      label: say('settings.slots'),
      hint: say('settings.slotsHint'),
      min: 1,
      max: 256,
    },
    {
      kind: 'number',
      name: 'operatorTimeoutMs',
      source: host,
      label: say('settings.deadline'),
      hint: say('settings.deadlineHint'),
      min: 1,
      per: 1_000,
    },
    {
      kind: 'number',
      name: 'maxTokens',
      source: host,
      label: say('settings.tokens'),
      hint: say('settings.tokensHint'),
      min: 1,
      isOptional: true,
    },
    {
      kind: 'choice',
      name: 'workspace',
      source: host,
      label: say('settings.workspace'),
      hint: say('settings.workspaceHint'),
      choices: (['shared', 'isolated'] as const).map((value) => ({
        value,
        label: say(`settings.workspace.${value}`),
      })),
    },
    {
      kind: 'choice',
      name: 'adoptRoots',
      source: host,
      label: say('settings.adopt'),
      hint: say('settings.adoptHint'),
      choices: (['auto', 'always', 'never'] as const).map((value) => ({
        value,
        label: say(`settings.adopt.${value}`),
      })),
    },
  ]
}
