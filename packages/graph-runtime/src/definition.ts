/**
 * The two doors for authors. `createGraphDefinition` makes a definition and throws when the
 * declaration is wrong. `defineGraph` makes one and publishes it, and never throws: it runs while
 * modules load, where a throw would break every graph of the barrel and the host with it.
 */
import { withRecord, type DefinitionRecord, type NamedGraph } from './definition-record.ts'
import { GraphDefinitionError, messageOf } from './errors.ts'
import { GraphSource } from './graph-source.ts'
import { nameProblem } from './names.ts'
import { callSite } from './origin.ts'
import { publish, withdraw } from './queue.ts'
import { checkSettings, flag } from './settings.ts'
import type { GraphDefinition, GraphDefinitionOptions, PublishedGraphDefinition } from './types.ts'

type Site = DefinitionRecord['origin']

interface Checked {
  readonly named: NamedGraph
  readonly asTool: boolean
  readonly asGraphTool: boolean
  readonly asOperator: boolean
  readonly replace: boolean
}

/** @throws {GraphDefinitionError} all that is wrong with the declaration. */
function check(options: GraphDefinitionOptions): Checked {
  if (typeof options !== 'object' || options === null) {
    throw new GraphDefinitionError(undefined, ['pass an object with name and build'])
  }
  const problems: string[] = []
  const { name, build } = options
  const nameFault = nameProblem(name)
  if (nameFault !== undefined) problems.push(nameFault)
  if (typeof build !== 'function') problems.push('build must be a function that returns the graph')
  const settings = checkSettings(options, problems)
  const flags = {
    asTool: flag(options, 'asTool', false, problems),
    asGraphTool: flag(options, 'asGraphTool', true, problems),
    asOperator: flag(options, 'asOperator', false, problems),
    replace: flag(options, 'replace', false, problems),
  }
  if (flags.asOperator && !flags.asGraphTool) {
    problems.push('asOperator needs asGraphTool: agent graphs look their operators up in ctx.graphTools')
  }
  if (problems.length > 0)
    throw new GraphDefinitionError(typeof name === 'string' ? name : undefined, problems)
  return { named: { name, source: new GraphSource(name, () => build()), settings }, ...flags }
}

function assemble<D extends object>(
  options: GraphDefinitionOptions,
  checked: Checked,
  origin: Site,
  extra: D,
): GraphDefinition & D {
  const { named, asTool, asGraphTool, asOperator, replace } = checked
  const { replace: _, ...visible } = options
  const definition: GraphDefinition & D = { ...visible, asTool, asGraphTool, asOperator, ...extra }
  Object.freeze(withRecord(definition, { named, problem: undefined, replace, origin }))
  return definition
}

/** Stands for a declaration that cannot be mounted, so that the module that holds it still loads. */
function invalidDefinition(
  options: unknown,
  error: unknown,
  origin: Site,
  dispose: () => void,
): PublishedGraphDefinition {
  const name: unknown = typeof options === 'object' && options !== null ? readName(options) : undefined
  const known = typeof name === 'string' && name !== '' ? name : undefined
  const problem =
    error instanceof GraphDefinitionError
      ? error
      : new GraphDefinitionError(known, [messageOf(error)], { cause: error })
  const build = (): never => {
    throw problem
  }
  const definition: PublishedGraphDefinition = {
    name: known ?? '(unnamed)',
    build,
    asTool: false,
    asGraphTool: false,
    asOperator: false,
    dispose,
  }
  return Object.freeze(withRecord(definition, { named: undefined, problem, replace: false, origin }))
}

function readName(options: object): unknown {
  try {
    return Reflect.get(options, 'name')
  } catch {
    return undefined
  }
}

/**
 * Makes a graph definition without publishing it; mount it with `ctx.graphTools.mount`.
 *
 * @throws {GraphDefinitionError} a declaration that is wrong.
 */
export function createGraphDefinition(options: GraphDefinitionOptions): GraphDefinition {
  return assemble(options, check(options), callSite(createGraphDefinition), {})
}

/**
 * Defines a graph and publishes it: it is mounted wherever the plugin is live, at once or as soon as
 * the plugin loads, and again after each reload. Needs no context.
 *
 * Never throws. A declaration that is wrong, or a name that is taken, gives one warning in the log
 * and the graph is skipped. A definition of the same name from the same file, made later on, takes
 * the place of the earlier one; `replace: true` does that across files.
 *
 * @returns the definition; its `dispose` takes it back.
 */
export function defineGraph(options: GraphDefinitionOptions): PublishedGraphDefinition {
  const origin = callSite(defineGraph)
  const dispose = (): void => withdraw(definition)
  let definition: PublishedGraphDefinition
  try {
    definition = assemble(options, check(options), origin, { dispose })
  } catch (error) {
    definition = invalidDefinition(options, error, origin, dispose)
  }
  publish(definition)
  return definition
}
