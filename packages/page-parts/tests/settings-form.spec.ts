/** Fields of a card over a host that the test holds. */
import { beforeEach, describe, expect, it } from 'vitest'
import {
  draftKey,
  isOwn,
  save,
  shownText,
  writeOf,
  type Draft,
  type SettingsField,
  type SettingsSource,
} from '../src/settings-form.ts'

/** A host that keeps what it is told, but for what it refuses. */
class Host implements SettingsSource {
  user: Record<string, unknown> = {}
  base: Record<string, unknown> = { mode: 'one', waitMs: 5_000, names: ['a'] }
  readonly refused = new Set<string>()

  getSnapshot() {
    const value = { ...this.base, ...this.user }
    return { status: 'ready', value, base: this.base, user: { ...this.user }, writable: true } as const
  }

  subscribe(): () => void {
    return () => undefined
  }

  async set(field: string, value: unknown): Promise<void> {
    if (!this.refused.has(field)) this.user = { ...this.user, [field]: value }
  }

  async unset(field: string): Promise<void> {
    if (this.refused.has(field)) return
    const { [field]: _gone, ...rest } = this.user
    this.user = rest
  }
}

let host: Host
let fields: readonly [mode: SettingsField, wait: SettingsField, most: SettingsField, names: SettingsField]

beforeEach(() => {
  host = new Host()
  const of = (name: string) => ({ name, source: host, label: name, hint: '' })
  fields = [
    { ...of('mode'), kind: 'choice', choices: ['one', 'two'].map((value) => ({ value, label: value })) },
    { ...of('waitMs'), kind: 'number', min: 1, max: 60, per: 1_000 },
    { ...of('most'), kind: 'number', min: 1, isOptional: true },
    { ...of('names'), kind: 'list' },
  ]
})

const drafts = (...all: readonly (readonly [SettingsField, Draft])[]) =>
  new Map(all.map(([field, draft]) => [draftKey(field, fields), draft]))

describe('a field', () => {
  it('shows what holds in the person’s units, and a draft over it', () => {
    expect(fields.map((field) => shownText(field, undefined))).toEqual(['one', '5', '', 'a'])
    expect(shownText(fields[1], { text: '7' })).toBe('7')
  })

  it('shows what the profile says for a value that is given back', () => {
    host.user = { waitMs: 9_000 }
    expect(shownText(fields[1], undefined)).toBe('9')
    expect(shownText(fields[1], { reset: true })).toBe('5')
  })

  it('is a person’s own when they set it, also to the same value', () => {
    host.user = { waitMs: 5_000 }
    expect(fields.map((field) => isOwn(field, undefined))).toEqual([false, true, false, false])
    expect(isOwn(fields[1], { reset: true })).toBe(false)
    expect(isOwn(fields[0], { text: 'two' })).toBe(true)
  })

  it.each([
    [0, 'two', { kind: 'set', value: 'two' }],
    [0, 'three', { kind: 'invalid' }],
    [1, ' 7 ', { kind: 'set', value: 7_000 }],
    [1, '0.5', { kind: 'invalid' }],
    [1, '1.5', { kind: 'set', value: 1_500 }],
    [1, '61', { kind: 'invalid' }],
    [1, '', { kind: 'invalid' }],
    [1, '1e1', { kind: 'invalid' }],
    [2, '', { kind: 'unset' }],
    [2, '1.5', { kind: 'invalid' }],
    [2, '99999999999999999999', { kind: 'invalid' }],
    [3, 'a, b,, ', { kind: 'set', value: ['a', 'b'] }],
    [3, '', { kind: 'set', value: [] }],
  ] as const)('number %i: the text %j means %j', (at, text, write) => {
    expect(writeOf(fields[at], { text })).toEqual(write)
  })
})

describe('a save', () => {
  it('writes what was drafted, and nothing else', async () => {
    host.user = { mode: 'two' }
    expect(await save(fields, drafts([fields[1], { text: '7' }], [fields[0], { reset: true }]))).toEqual([])
    expect(host.user).toEqual({ waitMs: 7_000 })
  })

  it('names what the host did not take, and keeps the rest', async () => {
    host.refused.add('waitMs')
    const refused = await save(fields, drafts([fields[1], { text: '7' }], [fields[3], { text: 'b' }]))
    expect(refused.map(({ name }) => name)).toEqual(['waitMs'])
    expect(host.user).toEqual({ names: ['b'] })
  })

  it('names a value that another browser set first', async () => {
    host.unset = async () => undefined
    host.user = { mode: 'two' }
    const refused = await save(fields, drafts([fields[0], { reset: true }]))
    expect(refused.map(({ name }) => name)).toEqual(['mode'])
  })
})
