/**
 * A clause played over a store that is restarted, or whose medium fails, between and within steps.
 *
 * Once undisturbed, all calls and answers of a clause are written down. Then the calls are made again
 * while one write fails; the call that met it is repeated, as a driver would, and all that follows
 * must go as it went before. Owns: recording, repeating, comparing. Does not own: the clauses.
 */
import assert from 'node:assert/strict'
import type { GraphControl } from '../port.ts'
import type { Clause } from './clause.ts'
import { type FaultPlace, type OpenedGraphStore, type OpenGraphStore, withStore } from './harness.ts'

interface Call {
  readonly method: keyof GraphControl
  readonly args: readonly unknown[]
  /** What it answered, or `refused` with a code. */
  readonly outcome: unknown
}

/** Plays a clause while the medium is opened anew before every call. */
export async function checkReopened(open: OpenGraphStore, { check }: Clause): Promise<void> {
  await withStore(open, async (opened) => {
    let newest = opened.store
    // Calls that a clause makes at once share a store; the first of them opened it.
    let [underWay, reopening] = [0, Promise.resolve()]
    await check(
      through(opened.store, async (method, args) => {
        if (underWay === 0) {
          reopening = opened.reopen().then((store) => void (newest = store))
        }
        underWay += 1
        try {
          await reopening
          return await invoke(newest, method, args)
        } finally {
          underWay -= 1
        }
      }),
    )
  })
}

/**
 * Plays a clause with a fault at each of its writes, before it is written and after.
 *
 * @param limit at most so many of its writes, spread over it.
 */
export async function checkWithFaults(
  open: OpenGraphStore,
  clause: Clause,
  limit: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  const calls = await record(open, clause)
  const { writesBefore, ends } = await withStore(open, (opened) => playAgain(opened, calls))
  const writes = writesBefore.at(-1) ?? 0
  for (const write of spread(writes, limit, clause.name.length)) {
    // The call that makes this write.
    const struck = writesBefore.findIndex((count) => count >= write) - 1
    for (const place of ['before', 'after'] as const) {
      for (const restarts of [false, true]) {
        const where = `write ${write} of ${writes} fails ${place} it is done${restarts ? ', then a restart' : ''}`
        const disturbance = { write, struck, place, restarts, where, ends }
        await withStore(open, (opened) => replay(opened, calls, disturbance))
      }
    }
  }
}

/** Numbers from 1 to `count`: all, or `limit` of them at even distances, beginning anywhere. */
function spread(count: number, limit: number, offset: number): readonly number[] {
  if (count <= limit) return Array.from({ length: count }, (_, index) => index + 1)
  return Array.from(
    { length: limit },
    (_, index) => 1 + ((Math.floor((index * count) / limit) + offset) % count),
  )
}

async function record(open: OpenGraphStore, { check }: Clause): Promise<readonly Call[]> {
  return withStore(open, async ({ store }) => {
    const groups: Call[][] = []
    let underWay = 0
    await check(
      through(store, async (method, args) => {
        // Calls made at once are one group; each has its place from its beginning.
        if (underWay === 0) groups.push([])
        const group = groups.at(-1) ?? []
        const at = group.length
        group.push({ method, args, outcome: undefined })
        underWay += 1
        const outcome = await outcomeOf(invoke(store, method, args))
        underWay -= 1
        group[at] = { method, args, outcome: outcome.told }
        return outcome.pass()
      }),
    )
    return groups.flatMap((group) => group.toSorted((one, other) => rankOf(one) - rankOf(other)))
  })
}

/**
 * Which of several calls made at once comes first is the medium's choice. Played one after the other they
 * come out the same where those that won come first and those that were refused come last.
 */
function rankOf({ outcome }: Call): number {
  if (typeof outcome !== 'object' || outcome === null) return 1
  if ('refused' in outcome) return 2
  return 'created' in outcome && outcome.created === true ? 0 : 1
}

/** One call after the other, undisturbed. @returns how many writes were made before each, and in all. */
async function playAgain(
  { store, medium }: OpenedGraphStore,
  calls: readonly Call[],
): Promise<{ writesBefore: readonly number[]; ends: unknown }> {
  const started = medium?.writes() ?? 0
  const writesBefore = [0]
  for (const { method, args, outcome } of calls) {
    assert.deepEqual((await outcomeOf(invoke(store, method, args))).told, outcome, `${method} played again`)
    writesBefore.push((medium?.writes() ?? 0) - started)
  }
  return { writesBefore, ends: await everything(store) }
}

interface Disturbance {
  readonly write: number
  /** Index of the call that makes the write. */
  readonly struck: number
  readonly place: FaultPlace
  readonly restarts: boolean
  readonly where: string
  readonly ends: unknown
}

async function replay(
  opened: OpenedGraphStore,
  calls: readonly Call[],
  disturbance: Disturbance,
): Promise<void> {
  const { medium } = opened
  const { write, struck, place, where, ends } = disturbance
  medium?.failWrite(medium.writes() + write, place)
  let { store } = opened
  for (const [index, call] of calls.entries()) {
    if (index === struck) {
      store = await playStruck({ ...opened, store }, call, disturbance)
    } else {
      const { told } = await outcomeOf(invoke(store, call.method, call.args))
      assert.deepEqual(told, call.outcome, `${where}: ${call.method}`)
    }
  }
  assert.deepEqual(await everything(store), ends, `${where}: the end`)
  assert.deepEqual(await everything(await opened.reopen()), ends, `${where}: the end after a restart`)
}

/** The call that meets the fault, and its repetition. @returns the store to go on with. */
async function playStruck(
  { store, reopen }: OpenedGraphStore,
  { method, args, outcome }: Call,
  { place, restarts, where }: Disturbance,
): Promise<GraphControl> {
  const before = await everything(store)
  const lost = await outcomeOf(invoke(store, method, args))
  assert.deepEqual(lost.told, { refused: 'unavailable' }, `${where}: ${method} hides the fault`)
  const memory = await everything(store)
  const next = restarts ? await reopen() : store
  assert.deepEqual(await everything(next), memory, `${where}: memory is not what the medium holds`)
  if (place === 'before' && !STEPWISE.has(method)) {
    assert.deepEqual(memory, before, `${where}: ${method} left something behind`)
  }
  const { told } = await outcomeOf(invoke(next, method, args))
  assert.deepEqual(withoutFlags(told), withoutFlags(outcome), `${where}: ${method} repeated`)
  return next
}

/** These write to more than one place; what they began, the repetition finds. */
const STEPWISE: ReadonlySet<keyof GraphControl> = new Set<keyof GraphControl>([
  'advanceEpoch',
  'createGraph',
  'settleActivation',
  'purge',
  'compact',
])

type Invoke = (method: keyof GraphControl, args: readonly unknown[]) => Promise<unknown>

/** A store whose every operation goes through `call`. */
function through(store: GraphControl, call: Invoke): GraphControl {
  return new Proxy(store, {
    get: (target, method) => {
      const held: unknown = Reflect.get(target, method)
      if (typeof held !== 'function') return held
      return (...args: readonly unknown[]) => call(method as keyof GraphControl, args)
    },
  })
}

function invoke(store: GraphControl, method: keyof GraphControl, args: readonly unknown[]): Promise<unknown> {
  const operation = store[method] as (...all: readonly unknown[]) => Promise<unknown>
  return operation.apply(store, args as unknown[])
}

async function outcomeOf(call: Promise<unknown>): Promise<{ told: unknown; pass(): unknown }> {
  const [outcome] = await Promise.allSettled([call])
  if (outcome.status === 'fulfilled') return { told: timeless(outcome.value), pass: () => outcome.value }
  const reason: unknown = outcome.reason
  const code =
    typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : String(reason)
  return {
    told: { refused: code },
    pass: () => {
      throw reason
    },
  }
}

/** Every graph, the epochs of their roots, and how they are listed. */
async function everything(store: GraphControl): Promise<unknown> {
  const { graphs, unreadable } = await store.listGraphs({ limit: 200 })
  const states = await Promise.all(graphs.map(({ graphId }) => store.readGraph(graphId)))
  const roots = [...new Set(graphs.flatMap(({ rootSessionId }) => rootSessionId ?? []))].sort()
  const epochs = await Promise.all(roots.map((root) => store.listEpochs(root)))
  return timeless({ states, epochs, unreadable })
}

/** Plain JSON, without what differs from run to run: times of the clock. */
function timeless(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, held: unknown) => {
      // The index is the state's own business.
      if (key.endsWith('At') || key === 'at' || key === 'index') return undefined
      return isMap(held) ? [...held.entries()] : held
    }),
  )
}

function isMap(value: unknown): value is ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return 'entries' in value && typeof value.entries === 'function'
}

/** What tells a first time from a repetition. */
const FLAGS: ReadonlySet<string> = new Set(['created', 'changed', 'acquired', 'attempt', 'previousState'])

function withoutFlags(told: unknown): unknown {
  if (typeof told === 'number') return 'a count'
  if (typeof told !== 'object' || told === null || Array.isArray(told)) return told
  return Object.fromEntries(Object.entries(told).filter(([key]) => !FLAGS.has(key)))
}
