/**
 * What the model sees of a graph. Made once per entry and reused in every request, so that requests
 * stay the same to the byte and cost nothing to put together.
 */
import { deepFreeze, type ToolSchema } from '@deepseek-ai/dsh-llm'
import { copyJson } from './copy-json.ts'
import type { GraphEntry } from './types.ts'

const schemas = new WeakMap<GraphEntry, ToolSchema>()

function schemaOf(entry: GraphEntry): ToolSchema {
  let schema = schemas.get(entry)
  if (schema === undefined) {
    // Providers refuse a root that is no object, and some one without properties.
    const parameters = {
      ...copyJson(entry.parameters),
      type: 'object',
      properties: copyJson(entry.parameters.properties ?? {}),
    }
    schema = deepFreeze({ name: entry.name, description: entry.description, parameters })
    schemas.set(entry, schema)
  }
  return schema
}

/** The tool list of a request, in the order of the entries. */
export function toolSchemas(entries: readonly GraphEntry[]): ToolSchema[] {
  return entries.map(schemaOf)
}
