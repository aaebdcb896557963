/**
 * Reads a graph's structure and puts it in words. Only `nodes` and `channels` are read, nothing is
 * compiled, and an object that lacks them, or whose getters throw, simply has no shape.
 * The same structure gives the same text, so that a provider's prompt cache holds.
 */
import type { GraphShape, GraphStateKey } from './types.ts'

/** Names listed in full; the rest is counted, so that a big graph does not fill the prompt. */
const LISTED = 24

const ROOT_STATE = '__root__'

/** LangGraph's own bookkeeping: `__start__`, `__pregel_tasks`, `__error_handler__x`, `branch:to:x`, `join:a:b`. */
export function isInternal(name: string): boolean {
  return name.startsWith('__') || name.startsWith('branch:') || name.startsWith('join:')
}

/** Channels that fold writes instead of replacing the value, by LangGraph's own name of the channel. */
const ACCUMULATING: ReadonlySet<unknown> = new Set(['BinaryOperatorAggregate', 'DeltaChannel', 'Topic'])

function recordAt(holder: object, key: string): Record<string, unknown> | undefined {
  const value: unknown = Reflect.get(holder, key)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

function stateKey(name: string, channel: unknown): GraphStateKey {
  const kind: unknown =
    typeof channel === 'object' && channel !== null ? Reflect.get(channel, 'lc_graph_name') : undefined
  return Object.freeze({ name, accumulated: ACCUMULATING.has(kind) })
}

/** The structure of a builder or a compiled graph, or `undefined` where it does not show one. */
export function shapeOf(graph: object): GraphShape | undefined {
  try {
    const nodes = recordAt(graph, 'nodes')
    const channels = recordAt(graph, 'channels')
    if (nodes === undefined || channels === undefined) return undefined
    const stateKeys = Object.keys(channels)
      .filter((name) => !isInternal(name))
      .map((name) => stateKey(name, channels[name]))
    return Object.freeze({
      nodes: Object.freeze(Object.keys(nodes).filter((name) => !isInternal(name))),
      stateKeys: Object.freeze(stateKeys),
      rootState: Object.hasOwn(channels, ROOT_STATE),
    })
  } catch {
    return undefined
  }
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, LISTED).join(', ')
  return names.length > LISTED ? `${shown} and ${names.length - LISTED} more` : shown
}

function listedKeys(shape: GraphShape): string {
  return listed(shape.stateKeys.map((key) => (key.accumulated ? `${key.name} (accumulated)` : key.name)))
}

/** The description of a graph whose author wrote none. */
export function describeGraph(name: string, shape: GraphShape | undefined): string {
  if (shape === undefined || shape.nodes.length === 0) return `Runs the graph "${name}".`
  const nodes = `Runs the graph "${name}" with nodes: ${listed(shape.nodes)}.`
  if (shape.rootState) return `${nodes} Its state is a single value.`
  return shape.stateKeys.length === 0 ? nodes : `${nodes} State keys: ${listedKeys(shape)}.`
}

/** The description of the one `input` parameter of a graph whose author declared no parameters. */
export function describeInput(shape: GraphShape | undefined): string {
  const input = 'The input of the graph.'
  if (shape === undefined) return input
  if (shape.rootState) return `${input} The state is a single value without keys.`
  return shape.stateKeys.length === 0 ? input : `${input} Expected state keys: ${listedKeys(shape)}.`
}

/** The name an author gave to `compile({ name })`. LangGraph's class default is no name. */
export function ownName(graph: object): string | undefined {
  return ownText(graph, 'name', 'LangGraph')
}

/** The description an author gave to `compile({ description })`. */
export function ownDescription(graph: object): string | undefined {
  return ownText(graph, 'description')
}

function ownText(graph: object, key: string, none?: string): string | undefined {
  try {
    const text: unknown = Reflect.get(graph, key)
    return typeof text === 'string' && text !== '' && text !== none ? text : undefined
  } catch {
    return undefined
  }
}
