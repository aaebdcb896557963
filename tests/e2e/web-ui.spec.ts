/** The Graph tab in a real browser against the real web app, with the packed bundle. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { CHROMIUM, keepScreenshot, TestBrowser } from '../support/browser.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { gatedModel } from '../support/gated-model.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

const PROMPT = 'Gather both halves and join them.'

async function openApp(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.locator('textarea').first().waitFor()
  const notice = page.getByRole('button', { name: 'Continue' })
  if (await notice.isVisible().catch(() => false)) await notice.click()
}

async function prompt(page: Page, text: string): Promise<void> {
  const field = page.locator('textarea:not([readonly])')
  await field.fill(text)
  await field.press('Enter')
}

describe.skipIf(CHROMIUM === undefined)('the Graph tab', () => {
  let stage: Stage
  let bench: DshBench
  let web: DshWeb
  let browser: TestBrowser
  let page: Page

  beforeAll(async () => {
    stage = await raiseStage()
    bench = stage.bench()
    await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
    web = await DshWeb.boot(bench)
    await web.call('workspace.create', { path: bench.workspace })
    browser = await TestBrowser.launch()
    page = await browser.page()
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await stage?.[Symbol.asyncDispose]()
  })

  const model = gatedModel('alpha', 'beta', 'gamma')
  const nodes = (status: string) => page.locator(`[data-testid=dg-node][data-status=${status}]`)

  it('shows a graph while its operators are at work', async () => {
    stage.llm.play(model.respond)
    await openApp(page, web.url)
    await page.getByRole('button', { name: 'New Session' }).first().click()
    await prompt(page, PROMPT)
    await page
      .getByRole('tab', { name: 'Graph' })
      .or(page.getByText('Graph', { exact: true }))
      .first()
      .click()
    await page.getByTestId('dg-view').waitFor()
    await nodes('running').nth(1).waitFor()
    await nodes('waiting').waitFor()
    await keepScreenshot(page, 'graph-running')
    expect(await page.getByTestId('dg-progress').innerText()).toBe('0 of 3 ended')
  })
})
