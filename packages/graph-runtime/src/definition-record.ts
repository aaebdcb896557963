/**
 * What a graph definition carries besides its visible fields. It hangs on the definition under a
 * registered symbol, so that the plugin also mounts definitions made by another copy of this package.
 * Whoever changes the shape changes the version in the symbol.
 */
import type { GraphDefinitionError } from './errors.ts'
import type { GraphSource } from './graph-source.ts'
import type { CheckedSettings } from './settings.ts'
import type { GraphDefinition } from './types.ts'

const RECORD = Symbol.for('dsh-graph-runtime.definition@1')

/** A graph under its name, with its checked declaration. */
export interface NamedGraph {
  readonly name: string
  readonly source: GraphSource
  readonly settings: CheckedSettings
}

/** Where a definition was made. */
export interface Origin {
  /** File without position or query, if the stack told. */
  readonly file: string | undefined
  /** File with position, for people. */
  readonly place: string | undefined
}

export interface DefinitionRecord {
  /** The graph to mount; absent when the declaration is invalid. */
  readonly named: NamedGraph | undefined
  /** Why the declaration cannot be mounted. */
  readonly problem: GraphDefinitionError | undefined
  /** Takes the place of an earlier definition of the same name from anywhere. */
  readonly replace: boolean
  readonly origin: () => Origin
}

/** Puts the record on a definition. */
export function withRecord<D extends GraphDefinition>(definition: D, record: DefinitionRecord): D {
  return Object.defineProperty(definition, RECORD, { value: record })
}

/** The record of a definition, `undefined` for anything else. */
export function recordOf(value: unknown): DefinitionRecord | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, RECORD)) return undefined
  return Reflect.get(value, RECORD) as DefinitionRecord
}
