/** Every field of every operation of the port, with everything that does not belong there. */
import { describe, expect, it } from 'vitest'
import type { GraphControl, GraphControlStore, JsonValue } from '../src/index.ts'
import {
  begin,
  claimRequest,
  commit,
  GRAPH,
  openGraph,
  provisionRequest,
  ROOT,
  settlement,
  update,
  work,
} from './fixture.ts'

type Operation = Exclude<keyof GraphControl, 'leased' | 'onCommitted' | 'close'>

const everyField = update('hostile', {
  addWork: [
    work('x', {
      inputIds: ['a'],
      selectedResultInputs: [{ sourceGraphId: 'g', resultId: 'r' }],
      when: 'all',
      forEach: 'a',
      replay: 'safe',
      replaces: 'b',
      replacementMode: 'replace',
      title: 'Title',
      model: 'm',
      effort: 'low',
    }),
  ],
  stop: [{ targetId: 'a', reason: 'r', cascadeDownstream: true }],
  retry: [{ workId: 'b', reason: 'r' }],
  draft: 'open',
  finish: { resultIds: ['r'], reason: 'r' },
})

const wake = { graphId: GRAPH, wakeId: 'w', snapshotVersion: 0, rootSessionId: ROOT }
const attempt = { graphId: GRAPH, wakeId: 'w', attemptId: 'x' }
const edges = [{ edgeId: 'e', fromOperatorId: 'o', toOperatorId: 'p' }]
const { conclusion: _, ...silent } = settlement('a')

/** A well-formed call of each operation, with every field it takes. */
const CALLS: Readonly<Record<Operation, readonly unknown[]>> = {
  listEpochs: [ROOT],
  currentEpoch: [ROOT],
  advanceEpoch: [{ rootSessionId: ROOT, expectedEpoch: 0 }],
  createGraph: [{ graphId: 'g', rootSessionId: ROOT }],
  listGraphs: [{ rootSessionId: ROOT, cursor: 'c', limit: 5 }],
  listOpenGraphs: [],
  readGraph: [GRAPH],
  readTimeline: [{ graphId: GRAPH, afterSeq: 0, limit: 5 }],
  readChanges: [GRAPH, 0],
  commitScheduleUpdate: [everyField],
  listScheduleUpdates: [GRAPH],
  readScheduleUpdate: [GRAPH, 'u'],
  provisionOperator: [{ ...provisionRequest('a', 1), edges }],
  listOperatorProvisions: [GRAPH],
  readOperatorProvision: [GRAPH, 'p'],
  bindOperatorWorktree: [
    { graphId: GRAPH, provisionId: 'p', leaseKey: 'l', path: '/t', branch: 'b', baseCommit: 'c' },
  ],
  readOperatorBinding: [GRAPH, 'p'],
  readOperatorBindingByWork: [GRAPH, 'a'],
  listOperatorBindings: [GRAPH],
  claimIntentAtScheduleRevision: [{ ...claimRequest('b'), readinessContextFingerprint: 'f' }, 1],
  claimIntent: [{ ...claimRequest('b'), readinessContextFingerprint: 'f' }],
  readAgentGraphIntentClaim: [GRAPH, 'i'],
  listAgentGraphIntentClaims: [GRAPH],
  beginAgentGraphIntentExecutionAtScheduleRevision: [GRAPH, 'i', 1],
  rearmAgentGraphIntentForReplay: [GRAPH, 'i'],
  cancelAgentGraphIntentExecution: [GRAPH, 'i', 'reason'],
  retryActivation: [GRAPH, claimRequest('a').claimId, 1, 'reason', { notBefore: 1 }],
  holdActivation: [
    { graphId: GRAPH, claimId: claimRequest('a').claimId, attempt: 1, kind: 'person', reason: 'r' },
  ],
  settleActivation: [
    { ...silent, usage: { inputTokens: 1, outputTokens: 1 }, artifacts: [{ name: 'n', text: 't' }] },
  ],
  registerWait: [{ graphId: GRAPH, waitId: 'w', until: 'any', reason: 'r' }],
  acknowledgeChanges: [GRAPH, 0],
  claimSupervisorWake: [wake],
  scheduleSupervisorWake: [{ ...wake, dueAt: 1, recurMs: 1 }],
  beginSupervisorWakeAttempt: [{ ...attempt, turnId: 't', maxAttempts: 1 }],
  completeSupervisorWakeAttempt: [{ ...attempt, status: 'delivered', retryAt: 1 }],
  exhaustSupervisorWake: [GRAPH, 'w', 'reason'],
  supersedeSupervisorWakes: [GRAPH, 'reason'],
  recoverSupervisorWakes: [GRAPH],
  readSupervisorWake: [GRAPH, 'w'],
  listSupervisorWakeAttempts: [GRAPH, 'w'],
  listUnsettledSupervisorWakes: [GRAPH],
  listRetryableSupervisorWakes: [GRAPH],
  readResult: [GRAPH, 'r', { offset: 0, limit: 5 }],
  purge: [ROOT],
  compact: [ROOT],
  snapshot: [GRAPH],
}

/** Told in whatever words it comes: any string is taken, anything else is not. */
const TAKES_ANY_TEXT = new Set([
  'retryActivation 3',
  'holdActivation 0.reason',
  'settleActivation 0.artifacts.0.text',
])

const half = 'half \ud800 pair'
const million = Array.from({ length: 1_000_000 }, (_item, n) => `id${n}`)
const bare: unknown = Object.create(null)
const revoked = (() => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
})()
const trap = Object.defineProperty({}, 'graphId', {
  enumerable: true,
  get: () => {
    throw new Error('trap')
  },
})

const WRONG_KIND = [null, 7n, Symbol('s'), () => 1, bare, revoked, new Date(0)]

/** What must not be where `value` is. */
function badFor(value: unknown, path: string): readonly unknown[] {
  if (typeof value === 'string') {
    const texts = ['', 'a\u0007b', 'nul\u0000', half, 'x'.repeat(70_000), '\u009f']
    return [...WRONG_KIND, 7, true, {}, [], ...(TAKES_ANY_TEXT.has(path) ? [] : texts)]
  }
  if (typeof value === 'number') {
    return [...WRONG_KIND, '1', NaN, Infinity, -1, 0.5, 2 ** 53, {}, [], true]
  }
  if (typeof value === 'boolean') return [...WRONG_KIND, 'true', 1, {}]
  if (Array.isArray(value)) {
    return [...WRONG_KIND, 'text', 7, { length: 1 }, million, [undefined], [[]], [value[0], value[0]]]
  }
  const own = value as object
  return [
    ...WRONG_KIND.filter((bad) => bad !== bare),
    'text',
    7,
    [own],
    { ...own, extra: 1 },
    JSON.parse(JSON.stringify(own).replace('{', '{"__proto__":{},')),
    Object.create(own),
    trap,
  ]
}

function isOptional(path: string): boolean {
  return ['retryActivation 4', 'listGraphs 0', 'readResult 2'].includes(path)
}

function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value === revoked) return false
  return !Array.isArray(value) && Object.keys(value).length === 0
}

/** Every place in a value: the value with something else there. */
function* places(
  value: unknown,
  path: string,
): Generator<{ path: string; bad: unknown; put: (held: unknown) => unknown }> {
  // An object without fields of its own is a request without options.
  const bads = badFor(value, path).filter((bad) => !isOptional(path) || !isEmptyObject(bad))
  for (const bad of bads) yield { path, bad, put: (held) => held }
  if (typeof value !== 'object' || value === null) return
  for (const [key, held] of Object.entries(value)) {
    for (const inner of places(held, `${path}.${key}`)) {
      yield {
        ...inner,
        put: (bad) => {
          const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value }
          Object.defineProperty(copy, key, { value: inner.put(bad), enumerable: true })
          return copy
        },
      }
    }
  }
}

async function prepared() {
  const opened = await openGraph()
  await commit(opened.store, 'c1', { addWork: [work('a'), work('b')] })
  await begin(opened.store, 'a')
  return opened
}

function call(store: GraphControlStore, operation: Operation, args: readonly unknown[]): Promise<unknown> {
  const method = store[operation] as (...all: readonly unknown[]) => Promise<unknown>
  return method.apply(store, args as unknown[])
}

describe('hostile fields', () => {
  const operations = Object.entries(CALLS).filter(([, args]) => args.length > 0) as [
    Operation,
    readonly unknown[],
  ][]

  it.each(operations)(
    'of %s are refused, each by name, and write nothing',
    async (operation, args) => {
      const { store, log } = await prepared()
      const before = await log.list()
      const wrong: string[] = []
      for (const [index, arg] of args.entries()) {
        for (const { path, bad, put } of places(arg, `${operation} ${index}`)) {
          const hostile = args.with(index, put(bad))
          const error: unknown = await call(store, operation, hostile).then(
            () => 'not refused',
            (reason: unknown) => reason,
          )
          const { code, name } = error as { code?: unknown; name?: unknown }
          if (code !== 'invalid' || name !== 'GraphControlError') wrong.push(`${path}: ${String(error)}`)
        }
      }
      expect(wrong).toEqual([])
      expect(await log.list()).toEqual(before)
    },
    60_000,
  )

  it('are sound in the calls that the others are made of', async () => {
    const outcomes: string[] = []
    for (const [operation, args] of operations) {
      const { store } = await prepared()
      const error = await call(store, operation, args).then(
        () => undefined,
        (reason: unknown) => reason as { code: string },
      )
      if (error?.code === 'invalid') outcomes.push(`${operation}: ${String(error)}`)
    }
    // It says everything at once: no update both finishes a graph and adds to it, nor opens a draft late.
    expect(outcomes).toEqual([])
  })
})

describe('hostile arguments of a code graph', () => {
  const deep = (levels: number): JsonValue => (levels === 0 ? 0 : [deep(levels - 1)])
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic

  it.each<[string, unknown]>([
    ['no number', NaN],
    ['a function', { run: () => 1 }],
    ['a key __proto__', JSON.parse('{"__proto__":{"polluted":true}}')],
    ['half a surrogate pair', { text: half }],
    ['half a surrogate pair in a key', { [half]: 1 }],
    ['a class', { at: new Date(0) }],
    ['more than 64 levels', deep(70)],
    ['a circle', cyclic],
    ['more than 64 KiB', 'x'.repeat(65_536)],
    ['a million items', million],
    ['a bigint', { n: 1n }],
    ['undefined inside', { gap: undefined }],
  ])('holding %s are refused', async (_title, args) => {
    const { store, log } = await openGraph()
    const before = await log.list()
    const added = { ...work('a', { target: { kind: 'graph', id: 'g' } }), args: args as JsonValue }
    const request = { ...update('c1'), addWork: [added] }
    await expect(store.commitScheduleUpdate(request)).rejects.toMatchObject({ code: 'invalid' })
    expect(await log.list()).toEqual(before)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('are kept as they came, frozen, and come back after a restart', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    const args = { '': [null, true, 'é😀'], constructor: { toString: 1.5 }, deep: deep(60) }
    const added = work('a', { target: { kind: 'graph', id: 'g' }, args })
    await commit(store, 'c1', { addWork: [added] })
    const reopened = await reopenStore()
    const kept = (await reopened.readGraph(GRAPH))?.works.get('a')?.args
    expect(kept).toEqual(args)
    expect((await commit(reopened, 'c1', { addWork: [added] })).revision).toBe(1)
  })
})

describe('listeners', () => {
  it.each([undefined, null, 7, {}])('are refused as %o', async (listener) => {
    const { store } = await openGraph()
    expect(() => store.onCommitted(listener as () => void)).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    )
  })
})
