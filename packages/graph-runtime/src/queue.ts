/**
 * The package-level queue between authors and plugin: every published definition, in order, and the
 * hosts that mount them. A definition stays known until it is taken back, because Node evaluates a
 * module once: what one life of the plugin mounted, the next one must find again.
 *
 * The queue hangs on `globalThis` under a registered symbol. A profile may resolve two copies of this
 * package, one for the plugin's row and one for a linked bundle of graphs, and both must meet here.
 * Several Cordis roots in one process each have a host, and each mounts every graph.
 */
import { recordOf } from './definition-record.ts'
import type { GraphDefinition } from './types.ts'

/** Mounts published definitions into one Cordis root. Never throws: it reports to its own log. */
export interface GraphHost {
  mount(definition: GraphDefinition): void
  unmount(definition: GraphDefinition): void
  /** A definition that takes the place of an earlier one. */
  replace(old: GraphDefinition, next: GraphDefinition): void
}

interface Published {
  readonly definition: GraphDefinition
  /** The synchronous run of code in which it was published. */
  readonly turn: number
}

interface Queue {
  /** In the order in which they are mounted. */
  readonly published: Published[]
  /** The same, by name: a second one of a name is rare, the first should cost no search. */
  readonly byName: Map<string, readonly Published[]>
  readonly hosts: Set<GraphHost>
  turn: number
  turnOpen: boolean
}

const QUEUE = Symbol.for('dsh-graph-runtime.queue@1')

function queue(): Queue {
  const holder = globalThis as { [QUEUE]?: Queue }
  return (holder[QUEUE] ??= {
    published: [],
    byName: new Map(),
    hosts: new Set(),
    turn: 0,
    turnOpen: false,
  })
}

/** Number of the current synchronous run. A module is evaluated in one; evaluated again, it is in a later one. */
function currentTurn(state: Queue): number {
  if (!state.turnOpen) {
    state.turn++
    state.turnOpen = true
    queueMicrotask(() => (state.turnOpen = false))
  }
  return state.turn
}

/**
 * Whether `next` takes the place of `old`: the author said so, or the same file defines the name anew
 * because it was edited or its plugin restarted. Two of one name in one evaluation are a mistake.
 */
function supersedes(next: Published, old: Published): boolean {
  if (next.definition.name !== old.definition.name) return false
  const record = recordOf(next.definition)
  if (record?.replace === true) return true
  const file = record?.origin().file
  return file !== undefined && next.turn !== old.turn && file === recordOf(old.definition)?.origin().file
}

function isValid({ definition }: Published): boolean {
  return recordOf(definition)?.problem === undefined
}

/** Puts `next` where `old` was, at the end without an `old`, or takes `old` out without a `next`. */
function put(state: Queue, old: Published | undefined, next: Published | undefined): void {
  const at = old === undefined ? state.published.length : state.published.indexOf(old)
  state.published.splice(at, old === undefined ? 0 : 1, ...(next === undefined ? [] : [next]))
  const name = (next ?? old)?.definition.name ?? ''
  const namesakes = (state.byName.get(name) ?? []).filter((item) => item !== old)
  if (next !== undefined) namesakes.push(next)
  if (namesakes.length > 0) state.byName.set(name, namesakes)
  else state.byName.delete(name)
}

/** Makes a definition known and mounts it wherever the plugin is live. */
export function publish(definition: GraphDefinition): void {
  const state = queue()
  const next: Published = { definition, turn: currentTurn(state) }
  const stale = (state.byName.get(definition.name) ?? []).filter((old) => supersedes(next, old))
  for (const old of stale) if (!isValid(old)) put(state, old, undefined)
  const old = isValid(next) ? stale.find(isValid) : undefined
  put(state, old, next)
  for (const host of state.hosts) {
    if (old === undefined) host.mount(definition)
    else host.replace(old.definition, definition)
  }
}

/** Forgets a definition and unmounts it everywhere. Idempotent. */
export function withdraw(definition: GraphDefinition): void {
  const state = queue()
  const known = state.byName.get(definition.name)?.find((item) => item.definition === definition)
  if (known === undefined) return
  put(state, known, undefined)
  for (const host of state.hosts) host.unmount(definition)
}

/**
 * Hands a host everything published so far, in order, and everything to come.
 *
 * @returns stops that; what was mounted is the host's to unmount.
 */
export function attach(host: GraphHost): () => void {
  const state = queue()
  // A factory that runs while its graph is mounted may publish more; that comes through the host.
  const known = state.published.slice()
  state.hosts.add(host)
  for (const { definition } of known) host.mount(definition)
  return () => void state.hosts.delete(host)
}
