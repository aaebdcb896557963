/**
 * What a card of settings lets a person set, as fields with a draft each. Pure, but for {@link save}.
 *
 * A draft is what the control shows and nothing more: the host alone says whether a value holds, so a save
 * looks afterwards at what is there.
 */

/** DSH's `SettingsScope`, as far as it is used here. */
export interface SettingsSource {
  getSnapshot(): SettingsSnapshot
  /** @returns the undo. */
  subscribe(listener: () => void): () => void
  /** Both resolve when the host has answered, whatever it said. */
  set(field: string, value: unknown): Promise<void>
  unset(field: string): Promise<void>
}

export interface SettingsSnapshot {
  /** `unavailable`: nobody on the host has these, or this browser is not on its machine. */
  readonly status: 'loading' | 'ready' | 'unavailable'
  /** What holds. */
  readonly value: object | undefined
  /** What holds where a person set nothing. */
  readonly base: unknown
  /** What a person set. */
  readonly user: unknown
  readonly writable: boolean
}

interface FieldBase {
  readonly name: string
  readonly source: SettingsSource
  readonly label: string
  readonly hint: string
}

export type SettingsField =
  | (FieldBase & {
      readonly kind: 'choice'
      readonly choices: readonly { readonly value: string; readonly label: string }[]
    })
  | (FieldBase & {
      readonly kind: 'number'
      readonly min: number
      readonly max?: number
      /** How many of the host's units are one of the person's, as 1,000 for seconds of milliseconds. */
      readonly per?: number
      /** Whether nothing may be set at all. */
      readonly isOptional?: boolean
    })
  /** Words with commas between them. */
  | (FieldBase & { readonly kind: 'list' })

/** A text, or the wish for what holds where nothing is set. */
export type Draft = { readonly text: string } | { readonly reset: true }

export type Drafts = ReadonlyMap<string, Draft>

export function draftKey({ name, source }: SettingsField, fields: readonly SettingsField[]): string {
  const sources = [...new Set(fields.map((field) => field.source))]
  return `${sources.indexOf(source)}.${name}`
}

/** What the control of a field shows. */
export function shownText(field: SettingsField, draft: Draft | undefined): string {
  const { base, value } = field.source.getSnapshot()
  if (draft !== undefined && 'text' in draft) return draft.text
  return textOf(field, member(draft === undefined ? value : base, field.name))
}

function textOf(field: SettingsField, value: unknown): string {
  if (field.kind === 'number') return typeof value === 'number' ? String(value / (field.per ?? 1)) : ''
  if (field.kind === 'list') return Array.isArray(value) ? value.join(', ') : ''
  return typeof value === 'string' ? value : ''
}

/** Whether a person set it, or would by saving. */
export function isOwn({ name, source }: SettingsField, draft: Draft | undefined): boolean {
  if (draft !== undefined) return 'text' in draft
  return Object.hasOwn(recordOf(source.getSnapshot().user), name)
}

/** What a save would do; `invalid` for a text that cannot be meant. */
export type Write = { readonly kind: 'set'; readonly value: unknown } | { readonly kind: 'unset' | 'invalid' }

export function writeOf(field: SettingsField, draft: Draft): Write {
  if ('reset' in draft) return { kind: 'unset' }
  const text = draft.text.trim()
  switch (field.kind) {
    case 'choice':
      return field.choices.some(({ value }) => value === text)
        ? { kind: 'set', value: text }
        : { kind: 'invalid' }
    case 'list': {
      const words = text.split(',').map((word) => word.trim())
      return { kind: 'set', value: words.filter((word) => word !== '') }
    }
    case 'number': {
      if (text === '') return { kind: field.isOptional === true ? 'unset' : 'invalid' }
      const { max = Number.MAX_SAFE_INTEGER, min, per = 1 } = field
      const value = Number(text) * per
      const isMeant = /^\d+(?:\.\d+)?$/u.test(text) && Number.isSafeInteger(value)
      return isMeant && value >= min * per && value <= max * per
        ? { kind: 'set', value }
        : { kind: 'invalid' }
    }
  }
}

/**
 * Writes what is drafted, one field after the other.
 *
 * @returns the fields whose value is not what was asked for: the host refused it, or somebody else was first.
 */
export async function save(
  fields: readonly SettingsField[],
  drafts: Drafts,
): Promise<readonly SettingsField[]> {
  const refused: SettingsField[] = []
  for (const field of fields) {
    const draft = drafts.get(draftKey(field, fields))
    if (draft === undefined) continue
    const write = writeOf(field, draft)
    const { name, source } = field
    if (write.kind === 'set') await source.set(name, write.value).catch(() => undefined)
    if (write.kind === 'unset') await source.unset(name).catch(() => undefined)
    if (!isKept(field, write)) refused.push(field)
  }
  return refused
}

function isKept({ name, source }: SettingsField, write: Write): boolean {
  const { user } = source.getSnapshot()
  const has = Object.hasOwn(recordOf(user), name)
  if (write.kind === 'unset') return !has
  return write.kind === 'set' && has && JSON.stringify(member(user, name)) === JSON.stringify(write.value)
}

function member(value: unknown, name: string): unknown {
  const record = recordOf(value)
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
