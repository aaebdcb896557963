/** What a model is offered for a graph without declared parameters, and the schema that most tests offer. */
import type { JsonSchemaNode } from '@deepseek-ai/dsh-tools'
import type { GraphDefinitionOptions, GraphLike } from '../src/index.ts'
import { bootGraphs, define } from './host.ts'
import type { Schema, Zod } from './zod.ts'

/** Mounts the graph as the tool `g`. */
export async function offered(build: () => object, options: Partial<GraphDefinitionOptions> = {}) {
  const host = await bootGraphs()
  define({ name: 'g', description: 'd', asTool: true, build: build as () => GraphLike, ...options })
  const schema = host.ctx
    .get('tools')
    ?.schemas()
    .find((tool) => tool.name === 'g')?.parameters as JsonSchemaNode | undefined
  if (schema === undefined) throw new Error(`not offered: ${host.warnings().join('; ')}`)
  return { host, schema, call: (args: unknown) => host.call('g', args) }
}

/** The same schema in the version of zod that is given. */
export function person(zod: Zod): Schema {
  return zod.object({
    name: zod.string().min(3).describe('Who.'),
    age: zod.number().int().min(1).max(150).default(30),
    tags: zod
      .array(zod.enum(['a', 'b']))
      .min(1)
      .optional(),
    id: zod.union([zod.string(), zod.number()]),
    shape: zod.discriminatedUnion('kind', [
      zod.object({ kind: zod.literal('circle'), r: zod.number() }),
      zod.object({ kind: zod.literal('dot') }),
    ]),
    note: zod.string().nullable(),
  })
}

/** What becomes of it as an explicit input. */
export const PERSON = {
  type: 'object',
  required: ['name', 'id', 'shape', 'note'],
  properties: {
    name: { type: 'string', description: 'Who. (at least 3 characters)' },
    age: { type: 'integer', description: '(at least 1; at most 150)', default: 30 },
    tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, description: '(at least 1 item)' },
    id: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    shape: {
      oneOf: [
        {
          type: 'object',
          properties: { kind: { type: 'string', const: 'circle' }, r: { type: 'number' } },
          required: ['kind', 'r'],
          additionalProperties: true,
        },
        {
          type: 'object',
          properties: { kind: { type: 'string', const: 'dot' } },
          required: ['kind'],
          additionalProperties: true,
        },
      ],
    },
    note: { oneOf: [{ type: 'string' }, { type: 'null' }] },
  },
}
