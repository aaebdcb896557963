/**
 * Unions within DSH's subset, where exactly one branch must match. Branches that no value can match
 * twice stay branches; all others are merged into one that accepts what either accepts.
 */
import type { JsonSchemaNode, JsonSchemaScalar } from '@deepseek-ai/dsh-tools'
import { setOwn } from './copy-json.ts'

/** The values a node is limited to, `undefined` where it is not. */
function valuesOf(node: JsonSchemaNode): readonly JsonSchemaScalar[] | undefined {
  return Object.hasOwn(node, 'const') ? [node.const as JsonSchemaScalar] : node.enum
}

/** Whether a key that both must have tells the two objects apart. */
function areDiscriminated(a: JsonSchemaNode, b: JsonSchemaNode): boolean {
  return (a.required ?? []).some((key) => {
    if (b.required?.includes(key) !== true) return false
    const left = valuesOf(a.properties?.[key] ?? {})
    const right = valuesOf(b.properties?.[key] ?? {})
    return left !== undefined && right !== undefined && !left.some((value) => right.includes(value))
  })
}

function mergeScalars(
  nodes: readonly JsonSchemaNode[],
  type: 'string' | 'number' | 'boolean',
): JsonSchemaNode {
  const integers = type === 'number' && nodes.every((node) => node.type === 'integer')
  const merged: JsonSchemaNode = { type: integers ? 'integer' : type }
  const lists = nodes.map(valuesOf)
  if (lists.includes(undefined)) return merged
  const values = Array.from(new Set(lists.flatMap((list) => list ?? [])))
  return values.length === 1
    ? { ...merged, const: values[0] as JsonSchemaScalar }
    : { ...merged, enum: values }
}

function mergeArrays(nodes: readonly JsonSchemaNode[]): JsonSchemaNode {
  const items = nodes.flatMap((node) => node.items ?? [])
  return items.length === nodes.length ? { type: 'array', items: unionOf(items) } : { type: 'array' }
}

function declares(node: JsonSchemaNode, key: string): boolean {
  return node.properties !== undefined && Object.hasOwn(node.properties, key)
}

/** Any JSON, with the type that it usually has. */
function toldOnly(node: JsonSchemaNode): JsonSchemaNode {
  const types = (node.oneOf ?? [node]).flatMap(({ type }) => type ?? [])
  const told = types.length > 0 ? `(in some cases ${types.join(' or ')})` : undefined
  const description = [node.description, told].filter((part) => part !== undefined).join(' ')
  return description === '' ? {} : { description }
}

function mergeObjects(nodes: readonly JsonSchemaNode[]): readonly JsonSchemaNode[] {
  const apart = nodes.every((a, at) => nodes.slice(at + 1).every((b) => areDiscriminated(a, b)))
  if (apart) return nodes
  const found = new Map<string, JsonSchemaNode[]>()
  for (const node of nodes) {
    for (const [key, value] of Object.entries(node.properties ?? {})) {
      found.set(key, [...(found.get(key) ?? []), value])
    }
  }
  const properties: Record<string, JsonSchemaNode> = {}
  for (const [key, values] of found) {
    // A branch that leaves the key open takes anything there; the others' wishes are told in words.
    const free = nodes.some((node) => node.additionalProperties !== false && !declares(node, key))
    setOwn(properties, key, free ? toldOnly(unionOf(values)) : unionOf(values))
  }
  const required = (nodes[0]?.required ?? []).filter((key) =>
    nodes.every((node) => node.required?.includes(key) === true),
  )
  const open = nodes.some((node) => node.additionalProperties !== false)
  return [
    {
      type: 'object',
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: open,
    },
  ]
}

/** One node, or several that exclude each other, for branches of one type. */
function merge(type: string, nodes: readonly JsonSchemaNode[]): readonly JsonSchemaNode[] {
  if (nodes.length === 1) return nodes
  switch (type) {
    case 'object':
      return mergeObjects(nodes)
    case 'array':
      return [mergeArrays(nodes)]
    case 'string':
    case 'number':
    case 'boolean':
      return [mergeScalars(nodes, type)]
    default:
      return nodes.slice(0, 1)
  }
}

/** The node that accepts what any of the branches accepts; at least one branch. */
export function unionOf(branches: readonly JsonSchemaNode[]): JsonSchemaNode {
  const flat = branches.flatMap((branch) => branch.oneOf ?? branch)
  const byType = new Map<string, JsonSchemaNode[]>()
  for (const node of flat) {
    // Any JSON: nothing else matters.
    if (node.type === undefined) return {}
    const type = node.type === 'integer' ? 'number' : node.type
    byType.set(type, [...(byType.get(type) ?? []), node])
  }
  const merged = Array.from(byType).flatMap(([type, nodes]) => merge(type, nodes))
  return merged.length === 1 && merged[0] !== undefined ? merged[0] : { oneOf: [...merged] }
}
