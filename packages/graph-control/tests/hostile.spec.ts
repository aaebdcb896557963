import { describe, expect, it } from 'vitest'
import { type GraphControlStore, type ScheduleUpdateRequest } from '../src/index.ts'
import {
  claimRequest,
  commit,
  GRAPH,
  openGraph,
  provisionRequest,
  refusedAs,
  ROOT,
  settlement,
  update,
  work,
} from './fixture.ts'

const sound = update('hostile', { addWork: [work('x')], stop: [{ targetId: 'a', reason: 'r' }] })
const withWork = (parts: object) => ({ ...sound, addWork: [{ ...work('x'), ...parts }] })
const half = 'half \ud800 pair'

const BAD_STRINGS: readonly [string, unknown][] = [
  ['a number', 7],
  ['null', null],
  ['nothing', undefined],
  ['empty', ''],
  ['spaces around', ' a'],
  ['a control character', 'a\u0007b'],
  ['a line break', 'a\nb'],
  ['half a surrogate pair', half],
  ['too long', 'x'.repeat(257)],
  ['huge', 'x'.repeat(20_000_000)],
  ['an object', { toString: () => 'a' }],
]

const million = Array.from({ length: 1_000_000 }, (_, n) => `id${n}`)

const BAD_UPDATES: readonly [string, unknown, string][] = [
  ['no object', 'update', 'must be an object'],
  ['null', null, 'must be an object'],
  ['a list', [], 'must be an object'],
  ['a field that is not known', { ...sound, extra: 1 }, '"extra"'],
  ['a key __proto__', JSON.parse(JSON.stringify(sound).replace('{', '{"__proto__":{},')), '"__proto__"'],
  ['inherited fields', Object.create(sound), 'schemaVersion'],
  ['another version', { ...sound, schemaVersion: 2 }, 'schemaVersion'],
  ['no list of works', { ...sound, addWork: { length: 1 } }, 'addWork must be a list'],
  ['a hole in a list', { ...sound, addWork: Array.from({ length: 2 }, () => undefined) }, 'addWork[0]'],
  ['a million stops', { ...sound, stop: million }, 'stop has 1000000'],
  ['a million inputs', withWork({ inputIds: million }), 'inputIds has 1000000'],
  ['an input that is no string', withWork({ inputIds: [{}] }), 'inputIds[0] must be a string'],
  ['an unknown kind of target', withWork({ target: { kind: 'root', id: 'a' } }), 'target.kind'],
  ['no target', withWork({ target: undefined }), 'target'],
  ['an empty instruction', withWork({ instruction: ' \n ' }), 'instruction is empty'],
  ['a control character in the instruction', withWork({ instruction: 'a\u0000b' }), 'control'],
  ['an unknown replay', withWork({ replay: 'always' }), 'replay'],
  ['a title of two lines', withWork({ title: 'a\nb' }), 'title'],
  ['a null title', withWork({ title: null }), 'title must be a string'],
  ['a null finish', { ...sound, finish: null }, 'finish must be an object'],
  ['a finish without a reason', { ...sound, finish: { resultIds: [] } }, 'finish.reason'],
  ['a result named twice', { ...sound, finish: { resultIds: ['r', 'r'], reason: 'x' } }, '"r" twice'],
  [
    'a target stopped twice',
    { ...sound, stop: [1, 2].map(() => ({ targetId: 'a', reason: 'r' })) },
    '"a" twice',
  ],
  [
    'a getter that throws',
    Object.defineProperty({ ...sound }, 'addWork', {
      enumerable: true,
      get: () => {
        throw new Error('trap')
      },
    }),
    'cannot be read',
  ],
  [
    'a revoked proxy',
    (() => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    })(),
    'cannot be read',
  ],
]

type Call = (store: GraphControlStore, value: never) => Promise<unknown>

const BAD_CALLS: readonly [string, Call, readonly unknown[]][] = [
  ['readGraph', (store, id) => store.readGraph(id), BAD_STRINGS.map(([, value]) => value)],
  ['listEpochs', (store, id) => store.listEpochs(id), BAD_STRINGS.map(([, value]) => value)],
  ['listScheduleUpdates', (store, id) => store.listScheduleUpdates(id), [7, '']],
  [
    'advanceEpoch',
    (store, request) => store.advanceEpoch(request),
    [{}, { rootSessionId: ROOT, expectedEpoch: -1 }],
  ],
  [
    'provisionOperator',
    (store, request) => store.provisionOperator(request),
    [
      null,
      {},
      { ...provisionRequest('a', 1), expectedScheduleRevision: '1' },
      { ...provisionRequest('a', 1), operatorId: half },
    ],
  ],
  [
    'claimIntent',
    (store, request) => store.claimIntent(request),
    [
      null,
      [],
      { ...claimRequest('a'), schemaVersion: 2 },
      { ...claimRequest('a'), targetTurnId: 'x'.repeat(257) },
    ],
  ],
  [
    'claimIntentAtScheduleRevision',
    (store, revision) => store.claimIntentAtScheduleRevision(claimRequest('a'), revision),
    [undefined, NaN, -1, 1.5, '1', 2 ** 53],
  ],
  [
    'begin',
    (store, revision) => store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, 'i', revision),
    [undefined, -1, {}],
  ],
  [
    'cancel',
    (store, reason) => store.cancelAgentGraphIntentExecution(GRAPH, 'i', reason),
    ['', 'x'.repeat(4_001), undefined, 'a\u0000'],
  ],
  ['retry', (store, attempt) => store.retryActivation(GRAPH, 'c', attempt, 'r'), [0, -1, '1', undefined]],
  [
    'settleActivation',
    (store, request) => store.settleActivation(request),
    [
      {},
      settlement('a', { attempt: -1 }),
      { ...settlement('a'), outcome: 'done' },
      { ...settlement('a'), conclusion: 5 },
      { ...settlement('a'), recordId: 'mine' },
    ],
  ],
  [
    'registerWait',
    (store, request) => store.registerWait(request),
    [
      {},
      { graphId: GRAPH, waitId: 'w', until: 'never' },
      { graphId: GRAPH, waitId: 'w', until: 'any', reason: '' },
    ],
  ],
  ['acknowledgeChanges', (store, seq) => store.acknowledgeChanges(GRAPH, seq), [undefined, -1, 0.5, '0']],
  [
    'claimSupervisorWake',
    (store, request) => store.claimSupervisorWake(request),
    [{}, { graphId: GRAPH, wakeId: 'w', snapshotVersion: -1, rootSessionId: ROOT }],
  ],
  [
    'beginSupervisorWakeAttempt',
    (store, request) => store.beginSupervisorWakeAttempt(request),
    [{}, { graphId: GRAPH, wakeId: 'w', attemptId: 'a', maxAttempts: 0 }],
  ],
  [
    'completeSupervisorWakeAttempt',
    (store, request) => store.completeSupervisorWakeAttempt(request),
    [{}, { graphId: GRAPH, wakeId: 'w', attemptId: 'a', status: 'running' }],
  ],
]

/** What a call is refused with on a graph with one work, and whether it wrote anything. */
async function refusalOf(call: (store: GraphControlStore) => Promise<unknown>): Promise<object> {
  const { store, log } = await openGraph()
  await commit(store, 'c1', { addWork: [work('a')] })
  const before = await log.list()
  const error: unknown = await call(store).then(
    (value) => expect.fail(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  return { error, wrote: JSON.stringify(await log.list()) !== JSON.stringify(before) }
}

function malformed(text: string): object {
  return { error: refusedAs('invalid', text), wrote: false }
}

describe('hostile input', () => {
  it.each(BAD_UPDATES)(
    'in an update (%s) is refused by name and writes nothing',
    async (_, request, text) => {
      expect(
        await refusalOf((store) => store.commitScheduleUpdate(request as ScheduleUpdateRequest)),
      ).toMatchObject(malformed(text))
    },
  )

  it.each(BAD_STRINGS)('in an id (%s) is refused wherever ids are', async (_, value) => {
    const places = [
      { ...sound, updateId: value },
      { ...sound, graphId: value },
      { ...sound, source: { ...sound.source, toolCallId: value } },
      { ...sound, stop: [{ targetId: value, reason: 'r' }] },
      withWork({ workId: value }),
      ...(value === undefined ? [] : [withWork({ replaces: value })]),
      withWork({ target: { kind: 'agent', id: value } }),
    ]
    for (const request of places) {
      expect(
        await refusalOf((store) => store.commitScheduleUpdate(request as ScheduleUpdateRequest)),
      ).toMatchObject(malformed('refused'))
    }
  })

  it.each(BAD_CALLS)('to %s is refused and writes nothing', async (_, call, values) => {
    for (const value of values)
      expect(await refusalOf((store) => call(store, value as never))).toMatchObject(malformed('refused'))
  })

  it('does not reach the store through what a caller changes later', async () => {
    const { store, reopenStore } = await openGraph()
    const request = structuredClone(update('c1', { addWork: [work('a')] }))
    const committing = store.commitScheduleUpdate(request)
    ;(request.addWork as object[]).push(work('b'))
    Object.assign(request.addWork[0] as object, { instruction: 'something else', workId: 'c' })
    await committing
    const state = await (await reopenStore()).readGraph(GRAPH)
    expect([...(state?.works.values() ?? [])]).toMatchObject([{ workId: 'a', instruction: 'do a' }])
  })

  it('under ids that are names of object members is ordinary input', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    const names = ['__proto__', 'constructor', 'toString', '__defineGetter__']
    await commit(store, '__proto__', { addWork: names.map((name) => work(name, { title: name })) })
    await commit(store, 'c2', { stop: [{ targetId: '__proto__', reason: 'constructor' }] })
    const reopened = await reopenStore()
    expect(
      [...((await reopened.readGraph(GRAPH))?.works.values() ?? [])].map(({ workId, status }) => [
        workId,
        status,
      ]),
    ).toEqual([
      ['__proto__', 'stopped'],
      ['constructor', 'ready'],
      ['toString', 'ready'],
      ['__defineGetter__', 'ready'],
    ])
    expect(await reopened.readScheduleUpdate(GRAPH, 'valueOf')).toBeUndefined()
    expect(await reopened.readAgentGraphIntentClaim(GRAPH, '__proto__')).toBeUndefined()
    expect(await reopened.readGraph('__proto__')).toBeUndefined()
  })
})
