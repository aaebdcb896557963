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
    for (const { name, cases } of CORPUS) expect(cases.length, name).toBeGreaterThanOrEqual(10)
  })
})

async function check({ tool, args, outcome }: Case): Promise<void> {
  const rig = await copyGraphs(join(folder, 'prepared'), nextFolder())
  const name = `${tool}_agent_graph`
  const before = await entriesOf(rig.log)
  const updates = (await rig.store.listScheduleUpdates(ids.current)).length
  const result = await callTool(rig.ctx, rig.root, name, args(ids))
  const text = textOf(result)
  expect(Buffer.byteLength(text)).toBeLessThan(HARD_LIMIT)
  if ('refused' in outcome) {
    expect(text).toContain(`[${outcome.refused.code}]`)
    for (const words of outcome.refused.says) expect(text).toContain(words)
    expect(result.error?.info?.code).toBe(outcome.refused.code)
    expect(await entriesOf(rig.log)).toBe(before)
    return
  }
  expect(text).not.toContain('Error:')
  expect(result.isError).toBe(false)
  const { works = {}, absent = [], value = {}, adjusted = [] } = outcome.understood
  expect(result.value).toMatchObject(value)
  const told = (result.value as { adjusted?: string[] }).adjusted ?? []
  if (adjusted.length === 0) expect(told).toEqual([])
  for (const words of adjusted) expect(told.join('\n')).toContain(words)
  for (const line of told) expect(text.replaceAll('&gt;', '>').replaceAll('&lt;', '<')).toContain(line)
  const state = await rig.store.readGraph(ids.current)
  for (const [id, part] of Object.entries(works)) expect(state?.works.get(id)).toMatchObject(part)
  for (const id of absent) expect(state?.works.has(id)).toBe(false)
  const commits = (await rig.store.listScheduleUpdates(ids.current)).length - updates
  expect(commits).toBe(tool === 'update' ? 1 : 0)
}

describe.each(CORPUS)('$name', ({ cases }) => {
  it.each(cases.map((one) => [one.title, one] as const))('%s', async (_title, one) => check(one))
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
