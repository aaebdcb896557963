/** A call of a code graph in the chat: the node that runs is lit, and the result is a tree. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keepScreenshot, TestBrowser } from '../support/browser.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { packGatedGraph, type GatedGraph } from '../support/gated-graph.ts'
import { GraphPage } from '../support/graph-page.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { tempFolder } from '../support/temp-folder.ts'

const RUNTIME = resolve(import.meta.dirname, '..', '..', 'packages', 'graph-runtime')

let stage: Stage
let web: DshWeb
let browser: TestBrowser
let page: GraphPage
let graph: GatedGraph
const folder = tempFolder('gated-graph')

beforeAll(async () => {
  stage = await raiseStage()
  const bench = stage.bench()
  const { version, dependencies } = JSON.parse(readFileSync(join(RUNTIME, 'package.json'), 'utf8')) as {
    version: string
    dependencies: Record<string, string>
  }
  graph = packGatedGraph(folder.path, { ...dependencies, 'dsh-graph-runtime': version })
  await bench.plugin('web', 'add', stage.package('dsh-graph').tarball, graph.packed.tarball)
  web = await DshWeb.boot(bench)
  await web.call('workspace.create', { path: bench.workspace })
  stage.llm.play(({ toolNames, answeredCall }) => {
    if (toolNames.length === 0) return { text: 'An assay' }
    if (answeredCall !== undefined) return { text: 'It is gold.' }
    return { toolCalls: [{ name: 'assay', arguments: { sample: 'pan 7' } }] }
  })
  browser = await TestBrowser.launch()
  page = new GraphPage(await browser.page())
  await page.open(web.url)
})

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const node = (name: string, status: string) => page.page.locator(`[data-node=${name}][data-status=${status}]`)

it('lights the node that runs, and says which it is', async () => {
  await page.newSession('Assay pan 7.')
  await node('melt', 'running').waitFor()
  await node('weigh', 'completed').waitFor()
  expect(await node('judge', 'waiting').count()).toBe(1)
  expect(await page.id('dg-code').innerText()).toMatch(/assay\s+in melt · 1 of 4 nodes ran/u)
  await keepScreenshot(page.page, 'code-graph-running')
})

it('knows it after a reload in the middle', async () => {
  await page.page.reload()
  await node('melt', 'running').waitFor()
  await node('weigh', 'completed').waitFor()
  expect(await page.id('dg-code').innerText()).toContain('in melt')
})

it('shows the result as a tree when it is there', async () => {
  graph.open()
  await page.page.locator('[data-testid=dg-code][data-state=settled]').waitFor()
  const result = page.id('dg-code-result')
  await result.locator('summary').first().click()
  await expect.poll(() => result.innerText()).toContain('gold in pan 7')
  await page.page.getByText('It is gold.').first().waitFor()
  await keepScreenshot(page.page, 'code-graph-settled')
  expect(await page.seriousViolations('[data-testid=dg-code]')).toEqual([])
  expect(stage.llm.failures).toEqual([])
  expect(browser.errors).toEqual([])
  expect(browser.offSite).toEqual([])
})
