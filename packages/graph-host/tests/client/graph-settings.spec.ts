/** The card offers what the host takes, no more and no less. */
import type { SettingsField, SettingsSource } from '@dsh-graph/page-parts'
import { SupervisionSchema } from 'dsh-tool-graph'
import { describe, expect, it } from 'vitest'
import { graphFields } from '../../client/graph-fields.ts'
import { wordsFor } from '../../client/words.ts'
import { HostSettingsSchema } from '../../src/person-config.ts'

type Schema = (value: object) => object

const host = {} as SettingsSource
const tools = {} as SettingsSource
const fields = graphFields([host, tools], wordsFor('en'))
const schemaOf = ({ source }: SettingsField) =>
  (source === host ? HostSettingsSchema : SupervisionSchema) as unknown as Schema

/** Values at the edges of what a field lets a person set. */
function edgesOf(field: SettingsField): readonly unknown[] {
  switch (field.kind) {
    case 'choice':
      return field.choices.map(({ value }) => value)
    case 'list':
      return [[], ['standard']]
    case 'number':
      return [field.min, field.max ?? 1_000_000].map((edge) => edge * (field.per ?? 1))
  }
}

describe('the card of graphs', () => {
  it('has every setting of the host once', () => {
    const names = [HostSettingsSchema, SupervisionSchema].flatMap((schema) => Object.keys(schema.dict ?? {}))
    expect(fields.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  })

  it.each(fields.map((field) => [field.name, field] as const))(
    'offers nothing for %s that the host refuses',
    (name, field) => {
      for (const value of edgesOf(field))
        expect(schemaOf(field)({ [name]: value })).toMatchObject({ [name]: value })
    },
  )

  it.each(fields.flatMap((field) => (field.kind === 'number' ? [[field.name, field] as const] : [])))(
    'refuses for %s what the host refuses',
    (name, field) => {
      const beyond = [(field.min - 1) * (field.per ?? 1), ...(field.max === undefined ? [] : [field.max + 1])]
      for (const value of beyond) expect(() => schemaOf(field)({ [name]: value })).toThrow(/\$\.|expected/u)
    },
  )
})
