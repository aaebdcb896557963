/** The rules of a JSON schema that DSH's subset cannot enforce, as words for the model. */
import type { RawJsonSchema } from './zod-json.ts'

/** A longer pattern tells a model nothing that it could follow. */
const LONGEST_PATTERN = 120

type Phrase = (value: unknown, raw: RawJsonSchema) => string | undefined

function measured(text: (value: number) => string): Phrase {
  return (value) => (typeof value === 'number' ? text(value) : undefined)
}

/** Zod writes the range of safe integers on every integer. */
function bound(word: string): Phrase {
  return (value) =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? `${word} ${value}` : undefined
}

/** The number of items, unless the items are listed one by one. */
function counted(word: string): Phrase {
  return (value, raw) =>
    typeof value === 'number' && raw['prefixItems'] === undefined
      ? `${word} ${value} ${value === 1 ? 'item' : 'items'}`
      : undefined
}

function typeName(schema: unknown): string {
  const type: unknown =
    typeof schema === 'object' && schema !== null ? Reflect.get(schema, 'type') : undefined
  return typeof type === 'string' ? type : 'any'
}

const PHRASES: Readonly<Record<string, Phrase>> = {
  minLength: measured((value) => `at least ${value} characters`),
  maxLength: measured((value) => `at most ${value} characters`),
  format: (value) => (typeof value === 'string' ? `format ${value}` : undefined),
  // A format says the same in fewer words.
  pattern: (value, raw) =>
    typeof value === 'string' && value.length <= LONGEST_PATTERN && raw['format'] === undefined
      ? `matches /${value}/`
      : undefined,
  minimum: bound('at least'),
  exclusiveMinimum: measured((value) => `more than ${value}`),
  maximum: bound('at most'),
  exclusiveMaximum: measured((value) => `less than ${value}`),
  multipleOf: measured((value) => `a multiple of ${value}`),
  minItems: counted('at least'),
  maxItems: counted('at most'),
  uniqueItems: (value) => (value === true ? 'no item twice' : undefined),
  prefixItems: (value) =>
    Array.isArray(value) ? `items in order: ${value.map((item) => typeName(item)).join(', ')}` : undefined,
  additionalProperties: (value) =>
    typeName(value) === 'any' ? undefined : `values of other keys: ${typeName(value)}`,
}

/** One phrase a rule, in a fixed order. */
export function hintsOf(raw: RawJsonSchema): readonly string[] {
  const phrases: string[] = []
  for (const [keyword, phrase] of Object.entries(PHRASES)) {
    const text = raw[keyword] === undefined ? undefined : phrase(raw[keyword], raw)
    if (text !== undefined) phrases.push(text)
  }
  return phrases
}
