/** The corpus of malformed calls through the real tool runtime and a real SQLite file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DurableLog } from 'dsh-durable-log'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callTool, textOf } from './core.ts'
import { BOUNDS } from './corpus/bounds.ts'
import { type Case, type Ids, work } from './corpus/case.ts'
import { CHOICES } from './corpus/choices.ts'
import { FILLED } from './corpus/filled.ts'
import { FORMS } from './corpus/forms.ts'
import { IDS } from './corpus/ids.ts'
import { copyGraphs, openGraphs, prepareGraphs } from './prepared-graphs.ts'

const CORPUS = [...FILLED, ...FORMS, ...CHOICES, ...IDS, ...BOUNDS]
const REFUSED = CORPUS.map(({ name, cases }) => ({
  name,
  cases: cases.flatMap(({ outcome, ...call }) =>
    'refused' in outcome ? [{ ...call, refused: outcome.refused }] : [],
  ),
})).filter(({ cases }) => cases.length > 0)
const UNDERSTOOD = CORPUS.map(({ name, cases }) => ({
  name,
  cases: cases.flatMap(({ outcome, ...call }) =>
    'understood' in outcome ? [{ ...call, understood: outcome.understood }] : [],
  ),
})).filter(({ cases }) => cases.length > 0)
const HARD_LIMIT = 16 * 1024

const folder = mkdtempSync(join(tmpdir(), 'graph-corpus-'))
let ids: Ids
let copies = 0
const nextFolder = () => join(folder, `copy-${(copies += 1)}`)

beforeAll(async () => {
  ids = await prepareGraphs(join(folder, 'prepared'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function entriesOf(log: DurableLog): Promise<number> {
  const { streams } = await log.list()
  return streams.reduce((sum, head) => sum + head.seq, 0)
}

describe('the corpus', () => {
  it('has at least 200 calls, at least ten of each class', () => {
    expect(CORPUS.reduce((sum, { cases }) => sum + cases.length, 0)).toBeGreaterThanOrEqual(200)
    expect(CORPUS.filter(({ cases }) => cases.length < 10).map(({ name }) => name)).toEqual([])
  })
})

/** Makes the call on a copy of the prepared graphs. */
async function made({ tool, args }: Pick<Case, 'tool' | 'args'>) {
  const rig = await copyGraphs(join(folder, 'prepared'), nextFolder())
  const before = await entriesOf(rig.log)
  const result = await callTool(rig.ctx, rig.root, `${tool}_agent_graph`, args(ids))
  return { ...rig, result, text: textOf(result), before }
}

describe.each(REFUSED)('$name', ({ cases }) => {
  it.each(cases)('refused: $title', async ({ refused, ...call }) => {
    const { result, text, before, log } = await made(call)
    expect(result.error?.info?.code).toBe(refused.code)
    expect(text).toContain(`[${refused.code}]`)
    for (const words of refused.says) expect(text).toContain(words)
    expect(Buffer.byteLength(text)).toBeLessThan(HARD_LIMIT)
    expect(await entriesOf(log)).toBe(before)
  })
})

/** One update is there before each call. */
const UPDATES = 1

describe.each(UNDERSTOOD)('$name', ({ cases }) => {
  it.each(cases)('understood: $title', async ({ understood, ...call }) => {
    const { result, text, store } = await made(call)
    expect(text).not.toContain('Error: [')
    expect(result.isError).toBe(false)
    expect(Buffer.byteLength(text)).toBeLessThan(HARD_LIMIT)
    const { works = {}, absent = [], value = {}, adjusted = [] } = understood
    expect(result.value).toMatchObject(value)
    const told = (result.value as { adjusted?: string[] }).adjusted ?? []
    expect(told.length > 0).toBe(adjusted.length > 0)
    for (const words of adjusted) expect(told.join('\n')).toContain(words)
    for (const line of told) expect(text).toContain(line.replaceAll('<', '&lt;').replaceAll('>', '&gt;'))
    const state = await store.readGraph(ids.current)
    for (const [id, part] of Object.entries(works)) expect(state?.works.get(id)).toMatchObject(part)
    for (const id of absent) expect(state?.works.has(id)).toBe(false)
    const commits = (await store.listScheduleUpdates(ids.current)).length - UPDATES
    expect(commits).toBe(call.tool === 'update' ? 1 : 0)
  })
})

describe('a refused first update', () => {
  it.each([
    ['a circle', { addWork: [work('x', { inputIds: ['x'] })] }],
    ['a title of two lines', { addWork: [work('x', { title: 'one\ntwo' })] }],
    ['an id of a record', { addWork: [work('graph_record_x')] }],
    ['an unknown input', { addWork: [work('x', { inputIds: ['y'] })] }],
    ['a commit of what is no draft', { addWork: [work('x')], draft: 'commit' }],
  ])('for %s opens no graph and writes nothing', async (_title, args) => {
    const rig = await openGraphs(nextFolder())
    const before = await entriesOf(rig.log)
    const result = await callTool(rig.ctx, rig.root, 'update_agent_graph', args)
    expect(result.isError).toBe(true)
    expect(result.error?.info?.code).toBeDefined()
    expect(await entriesOf(rig.log)).toBe(before)
    expect(await rig.store.currentEpoch(rig.root.id)).toBeUndefined()
  })
})
