/**
 * Templates with captured values. Pure: reading one reports its faults as text, filling one in needs the
 * values of a conversation and fails when one is missing.
 */
import { ScriptedLlmError } from './errors.ts'

/** What a capture found: text, a number, or a list of them. */
export type CapturedValue = string | number | readonly (string | number)[]

/** Literal text and places for captured values, in order. */
export type Template = readonly (string | { readonly capture: string })[]

/** A JSON value with templates in place of its strings. */
export type JsonTemplate =
  | { readonly kind: 'constant'; readonly value: number | boolean | null }
  | { readonly kind: 'text'; readonly template: Template }
  | { readonly kind: 'list'; readonly items: readonly JsonTemplate[] }
  | { readonly kind: 'record'; readonly entries: readonly (readonly [string, JsonTemplate])[] }

/** Values of one conversation. A map, so that a value may bear any name. */
export type Captures = ReadonlyMap<string, CapturedValue>

/** What a captured value may be called: a letter or `_`, then letters, digits, `_` and `-`. */
export const CAPTURE_NAME = /^[A-Za-z_][\w-]*$/

const PLACE = /\$\$\{|\$\{([^}]*)(\}?)/g

/**
 * Reads a template.
 *
 * @returns the template, and what is wrong with it; the template is usable only when nothing is.
 */
export function readTemplate(source: string): { template: Template; faults: readonly string[] } {
  const template: (string | { readonly capture: string })[] = []
  const faults: string[] = []
  let literal = ''
  let end = 0
  for (const place of source.matchAll(PLACE)) {
    literal += source.slice(end, place.index)
    end = place.index + place[0].length
    const name = place[1]
    if (name === undefined) {
      literal += '${'
    } else if (place[2] === '}' && CAPTURE_NAME.test(name)) {
      if (literal !== '') template.push(literal)
      literal = ''
      template.push({ capture: name })
    } else {
      const shown = place[0].length > 40 ? `${place[0].slice(0, 40)}…` : place[0]
      faults.push(`${JSON.stringify(shown)} names no captured value; write "$\${" for a literal "\${"`)
    }
  }
  literal += source.slice(end)
  if (literal !== '') template.push(literal)
  return { template, faults }
}

/** The names that a template needs. */
export function namesIn(template: Template): string[] {
  return template.flatMap((part) => (typeof part === 'string' ? [] : [part.capture]))
}

/** The names that the strings of a JSON value need. */
export function namesInJson(template: JsonTemplate): string[] {
  switch (template.kind) {
    case 'constant':
      return []
    case 'text':
      return namesIn(template.template)
    case 'list':
      return template.items.flatMap(namesInJson)
    case 'record':
      return template.entries.flatMap(([, value]) => namesInJson(value))
  }
}

/** @throws ScriptedLlmError `unknown-capture` for a value that was never captured. */
export function fillTemplate(template: Template, captures: Captures): string {
  return template
    .map((part) => {
      if (typeof part === 'string') return part
      const value = captured(part.capture, captures)
      return Array.isArray(value) ? value.join(', ') : String(value)
    })
    .join('')
}

/** @throws ScriptedLlmError `unknown-capture` for a value that was never captured. */
export function fillJson(template: JsonTemplate, captures: Captures): unknown {
  switch (template.kind) {
    case 'constant':
      return template.value
    case 'text': {
      const [only, ...rest] = template.template
      if (typeof only === 'object' && rest.length === 0) return captured(only.capture, captures)
      return fillTemplate(template.template, captures)
    }
    case 'list':
      return template.items.map((item) => fillJson(item, captures))
    case 'record': {
      // Without a prototype, "__proto__" is a key like any other.
      const record = Object.create(null) as Record<string, unknown>
      for (const [key, value] of template.entries) record[key] = fillJson(value, captures)
      return record
    }
  }
}

function captured(name: string, captures: Captures): CapturedValue {
  const value = captures.get(name)
  if (value !== undefined) return value
  const known = [...captures.keys()].join(', ')
  throw new ScriptedLlmError(
    'unknown-capture',
    `the template \${${name}} has no value: this conversation captured ${known === '' ? 'nothing' : known}`,
  )
}
