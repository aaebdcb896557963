/**
 * Zod for the tests, versions 3 and 4, from where LangGraph finds it: the package itself never loads
 * it. Typed as far as the tests go, and graphs over such schemas are typed loosely.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StateGraph, type CompiledStateGraph } from '@langchain/langgraph'

type Method = (...args: readonly unknown[]) => Schema

type Methods =
  | 'min'
  | 'max'
  | 'gt'
  | 'int'
  | 'length'
  | 'regex'
  | 'email'
  | 'optional'
  | 'nullable'
  | 'default'
  | 'describe'
  | 'refine'
  | 'transform'
  | 'pipe'
  | 'brand'
  | 'catch'
  | 'catchall'
  | 'multipleOf'
  | 'strict'
  | 'passthrough'
  | 'rest'
  | 'meta'

/** A zod schema of either version, with the methods that the tests use. */
export type Schema = object & { readonly [M in Methods]: Method }

type Makers =
  | 'string'
  | 'number'
  | 'boolean'
  | 'null'
  | 'any'
  | 'unknown'
  | 'never'
  | 'date'
  | 'bigint'
  | 'custom'
  | 'object'
  | 'strictObject'
  | 'array'
  | 'tuple'
  | 'record'
  | 'enum'
  | 'nativeEnum'
  | 'literal'
  | 'union'
  | 'discriminatedUnion'
  | 'intersection'
  | 'lazy'
  | 'preprocess'
  | 'email'
  | 'int'

export type Zod = { readonly [M in Makers]: Method }

const require = createRequire(import.meta.url)
const zodRoot = dirname(createRequire(require.resolve('@langchain/langgraph')).resolve('zod/package.json'))

async function load(file: string, query = ''): Promise<Zod> {
  return (await import(pathToFileURL(join(zodRoot, file)).href + query)) as Zod
}

export const z = await load('index.js')
export const z3 = await load('v3/index.js')
/** The small zod 4, whose schemas have no methods. */
export const zMini = await load('mini/index.js')
/** Zod 4 once more, as a second package would bring it: classes of its own. */
export const zCopy = createRequire(join(zodRoot, 'package.json'))('zod') as Zod

export type LooseState = Record<string, unknown>

/** A builder whose state types nobody follows. */
export interface LooseBuilder {
  readonly nodes: object
  addNode(name: string, node: (state: LooseState, config: object) => unknown, options?: object): this
  addEdge(from: string | string[], to: string): this
  addConditionalEdges(from: string, pick: (state: LooseState) => unknown, ways?: object): this
  compile(options?: object): CompiledStateGraph<LooseState, LooseState>
}

const LooseGraph = StateGraph as unknown as new (state: object, options?: object) => LooseBuilder

/** A builder over any kind of state. */
export function graphOver(state: object, options?: object): LooseBuilder {
  return new LooseGraph(state, options)
}

/** A one-node graph over any kind of state that ends with what it was given. */
export function keeping(state: object, options?: object): LooseBuilder {
  return graphOver(state, options)
    .addNode('keep', () => ({}))
    .addEdge('__start__', 'keep')
}
