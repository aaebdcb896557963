import { describe, expect, it } from 'vitest'
import { type DurableLog, DurableLogError, memoryLog } from '../src/index.ts'
import { faultyLog, type FaultPlan, type FaultPoint, randomFrom } from '../src/testing/index.ts'

const one = { type: 'test/entry', data: 1 }

function setUp(plan: FaultPlan) {
  const inner = memoryLog()
  return { inner, log: faultyLog(inner, plan) }
}

/** Codes of so many appends in turn, `ok` for those that were acknowledged. */
async function outcomesOf(log: DurableLog, count: number): Promise<string[]> {
  const codes: string[] = []
  for (let n = 0; n < count; n += 1) {
    codes.push(
      await log.append('s', 'any', [one]).then(
        () => 'ok',
        (error: unknown) => (error as DurableLogError).code,
      ),
    )
  }
  return codes
}

describe('faultyLog', () => {
  it('writes nothing when it fails before, and writes when it fails after', async () => {
    const { inner, log } = setUp([
      { at: 'before-append', when: 2, fault: 'fail' },
      { at: 'after-append', when: 3, fault: 'fail' },
    ])
    expect(await outcomesOf(log, 2)).toEqual(['ok', 'unavailable'])
    expect(await inner.read('s')).toHaveLength(1)
    // The point after is passed by appends that were made only: the third is the second made.
    expect(await outcomesOf(log, 2)).toEqual(['ok', 'unavailable'])
    expect(await inner.read('s')).toHaveLength(3)
    expect(log.struck).toBe(2)
  })

  it('strikes by a predicate over stream, entries and count, so often at most', async () => {
    const { inner, log } = setUp([
      {
        at: 'before-append',
        when: ({ stream, entries }) => stream === 's' && entries.some(({ data }) => data === 1),
        times: 2,
        fault: 'fail',
      },
    ])
    await log.append('other', 0, [one])
    await log.append('s', 0, [{ type: 'test/entry', data: 2 }])
    expect(await outcomesOf(log, 3)).toEqual(['unavailable', 'unavailable', 'ok'])
    expect(await inner.read('s')).toHaveLength(2)
  })

  it('strikes by chance, the same for the same seed', async () => {
    const plan = (seed: number, probability: number): FaultPlan => [
      { at: 'after-append', when: { probability, seed }, fault: 'fail' },
    ]
    const first = await outcomesOf(setUp(plan(7, 0.5)).log, 50)
    expect(await outcomesOf(setUp(plan(7, 0.5)).log, 50)).toEqual(first)
    expect(await outcomesOf(setUp(plan(8, 0.5)).log, 50)).not.toEqual(first)
    expect(new Set(await outcomesOf(setUp(plan(7, 0)).log, 50))).toEqual(new Set(['ok']))
    expect(new Set(await outcomesOf(setUp(plan(7, 1)).log, 50))).toEqual(new Set(['unavailable']))
  })

  it('fails with the error it was given', async () => {
    const { log } = setUp([
      {
        at: 'before-read',
        fault: 'fail',
        error: ({ stream, point }) =>
          new DurableLogError('corrupt', `${point} ${stream}`, { stream, seq: 1 }),
      },
    ])
    await expect(log.read('s')).rejects.toMatchObject({ code: 'corrupt', message: 'before-read s', seq: 1 })
  })

  it('holds an operation back until the test lets it go, with the arguments of the call', async () => {
    let letGo = () => undefined as void
    const until = new Promise<void>((resolve) => (letGo = resolve))
    const { inner, log } = setUp([{ at: 'before-append', when: 1, fault: 'delay', until }])
    const data = { n: 1 }
    const delayed = log.append('s', 'any', [{ type: 'test/entry', data }])
    data.n = 2
    expect(await log.append('s', 'any', [one])).toBe(1)
    expect(await inner.read('s')).toHaveLength(1)
    letGo()
    expect(await delayed).toBe(2)
    expect((await inner.read('s')).at(-1)?.data).toEqual({ n: 1 })
  })

  it('waits for delayed operations when it closes', async () => {
    let letGo = () => undefined as void
    const until = new Promise<void>((resolve) => (letGo = resolve))
    const { log } = setUp([{ at: 'after-append', fault: 'delay', until }])
    const append = log.append('s', 0, [one])
    const close = log.close()
    await expect(log.read('s')).rejects.toMatchObject({ code: 'closed' })
    letGo()
    expect(await append).toBe(1)
    await close
  })

  it('calls back at every point, in order', async () => {
    const passed: string[] = []
    const operations = ['append', 'read', 'list', 'snapshot', 'load', 'remove'] as const
    const at = operations.flatMap((name): FaultPoint[] => [`before-${name}`, `after-${name}`])
    const { log } = setUp([
      {
        at,
        fault: 'call',
        call: ({ point, count, stream }) => void passed.push(`${point} ${count} ${stream}`),
      },
    ])
    await log.append('s', 0, [one])
    await log.read('s')
    await log.list()
    await log.saveSnapshot('s', 1, 1)
    await log.loadSnapshot('s')
    await log.read('s')
    await log.remove('s')
    expect(passed).toEqual([
      'before-append 1 s',
      'after-append 1 s',
      'before-read 1 s',
      'after-read 1 s',
      'before-list 1 ',
      'after-list 1 ',
      'before-snapshot 1 s',
      'after-snapshot 1 s',
      'before-load 1 s',
      'after-load 1 s',
      'before-read 2 s',
      'after-read 2 s',
      'before-remove 1 s',
      'after-remove 1 s',
    ])
  })

  it('keeps the stream when a removal fails before, and removes it when it fails after', async () => {
    const { inner, log } = setUp([
      { at: 'before-remove', when: 1, fault: 'fail' },
      { at: 'after-remove', when: 1, fault: 'fail' },
    ])
    await log.append('s', 0, [one])
    await expect(log.remove('s')).rejects.toMatchObject({ code: 'unavailable', stream: 's' })
    expect(await inner.read('s')).toHaveLength(1)
    await expect(log.remove('s')).rejects.toMatchObject({ code: 'unavailable', stream: 's' })
    expect(await inner.read('s')).toHaveLength(0)
  })

  it('lets a crash point end an operation with what it throws', async () => {
    const { inner, log } = setUp([
      {
        at: 'after-snapshot',
        fault: 'call',
        call: () => {
          throw new Error('crashed')
        },
      },
    ])
    await log.append('s', 0, [one])
    await expect(log.saveSnapshot('s', 1, 'state')).rejects.toThrow('crashed')
    expect(await inner.loadSnapshot('s')).toEqual({ seq: 1, snapshot: 'state' })
  })
})

describe('randomFrom', () => {
  it('repeats itself from the same seed and stays in its bounds', () => {
    const numbers = (seed: number) => {
      const random = randomFrom(seed)
      return Array.from({ length: 200 }, () => random.below(10))
    }
    expect(numbers(1)).toEqual(numbers(1))
    expect(numbers(1)).not.toEqual(numbers(2))
    expect(new Set(numbers(1))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
  })
})
