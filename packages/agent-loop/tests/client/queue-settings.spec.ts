/** The card offers what the host takes, no more and no less. */
import type { SettingsSource } from '@dsh-graph/page-parts'
import { describe, expect, it } from 'vitest'
import { queueFields } from '../../client/queue-fields.ts'
import { wordsFor } from '../../client/words.ts'
import { MAX_DELAY_MS } from '../../src/clock.ts'
import { QueueSettingsSchema } from '../../src/person-config.ts'

const fields = queueFields({} as SettingsSource, wordsFor('en'))
const checked = QueueSettingsSchema as unknown as (value: object) => object

describe('the card of queues', () => {
  it('has every setting of the host once', () => {
    expect(fields.map(({ name }) => name).toSorted()).toEqual(
      Object.keys(QueueSettingsSchema.dict ?? {}).toSorted(),
    )
  })

  it.each(fields.map((field) => [field.name, field] as const))(
    'offers nothing for %s that the host refuses',
    (name, field) => {
      const edges =
        field.kind === 'number'
          ? [field.min, field.max ?? MAX_DELAY_MS]
          : field.kind === 'choice'
            ? field.choices.map(({ value }) => value)
            : []
      expect(edges).not.toEqual([])
      for (const value of edges) expect(checked({ [name]: value })).toMatchObject({ [name]: value })
    },
  )

  it.each([
    ['mode', 'shout'],
    ['cap', 0],
    ['cap', 1.5],
    ['debounceMs', -1],
    ['drop', 'all'],
  ])('the host refuses %s %j', (name, value) => {
    expect(() => checked({ [name]: value })).toThrow(/\$\.|expected/u)
  })
})
