/** A model that goes round in one turn is told, then refused: no kind of call goes on for ever. */
import { describe, expect, it } from 'vitest'
import type { GraphView } from '../src/index.ts'
import { bootDsh, callTool, makeAgent, mountTools, textOf } from './host.ts'
import { openRig, work, type Rig } from './rig.ts'

type Call = readonly ['view' | 'update' | 'yield', object]

/** Texts of the same call, or of the calls that `make` gives, again and again. */
async function again(rig: Rig, times: number, make: (at: number) => Call): Promise<string[]> {
  const texts: string[] = []
  for (let at = 0; at < times; at++) texts.push(textOf(await rig.call(...make(at))))
  return texts
}

const codes = (texts: readonly string[]) => texts.map((text) => /\[(?<code>[a-z_-]+)\]/u.exec(text)?.[1])
const isPolling = (texts: readonly string[]) => texts.map((text) => text.includes('[polling]'))

async function withWork(): Promise<Rig> {
  const rig = await openRig()
  await rig.ask('update', { addWork: [work('a')] })
  return rig
}

describe('views', () => {
  it('that are refused for their arguments are counted, whatever is wrong with them', async () => {
    const rig = await withWork()
    const texts = await again(rig, 14, (at) => ['view', { since: -1 - at }])
    expect(codes(texts).slice(0, 12)).toEqual(Array.from({ length: 12 }, () => 'invalid_input'))
    expect(texts[1]).not.toContain('in a row')
    expect(texts[2]).toContain('refusal 3 in a row')
    expect(isPolling(texts).slice(12)).toEqual([true, true])
  })

  it('that are refused for what they name are counted, and one that is understood ends the count', async () => {
    const rig = await withWork()
    const nothing = (at: number): Call => ['view', { results: [`nothing${at}`] }]
    await again(rig, 11, nothing)
    await rig.ask('view', {})
    const texts = await again(rig, 13, nothing)
    expect(texts[0]).not.toContain('in a row')
    expect(isPolling(texts).indexOf(true)).toBe(12)
    rig.beginTurn(2)
    await rig.ask('view', {})
  })

  it('of further pages end, too', { timeout: 60_000 }, async () => {
    const rig = await openRig()
    for (const wave of [0, 1, 2]) {
      const addWork = Array.from({ length: 32 }, (_, at) => work(`${wave}-${at}`))
      await rig.ask('update', { addWork })
    }
    const { nextCursor = '' } = await rig.ask<GraphView>('view', {})
    const [section, , tag] = nextCursor.split(':')
    const texts = await again(rig, 2_001, (at) => ['view', { cursor: `${section}:${at}:${tag}` }])
    expect(isPolling(texts).indexOf(true)).toBe(2_000)
  })

  it('of everything there is are a hundred a turn', async () => {
    const rig = await withWork()
    const texts = await again(rig, 101, (at) => ['view', { since: 1_000 + at }])
    expect(isPolling(texts).indexOf(true)).toBe(100)
  })
})

describe('updates', () => {
  it('that only repeat what was committed are refused in the end, and a new one is not', async () => {
    const rig = await openRig()
    const same: Call = ['update', { addWork: [work('a')], idempotencyKey: 'k' }]
    const texts = await again(rig, 12, () => same)
    expect(isPolling(texts)).not.toContain(true)
    await rig.ask('update', { addWork: [work('b')] })
    const more = await again(rig, 13, () => same)
    expect(isPolling(more).indexOf(true)).toBe(12)
    rig.beginTurn(2)
    expect(isPolling(await again(rig, 1, () => same))).toEqual([false])
  })

  it('that are refused stay counted while views between them are understood', async () => {
    const rig = await withWork()
    const texts = await again(rig, 26, (at) =>
      at % 2 === 0 ? ['update', { addWork: [work('a')] }] : ['view', { since: 1_000 + at }],
    )
    expect(isPolling(texts).indexOf(true)).toBe(24)
  })

  it('that yields are tried between are told apart by what happened', async () => {
    const rig = await withWork()
    const refused: Call = ['update', { addWork: [work('a')] }]
    await again(rig, 11, () => refused)
    await rig.ask('yield', {})
    expect((await again(rig, 1, () => refused))[0]).not.toContain('in a row')
  })
})

describe('the advice', () => {
  async function withController(thrown: Error) {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    const refuse = () => Promise.reject(thrown)
    ctx.provide('agentGraphController', {
      rootSessionId: 'root',
      view: refuse,
      update: refuse,
      yield: refuse,
    } as never)
    return async () => textOf(await callTool(ctx, root, 'update_agent_graph', { addWork: [work('a')] }))
  }

  it('stands once in the text of an error that a host throws again and again', async () => {
    const say = await withController(new Error('the host is tired'))
    const texts: string[] = []
    for (let times = 0; times < 12; times++) texts.push(await say())
    expect(texts[11]?.match(/in a row/gu)).toHaveLength(1)
    expect(texts[11]).toContain('refusal 12 in a row')
  })

  it('is left out where an error takes none', async () => {
    const say = await withController(Object.freeze(new Error('the host is cold')))
    for (let times = 0; times < 3; times++) expect(await say()).toContain('the host is cold')
  })
})
