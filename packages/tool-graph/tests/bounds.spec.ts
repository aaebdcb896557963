/** Every bound at its edge, where it is allowed, and one past it, where it is refused and nothing is written. */
import { describe, expect, it } from 'vitest'
import { until } from './host.ts'
import { eager, openRig, work, type Rig } from './rig.ts'

const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index))
const long = (length: number) => 'x'.repeat(length)

interface Bound {
  readonly of: string
  readonly edge: number
  readonly says: string
  readonly tool?: 'view' | 'update' | 'yield'
  readonly args: (size: number, rig: Rig) => object | Promise<object>
}

/** Works `w0`… of the graph that each bound meets, all completed. */
const DONE = 66

const BOUNDS: readonly Bound[] = [
  {
    of: 'works',
    edge: 32,
    says: 'at most 32',
    args: (size) => ({ addWork: many(size, (at) => work(`x${at}`)) }),
  },
  {
    of: 'inputs of a work',
    edge: 64,
    says: 'at most 64',
    args: (size) => ({ addWork: [work('x', { inputIds: many(size, (at) => `w${at}`) })] }),
  },
  {
    of: 'current and selected inputs of a work',
    edge: 64,
    says: 'at most 64',
    args: async (size, rig) => {
      const sourceGraphId = (await rig.store.listEpochs('root'))[0]?.graphId
      return {
        addWork: [
          work('x', {
            inputIds: many(size - 1, (at) => `w${at}`),
            selectedResultInputs: [{ sourceGraphId, resultId: 'old' }],
          }),
        ],
      }
    },
  },
  {
    of: 'characters of an instruction',
    edge: 60_000,
    says: 'at most 60000',
    args: (size) => ({ addWork: [{ workId: 'x', instruction: long(size) }] }),
  },
  {
    of: 'characters of a title',
    edge: 200,
    says: 'at most 200',
    args: (size) => ({ addWork: [work('x', { title: long(size) })] }),
  },
  {
    of: 'characters of a work id',
    edge: 256,
    says: 'at most 256',
    args: (size) => ({ addWork: [work(long(size))] }),
  },
  {
    of: 'characters of a key',
    edge: 256,
    says: 'at most 256',
    args: (size) => ({ addWork: [work('x')], idempotencyKey: long(size) }),
  },
  {
    of: 'stops',
    edge: 20,
    says: 'at most 20',
    args: (size) => ({ stop: many(size, (at) => ({ targetId: `w${at}`, reason: 'r' })) }),
  },
  {
    of: 'characters of a stop reason',
    edge: 4_000,
    says: 'at most 4000',
    args: (size) => ({ stop: [{ targetId: 'w0', reason: long(size) }] }),
  },
  {
    of: 'retries',
    edge: 20,
    says: 'at most 20',
    args: (size) => ({ retry: many(size, (at) => ({ workId: `bad${at}`, reason: 'r' })) }),
  },
  {
    of: 'characters of a retry reason',
    edge: 4_000,
    says: 'at most 4000',
    args: (size) => ({ retry: [{ workId: 'bad0', reason: long(size) }] }),
  },
  {
    of: 'results of a finish',
    edge: 64,
    says: 'at most 64',
    args: (size) => ({ finish: { resultIds: many(size, (at) => `w${at}`), reason: 'done' } }),
  },
  {
    of: 'characters of a finish reason',
    edge: 4_000,
    says: 'at most 4000',
    args: (size) => ({ finish: { resultIds: [], reason: long(size) } }),
  },
  {
    of: 'bytes of args',
    edge: 65_536,
    says: 'at most 65536',
    args: (size) => ({ addWork: [work('x', { graphName: 'digest', args: { of: long(size - 9) } })] }),
  },
  {
    of: 'levels of args',
    edge: 60,
    says: 'deeper than 60',
    args: (size) => ({ addWork: [work('x', { graphName: 'digest', args: nested(size) })] }),
  },
  {
    of: 'results of a view',
    edge: 8,
    says: 'at most 8',
    tool: 'view',
    args: (size) => ({ results: many(size, (at) => `w${at}`) }),
  },
  {
    of: 'characters of a yield reason',
    edge: 4_000,
    says: 'at most 4000',
    tool: 'yield',
    args: (size) => ({ reason: long(size) }),
  },
]

function nested(levels: number): object {
  let value: object = { end: 1 }
  for (let level = 1; level < levels; level++) value = { a: value }
  return value
}

/** An earlier graph finished with `old`; in the current one 66 works are done and 21 failed. */
async function openFull(): Promise<Rig> {
  const executor = eager()
  const start = executor.start.bind(executor)
  executor.start = async (activation, prompt) => {
    if (activation.work.workId.startsWith('bad'))
      executor.end(activation.runId, { outcome: 'failed', reason: 'bad' })
    await start(activation, prompt)
  }
  const rig = await openRig('memory', { executor, maxNewActivations: 64 })
  await rig.ask('update', { addWork: [work('old')] })
  await until(async () => (await rig.state()).counts.pending === 0)
  await rig.ask('update', { finish: { resultIds: ['old'], reason: 'done' } })
  const ids = [...many(DONE, (at) => `w${at}`), ...many(21, (at) => `bad${at}`)]
  for (let from = 0; from < ids.length; from += 32)
    await rig.ask('update', { addWork: ids.slice(from, from + 32).map((id) => work(id)) })
  await until(async () => (await rig.state()).counts.pending === 0)
  await rig.controller.dispose()
  return rig
}

describe('bounds', () => {
  it.each(BOUNDS.map((bound) => [bound.of, bound.edge, bound] as const))(
    '%s: %i and no more',
    async (_of, edge, bound) => {
      const rig = await openFull()
      const tool = bound.tool ?? 'update'
      const before = await rig.entries()
      const refusal = await rig.refusal(tool, await bound.args(edge + 1, rig))
      expect(refusal.code).toBe('invalid_input')
      expect(refusal.text).toContain(bound.says)
      expect(await rig.entries()).toBe(before)
      await rig.say(tool, await bound.args(edge, rig))
    },
  )

  it('selects 64 results of earlier graphs over the works of one update, and no more', async () => {
    const executor = eager()
    const rig = await openRig('memory', { executor, maxNewActivations: 64 })
    for (const wave of [0, 1])
      await rig.ask('update', { addWork: many(32, (at) => work(`o${wave * 32 + at}`)) })
    await until(async () => (await rig.state()).counts.pending === 0)
    const { graphId: sourceGraphId } = await rig.state()
    await rig.ask('update', { finish: { resultIds: many(64, (at) => `o${at}`), reason: 'done' } })
    const select = (from: number, count: number) =>
      many(count, (at) => ({ sourceGraphId, resultId: `o${(from + at) % 64}` }))
    const past = {
      addWork: [
        work('x', { selectedResultInputs: select(0, 33) }),
        work('y', { selectedResultInputs: select(33, 32) }),
      ],
    }
    const { code, text } = await rig.refusal('update', past)
    expect([code, text]).toEqual(['invalid_input', expect.stringContaining('selects 65 results')])
    await rig.say('update', {
      addWork: [
        work('x', { selectedResultInputs: select(0, 32) }),
        work('y', { selectedResultInputs: select(32, 32) }),
      ],
    })
  })
})
