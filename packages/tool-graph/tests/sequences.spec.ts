/** Any sequence of tool calls, with operators that end in any way in between, leaves a readable graph. */
import * as fc from 'fast-check'
import { GraphControlStore, TERMINAL_WORK_STATUSES } from 'dsh-graph-control'
import { expect, it } from 'vitest'
import type { GraphView } from '../src/index.ts'
import type { ActivationEnd } from '../src/index.ts'
import { HandExecutor, HandWakes, textOf } from './host.ts'
import { openRig, type Rig } from './rig.ts'

type Step =
  | { readonly call: 'view' | 'update' | 'yield'; readonly args: object; readonly callId?: string }
  | { readonly turn: number }
  | { readonly pause: true }

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')
const reason = fc.constantFrom('because', 'not needed')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

const addWork = fc.uniqueArray(
  fc.record({
    workId: id,
    instruction: fc.constant('do it'),
    inputIds: fc.uniqueArray(id, { maxLength: 3 }),
    when: maybe(fc.constantFrom('all', 'any', 'always')),
    forEach: maybe(id),
    replaces: maybe(id),
    operatorId: maybe(id),
    replay: maybe(fc.constantFrom('safe', 'confirm', 'model')),
  }),
  { maxLength: 4, selector: (work) => work.workId },
)
const stop = fc.uniqueArray(
  fc.record({ targetId: fc.oneof(id, fc.constant('graph')), reason, cascadeDownstream: maybe(fc.boolean()) }),
  { maxLength: 2, selector: (item) => item.targetId },
)
const retry = fc.uniqueArray(fc.record({ workId: id, reason }), {
  maxLength: 2,
  selector: (item) => item.workId,
})
const finish = fc.record({ resultIds: fc.uniqueArray(id, { maxLength: 2 }), reason })

const update = fc.oneof(
  { weight: 5, arbitrary: fc.record({ addWork, draft: maybe(fc.constantFrom('open', 'commit')) }) },
  { weight: 2, arbitrary: fc.record({ stop, addWork }) },
  { weight: 2, arbitrary: fc.record({ retry, idempotencyKey: maybe(fc.constantFrom('k1', 'k2')) }) },
  { weight: 2, arbitrary: fc.record({ stop, finish }) },
  { weight: 1, arbitrary: fc.constant({ draft: 'commit' }) },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      call: fc.constant('update' as const),
      args: update,
      callId: fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      call: fc.constant('view' as const),
      args: fc.record({ mode: maybe(fc.constantFrom('full', 'summary')), since: maybe(fc.nat(60)) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      call: fc.constant('view' as const),
      args: fc.record({ results: fc.uniqueArray(id, { minLength: 1, maxLength: 3 }) }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      call: fc.constant('yield' as const),
      args: fc.record({ until: maybe(fc.constantFrom('any', 'all')) }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ turn: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 4, arbitrary: fc.constant({ pause: true } as const) },
)

const ENDS: readonly (ActivationEnd | undefined)[] = [
  { outcome: 'completed', conclusion: 'x' },
  {
    outcome: 'completed',
    conclusion: 'y',
    artifacts: [
      { name: 'one', text: '1' },
      { name: 'two', text: '2' },
    ],
  },
  { outcome: 'failed', reason: 'it broke' },
  { outcome: 'interrupted', reason: 'cut off' },
  { outcome: 'needs-person', reason: 'ask somebody' },
  undefined,
]

async function play(steps: readonly Step[], ends: readonly number[]): Promise<void> {
  let begun = 0
  const executor = new HandExecutor(() => ENDS[(ends[begun++ % ends.length] ?? 0) % ENDS.length])
  const wakes = new HandWakes()
  const faults: string[] = []
  const onError = (error: unknown, doing: string) => void faults.push(`${doing}: ${String(error)}`)
  const rig = await openRig('memory', { executor, wakes, onError, retryBackoffMs: 1 })
  for (const one of steps) {
    if ('turn' in one) rig.beginTurn(one.turn)
    else if ('call' in one) {
      // As a model sends it: fields that are not given are not there.
      const result = await rig.call(one.call, JSON.parse(JSON.stringify(one.args)), one.callId)
      if (result.isError && !/^[a-z][a-z_-]+$/u.test(result.error?.info?.code ?? ''))
        faults.push(textOf(result))
    }
    if ('pause' in one) await turnsOfTheLoop(20)
    await expectReadable(rig)
  }
  expect(faults).toEqual([])
  await rig.controller.dispose()
  await expectSameElsewhere(rig)
}

async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Every list of every graph is shown to its end, and adds up to the counts. */
async function expectReadable(rig: Rig): Promise<void> {
  for (const { graphId } of await rig.store.listEpochs('root')) {
    const view = await rig.ask<GraphView>('view', { graphId })
    const { works, pending, terminal } = view.counts
    expect(pending + terminal).toBe(works)
    expect(view.live.length + view.omitted.live).toBe(pending)
    expect(view.ended.length + view.omitted.ended).toBe(terminal)
    for (const work of view.live) expect(TERMINAL_WORK_STATUSES.has(work.status as never)).toBe(false)
    for (const work of view.ended) expect(TERMINAL_WORK_STATUSES.has(work.status as never)).toBe(true)
  }
}

async function expectSameElsewhere({ log, store }: Rig): Promise<void> {
  const again = await GraphControlStore.open(log)
  for (const { graphId } of await store.listEpochs('root')) {
    const [ours, theirs] = [await store.readGraph(graphId), await again.readGraph(graphId)]
    expect([...(theirs?.works.values() ?? [])]).toEqual([...(ours?.works.values() ?? [])])
    expect([theirs?.seq, theirs?.phase, theirs?.counts]).toEqual([ours?.seq, ours?.phase, ours?.counts])
  }
  await again.close()
}

it('leaves a readable graph, whatever the calls are', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 25 }),
      fc.array(fc.nat(ENDS.length - 1), { minLength: 1, maxLength: 8 }),
      play,
    ),
    { numRuns: 100 },
  )
})
