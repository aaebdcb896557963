/** What the answers cost, in bytes of text and of the structured value, in the ordinary and in the worst case. */
import { describe, expect, it } from 'vitest'
import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import type { GraphView, UpdateAnswer } from '../src/index.ts'
import { HandExecutor, HandWakes, textOf, until } from './host.ts'
import { openRig, work, type Rig } from './rig.ts'

const HARD_LIMIT = 16 * 1024

const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index))

function sizes(result: ToolExecutionResult): { text: number; value: number } {
  return {
    text: Buffer.byteLength(textOf(result)),
    value: Buffer.byteLength(JSON.stringify(result.value ?? null)),
  }
}

async function within(limit: number, call: Promise<ToolExecutionResult>): Promise<ToolExecutionResult> {
  const result = await call
  const { text, value } = sizes(result)
  expect(text).toBeLessThan(limit)
  expect(value).toBeLessThan(limit)
  return result
}

const TOPICS = ['parser', 'lexer', 'types', 'cache', 'wire', 'store', 'fold', 'view', 'yield', 'wake']

/** Ten works as a model writes them, with conclusions as operators do. */
async function openWave(): Promise<Rig> {
  const executor = new HandExecutor(({ work: { workId } }) => ({
    outcome: 'completed',
    conclusion:
      `I reviewed ${workId} and found two problems. The first is that its bounds are checked after the ` +
      'allocation, so that a hostile length takes the memory first; the second is a missing test for the ' +
      'empty input. Both are fixed in the attached patch, and all tests pass on my side.\n\n' +
      'Details follow. '.repeat(200),
  }))
  const rig = await openRig('memory', { executor, maxNewActivations: 10 })
  const addWork = TOPICS.map((topic) =>
    work(`review-${topic}`, {
      title: `Review the ${topic} module and mend what is wrong`,
      instruction: `Read packages/core/src/${topic}.ts and its tests. List every fault with its line, mend it, and run the tests of the package until they pass.`,
    }),
  )
  await rig.ask('update', { addWork })
  await until(async () => (await rig.state()).counts.pending === 0)
  return rig
}

describe('a wave of ten works', () => {
  it('is shown in less than 3 KB', async () => {
    const rig = await openWave()
    const result = await rig.call('view', {})
    const { text } = sizes(result)
    console.log(JSON.stringify({ 'view of ten ended works': sizes(result) }))
    expect((result.value as unknown as GraphView).ended).toHaveLength(10)
    expect(text).toBeLessThan(3 * 1024)
    for (const topic of TOPICS)
      expect(textOf(result)).toContain(`- review-${topic} [completed] Review the ${topic}`)
    expect(textOf(result)).toContain('I reviewed review-cache and found two problems.')
  })

  it('is shown in less than 3 KB while it runs', async () => {
    const rig = await openRig('memory', { maxNewActivations: 10 })
    await rig.ask('update', {
      addWork: TOPICS.map((topic) => work(`review-${topic}`, { title: `Review the ${topic} module` })),
    })
    await until(() => rig.executor.started.length === 10)
    const result = await within(3 * 1024, rig.call('view', {}))
    expect((result.value as unknown as GraphView).live).toHaveLength(10)
  })

  it('costs less than 200 bytes, text and value, when nothing is new', async () => {
    const rig = await openWave()
    const { seq } = await rig.ask<GraphView>('view', {})
    const result = await within(200, rig.call('view', { since: seq }))
    expect(textOf(result)).toContain(`Nothing changed since ${seq}.`)
    console.log(JSON.stringify({ 'since, nothing new': sizes(result) }))
  })
})

/** Texts that are long in every form that they take. */
const HOSTILE = ['&', '<', '"', '漢', '\u{1d11e}', 'x'] as const

function hostileId(unit: string, at: number): string {
  const head = `${String(at).padStart(3, '0')}`
  return head + unit.repeat(Math.floor((256 - head.length) / unit.length))
}

describe.each(HOSTILE)('answers about works named with %s', (unit) => {
  const text = (units: number) => unit.repeat(Math.floor(units / unit.length))

  async function openHostile(wakes = new HandWakes()): Promise<Rig> {
    const executor = new HandExecutor(({ work: { workId } }) =>
      Number(workId.slice(0, 3)) % 3 === 0
        ? { outcome: 'failed', reason: text(4_000), conclusion: text(30_000) }
        : {
            outcome: 'completed',
            conclusion: text(30_000),
            artifacts: many(12, (at) => ({
              name: hostileId(unit, at).slice(0, 198).toWellFormed(),
              text: text(9_000),
            })),
          },
    )
    return openRig('memory', { executor, wakes, maxNewActivations: 64 })
  }

  const wave = (from: number, count: number, rest: (at: number) => object = () => ({})) =>
    many(count, (at) => ({
      workId: hostileId(unit, from + at),
      instruction: text(30_000),
      title: text(200),
      ...rest(at),
    }))

  it('stay under 16 KiB: 64 works that ended, their results, the finish', { timeout: 120_000 }, async () => {
    const wakes = new HandWakes()
    const rig = await openHostile(wakes)
    for (const from of [0, 32]) {
      const answer = await within(HARD_LIMIT, rig.call('update', { addWork: wave(from, 32), nothing: null }))
      expect((answer.value as unknown as UpdateAnswer).update.workIds.length).toBeGreaterThan(0)
    }
    await within(HARD_LIMIT, rig.call('yield', {}))
    await until(async () => (await rig.state()).counts.pending === 0)
    await within(HARD_LIMIT, rig.call('yield', {}))
    for (const { message } of wakes.delivered) expect(Buffer.byteLength(message)).toBeLessThan(HARD_LIMIT / 2)
    const first = await within(HARD_LIMIT, rig.call('view', {}))
    const { endedCursor, omitted } = first.value as unknown as GraphView
    expect(omitted.ended).toBeGreaterThan(0)
    await within(HARD_LIMIT, rig.call('view', { cursor: endedCursor }))
    const since = await within(HARD_LIMIT, rig.call('view', { since: 1 }))
    expect((since.value as unknown as GraphView).moreChanged).toBeGreaterThan(0)
    await within(HARD_LIMIT, rig.call('view', { mode: 'summary' }))
    const results = many(8, (at) => hostileId(unit, at))
    const conclusions = await within(HARD_LIMIT, rig.call('view', { results }))
    expect(conclusions.isError).toBe(false)
    const done = many(64, (at) => at).filter((at) => at % 3 !== 0)
    const resultIds = (await rig.state()).works.get(hostileId(unit, done[0] ?? 0))?.recordIds ?? []
    await within(
      HARD_LIMIT,
      rig.call('update', { finish: { resultIds: resultIds.slice(0, 13), reason: text(4_000) } }),
    )
    await within(HARD_LIMIT, rig.call('view', {}))
  })

  it(
    'stay under 16 KiB: works that wait for 64 others, and refusals of all of it',
    { timeout: 120_000 },
    async () => {
      const rig = await openRig('memory')
      for (const from of [0, 32]) await rig.ask('update', { draft: 'open', addWork: wave(from, 32) })
      const inputIds = many(64, (at) => hostileId(unit, at))
      await within(HARD_LIMIT, rig.call('update', { addWork: wave(100, 32, () => ({ inputIds })) }))
      await within(HARD_LIMIT, rig.call('view', {}))
      await rig.ask('update', { draft: 'commit' })
      await within(HARD_LIMIT, rig.call('yield', {}))
      const unknown = many(64, (at) => hostileId(unit, 500 + at))
      const refused = await within(
        HARD_LIMIT,
        rig.call('update', { addWork: wave(200, 32, () => ({ inputIds: unknown, replaces: unknown[0] })) }),
      )
      expect(refused.isError).toBe(true)
      await within(
        HARD_LIMIT,
        rig.call('update', {
          stop: many(20, (at) => ({ targetId: hostileId(unit, 600 + at), reason: 'r' })),
        }),
      )
      const strange = Object.fromEntries(many(200, (at) => [hostileId(unit, at), at]))
      await within(HARD_LIMIT, rig.call('update', { addWork: [{ ...work('a'), ...strange }], ...strange }))
      await within(HARD_LIMIT, rig.call('update', { addWork: [{ ...work('a'), ...strange }] }))
      await within(HARD_LIMIT, rig.call('view', { cursor: text(256), results: [hostileId(unit, 1)] }))
    },
  )
})

describe('an update that is too large for one entry of the log', () => {
  it('is refused with the cure, and one of 32 whole instructions is not', async () => {
    const rig = await openRig('memory')
    const before = await rig.entries()
    const of = (unit: string) => many(32, (at) => ({ workId: `w${at}`, instruction: unit.repeat(60_000) }))
    const { code, text } = await rig.refusal('update', { addWork: of('漢') })
    expect(code).toBe('invalid_input')
    expect(text).toContain('add the works in several calls')
    expect(await rig.entries()).toBe(before)
    await rig.ask('update', { draft: 'open', addWork: of('x') })
  })
})

describe('results', () => {
  it('are paged to their end, and over all records of a joined work, without a gap', async () => {
    const text = Array.from({ length: 4_000 }, (_, line) => `line ${line} & "more" \u{1d11e}`).join('\n')
    const executor = new HandExecutor(({ work: { workId } }) => {
      if (workId === 'list')
        return {
          outcome: 'completed',
          conclusion: 'c',
          artifacts: many(20, (at) => ({ name: `n${at}`, text: 'x' })),
        }
      return { outcome: 'completed', conclusion: workId === 'long' ? text : `result of ${workId}` }
    })
    const rig = await openRig('memory', { executor, maxNewActivations: 64 })
    await rig.ask('update', {
      addWork: [work('long'), work('list'), work('each', { inputIds: ['list'], forEach: 'list' })],
    })
    await until(async () => (await rig.state()).counts.pending === 0)

    const read: string[] = []
    for (let next: string | undefined = 'long'; next !== undefined;) {
      const result = await within(HARD_LIMIT, rig.call('view', { results: [next] }))
      const [page] = (
        result.value as unknown as { results: { recordId: string; text: string; nextOffset?: number }[] }
      ).results
      read.push(page?.text ?? '')
      next = /next="([^"]+)"/u.exec(textOf(result))?.[1]
      expect(next).toBe(page?.nextOffset === undefined ? undefined : `${page.recordId}@${page.nextOffset}`)
    }
    expect(read.join('')).toBe(text)

    const joined: string[] = []
    for (let names: readonly string[] | undefined = ['each']; names !== undefined;) {
      const answer: { results: { text: string }[]; moreResults?: readonly string[] } = await rig.ask('view', {
        results: names,
      })
      joined.push(...answer.results.map((page) => page.text))
      names = answer.moreResults
    }
    expect(joined).toEqual(many(20, (at) => `result of each#${at + 1}`))
    expect(await rig.say('view', { results: ['each'] })).toContain('… more records: ask for each@8.0')
  })
})
