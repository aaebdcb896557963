/**
 * Reads a value as its schema means it: JSON inside a string, one item in place of a list, a number
 * in place of a text, another spelling of a field or of an allowed value. What is clearly meant is
 * corrected and told; what is filled without a meaning is left out and told; what could be meant
 * otherwise stays as it is, for validation to refuse.
 */
import { type Adjustments, shownName } from './adjustments.ts'
import { knownName, namesNothing, nestedJson, plainForm, saysNothing } from './model-habits.ts'

export type Fields = Record<string, unknown>

/** The part of a parameter schema that reading goes by. */
export interface Shape {
  readonly type: string
  readonly enum?: readonly unknown[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: boolean
}

/** What the schema does not say: other names of fields and values, by plain form. */
export interface Reading {
  readonly adjusted: Adjustments
  /** Fields by the place of their object (`''` the root, `addWork[]` an item). */
  readonly aliases: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Allowed values by the field's own name. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Names of fields that hold an id, where `none` means that there is none. */
  readonly names: ReadonlySet<string>
  /** Filled here: fields that no schema knows, each with those that it does. */
  readonly unknown: string[]
}

/** Where a value stands: for the text (`addWork[2].stop`), and for the tables (`addWork[].stop`). */
export interface Place {
  readonly at: string
  readonly kind: string
}

export const ROOT: Place = { at: '', kind: '' }

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Deeper than this nothing is looked at: what lies there is no filling. */
const FILLED_DEPTH = 4

/** Filled without a meaning. `false` is, in an object in which nothing else is given. */
export function isEmpty(value: unknown, depth = 0): boolean {
  if (value === null || value === undefined) return true
  if (typeof value === 'string') return saysNothing(value)
  if (typeof value !== 'object' || depth > FILLED_DEPTH) return false
  if (Array.isArray(value)) return value.length <= 64 && value.every((item) => isEmpty(item, depth + 1))
  return Object.values(value).every((field) => field === false || isEmpty(field, depth + 1))
}

/** `undefined` for what is to be left out. */
export function readAs(shape: Shape, value: unknown, place: Place, reading: Reading): unknown {
  switch (shape.type) {
    case 'array':
      return readList(shape, value, place, reading)
    case 'object':
      return readObject(shape, value, place, reading)
    case 'string':
      return readText(shape, value, place, reading)
    case 'integer':
      return readInteger(value, place, reading)
    case 'boolean':
      return readFlag(value, place, reading)
    default:
      return value
  }
}

function readText(shape: Shape, value: unknown, { at, kind }: Place, reading: Reading): unknown {
  const { adjusted } = reading
  const only = Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value
  if (only !== value && typeof only === 'string') adjusted.note(`${at} was read as one text, not a list`)
  if (typeof only === 'number' || typeof only === 'boolean') {
    adjusted.note(`${at} was read as a text`)
    return String(only)
  }
  if (typeof only !== 'string') return value
  const text = only.trim()
  if (text !== only) adjusted.trimmed(at)
  return shape.enum === undefined ? text : allowedValue(shape.enum, text, { at, kind }, reading)
}

function allowedValue(
  allowed: readonly unknown[],
  text: string,
  { at, kind }: Place,
  { adjusted, values }: Reading,
): string {
  if (allowed.includes(text)) return text
  const names = allowed.filter((value) => typeof value === 'string')
  const name = lastName(kind)
  const meant = knownName(text, names, Object.hasOwn(values, name) ? values[name] : {})
  if (meant === undefined) return text
  adjusted.note(`${at} "${shownName(text)}" was read as ${meant}`)
  return meant
}

function lastName(kind: string): string {
  return kind.slice(kind.lastIndexOf('.') + 1)
}

function readInteger(value: unknown, { at }: Place, { adjusted }: Reading): unknown {
  if (typeof value !== 'string' || !/^-?\d{1,15}$/u.test(value.trim())) return value
  adjusted.note(`${at} was read as a number`)
  return Number(value)
}

function readFlag(value: unknown, { at }: Place, { adjusted }: Reading): unknown {
  const word = typeof value === 'string' ? plainForm(value) : value
  const read = FLAGS.get(word)
  if (read === undefined) return value
  adjusted.note(`${at} was read as ${String(read)}`)
  return read
}

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ['true', true],
  ['yes', true],
  [1, true],
  ['false', false],
  ['no', false],
  [0, false],
])

function readList(shape: Shape, value: unknown, { at, kind }: Place, reading: Reading): unknown {
  const { adjusted } = reading
  const item = shape.items
  const list = listOf(item, value, at, adjusted)
  if (item === undefined) return list
  const kept: unknown[] = []
  for (const [index, one] of list.entries()) {
    const place = { at: `${at}[${index}]`, kind: `${kind}[]` }
    if (isEmpty(one)) adjusted.empty(place.at)
    else kept.push(readAs(item, item.type === 'string' ? idOf(one, place.at, adjusted) : one, place, reading))
  }
  return kept.length === 0 && list.length > 0 ? undefined : kept
}

function listOf(item: Shape | undefined, value: unknown, at: string, adjusted: Adjustments): unknown[] {
  if (Array.isArray(value)) return value
  const nested = typeof value === 'string' ? nestedJson(value, 'array') : undefined
  if (Array.isArray(nested)) {
    adjusted.note(`${at} was read from a JSON string`)
    return nested
  }
  if (typeof value === 'string' && item?.type === 'string' && value.includes(',')) {
    adjusted.note(`${at} was read as a list, split at its commas`)
    return value.split(',')
  }
  adjusted.note(`${at} was read as a list of one`)
  return [value]
}

/** An id may come as an object with nothing but it in it. */
function idOf(value: unknown, at: string, adjusted: Adjustments): unknown {
  if (!isFields(value)) return value
  const [id, ...more] = Object.values(value)
  if (more.length > 0 || typeof id !== 'string') return value
  adjusted.note(`${at} was read as its only field`)
  return id
}

function readObject(shape: Shape, value: unknown, place: Place, reading: Reading): unknown {
  const { adjusted } = reading
  const at = place.at === '' ? 'the arguments were' : `${place.at} was`
  const nested = typeof value === 'string' ? nestedJson(value, 'object') : undefined
  if (isFields(nested)) adjusted.note(`${at} read from a JSON string`)
  const only = Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : undefined
  if (isFields(only)) adjusted.note(`${at} read as one object, not a list`)
  const fields = [value, nested, only].find(isFields)
  if (fields === undefined || shape.properties === undefined) return fields ?? value
  return readFields(shape, shape.properties, fields, place, reading)
}

function readFields(
  shape: Shape,
  properties: Readonly<Record<string, Shape>>,
  fields: Fields,
  { at, kind }: Place,
  reading: Reading,
): Fields {
  const { adjusted, aliases, names } = reading
  const known = Object.keys(properties)
  const read: Fields = {}
  for (const [key, field] of Object.entries(fields)) {
    const name = knownName(key, known, aliases[kind])
    const place = `${at === '' ? '' : `${at}.`}${name ?? shownName(key)}`
    const isNoName = typeof field === 'string' && name !== undefined && names.has(name) && namesNothing(field)
    if (isEmpty(field) || isNoName) {
      if (field !== undefined) adjusted.empty(place)
      continue
    }
    const inner = name === undefined ? undefined : properties[name]
    if (name === undefined || inner === undefined) {
      if (shape.additionalProperties === true) adjusted.note(`${place} was dropped: there is no such field`)
      else reading.unknown.push(`${place}: no such field; there are ${known.join(', ')}`)
      continue
    }
    if (name !== key) {
      const isGivenToo = Object.hasOwn(read, name) || (Object.hasOwn(fields, name) && !isEmpty(fields[name]))
      if (isGivenToo) {
        adjusted.note(`${shownName(key)} was dropped: ${place} is given too`)
        continue
      }
      adjusted.note(`${at === '' ? '' : `${at}.`}${shownName(key)} was read as ${name}`)
    }
    const result = readAs(inner, field, { at: place, kind: kind === '' ? name : `${kind}.${name}` }, reading)
    if (result === undefined) adjusted.empty(place)
    else read[name] = result
  }
  return read
}
