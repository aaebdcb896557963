/**
 * The insides of zod schemas, version 3 and 4, in one shape, so that no zod needs to be loaded and
 * schemas of any copy can be read. Only what the two versions keep in their definitions; no rules about
 * what becomes of it.
 */

/** A schema's version, type and definition. Types have zod 4's names, in both versions. */
export interface ZodKind {
  readonly version: 3 | 4
  readonly type: string
  readonly def: Readonly<Record<string, unknown>>
  /** Whether an absent value is accepted. Known for version 4 only. */
  readonly optional: boolean
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Zod 3's names of types that zod 4 calls differently; the others differ in their first letter only. */
const RENAMED: Readonly<Record<string, string>> = {
  nativeEnum: 'enum',
  discriminatedUnion: 'union',
  branded: 'readonly',
  effects: 'pipe',
  pipeline: 'pipe',
  naN: 'nan',
}

function zod3Type(typeName: string): string {
  const plain = typeName.replace(/^Zod/, '')
  const name = plain.charAt(0).toLowerCase() + plain.slice(1)
  return RENAMED[name] ?? name
}

/** What kind of zod schema the value is; `undefined` for anything else. */
export function zodKindOf(value: unknown): ZodKind | undefined {
  if (!isRecord(value)) return undefined
  const zod = value['_zod']
  if (isRecord(zod)) {
    const def = zod['def']
    if (!isRecord(def) || typeof def['type'] !== 'string') return undefined
    return { version: 4, type: def['type'], def, optional: zod['optin'] !== undefined }
  }
  const def = value['_def']
  if (!isRecord(def) || typeof def['typeName'] !== 'string') return undefined
  return { version: 3, type: zod3Type(def['typeName']), def, optional: false }
}

/** The keys of an object schema. */
export interface ZodShape {
  readonly shape: Readonly<Record<string, object>>
  /** Whether other keys are refused. */
  readonly closed: boolean
  /** Schema of the values under other keys. */
  readonly rest?: object
}

/** Takes an object schema apart. */
export function zodShape(schema: object, { version, def }: ZodKind): ZodShape {
  const raw: unknown = typeof def['shape'] === 'function' ? def['shape'].call(def) : def['shape']
  const given = isRecord(raw) ? raw : (Reflect.get(schema, 'shape') as Record<string, unknown> | undefined)
  const shape = Object.fromEntries(
    Object.entries(given ?? {}).filter((entry): entry is [string, object] => isRecord(entry[1])),
  )
  const rest = def['catchall']
  const type = zodKindOf(rest)?.type
  const closed = version === 4 ? type === 'never' : type !== undefined && def['unknownKeys'] === 'strict'
  const open = type === undefined || type === 'never' || type === 'unknown' || type === 'any'
  return open || !isRecord(rest) ? { shape, closed } : { shape, closed, rest }
}

/** One check of a schema, a number's bound, a text's length or format, with zod 4's names. */
export interface ZodCheck {
  readonly check: string
  readonly def: Readonly<Record<string, unknown>>
}

/** The checks on a schema, its own format among them. */
export function zodChecks({ version, def }: ZodKind): readonly ZodCheck[] {
  const listed = Array.isArray(def['checks']) ? (def['checks'] as readonly unknown[]) : []
  if (version === 3) {
    return listed.filter(isRecord).map((check) => ({ check: String(check['kind']), def: check }))
  }
  const own = typeof def['check'] === 'string' ? [{ check: def['check'], def }] : []
  const added = listed.flatMap((check) => {
    const inner = isRecord(check) && isRecord(check['_zod']) ? check['_zod']['def'] : undefined
    return isRecord(inner) ? { check: String(inner['check']), def: inner } : []
  })
  return [...own, ...added]
}
