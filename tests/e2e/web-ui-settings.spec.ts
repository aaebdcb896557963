/** The cards of settings in a real browser against the real web app, with the packed bundle. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keepScreenshot, TestBrowser } from '../support/browser.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { gatedModel, type GatedModel } from '../support/gated-model.ts'
import { GraphPage } from '../support/graph-page.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

const PROMPT = 'Gather both halves and join them.'
const PATIENCE = { timeout: 30_000 }

describe('the settings of the bundle', () => {
  let stage: Stage
  let bench: DshBench
  let web: DshWeb
  let browser: TestBrowser
  let page: GraphPage
  let model: GatedModel

  beforeAll(async () => {
    stage = await raiseStage()
    bench = stage.bench()
    await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
    web = await DshWeb.boot(bench)
    await web.call('workspace.create', { path: bench.workspace })
    model = gatedModel('alpha', 'beta', 'gamma')
    stage.llm.play(model.respond)
    browser = await TestBrowser.launch()
    page = new GraphPage(await browser.page())
    await page.open(web.url)
  })

  afterAll(async () => {
    model?.releaseAll()
    await browser?.[Symbol.asyncDispose]()
    await stage?.[Symbol.asyncDispose]()
  })

  /** The document that DSH keeps what persons set in. */
  function kept(): string {
    const path = join(bench.home, 'settings.yaml')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  async function save(): Promise<void> {
    await page.id('dg-settings-save').click()
    await expect.poll(() => page.id('dg-settings-said').innerText(), PATIENCE).toBe('Saved.')
  }

  it('are in DSH’s own, beside those of DSH, with nothing set', async () => {
    await page.settings()
    await page.id('dg-settings-card').waitFor()
    await page.id('dl-settings-card').waitFor()
    expect(await page.id('dg-settings-card').innerText()).toContain('Agent graphs')
    expect(kept()).not.toContain('dsh-graph-host')
  })

  it('are opened, changed and saved by keys alone', async () => {
    await page.id('dg-settings-card').locator('summary').focus()
    await page.page.keyboard.press('Enter')
    await page.id('dg-settings-maxNewActivations').focus()
    await page.page.keyboard.press('ControlOrMeta+a')
    await page.page.keyboard.type('1')
    await page.page.keyboard.press('Enter')
    await expect.poll(() => page.id('dg-settings-said').innerText(), PATIENCE).toBe('Saved.')
    expect(kept()).toMatch(/dsh-graph-host:\s+maxNewActivations: 1\b/u)
    expect(await page.id('dg-settings-card').innerText()).toContain('set by you')
  })

  it('say which of them need a restart, and keep nobody out', async () => {
    expect(await page.id('dg-settings-card').innerText()).toContain(
      'Takes effect when DSH starts the next time.',
    )
    expect(await page.seriousViolations('[data-testid=dg-settings-card]')).toEqual([])
    await page.id('dl-settings-card').locator('summary').click()
    expect(await page.seriousViolations('[data-testid=dl-settings-card]')).toEqual([])
    await page.id('dg-settings-card').scrollIntoViewIfNeeded()
    await keepScreenshot(page.page, 'settings')
  })

  it('refuse what cannot be, in the page', async () => {
    await page.id('dg-settings-maxNewActivations').fill('0')
    expect(await page.id('dg-settings-save').isDisabled()).toBe(true)
    expect(await page.id('dg-settings-card').innerText()).toContain('a number from 1 to 256')
    await page.id('dg-settings-card').getByRole('button', { name: 'Discard' }).click()
    expect(await page.id('dg-settings-maxNewActivations').inputValue()).toBe('1')
  })

  it.each([
    ['dsh-graph-host', 'maxNewActivations', 0],
    ['dsh-graph-host', 'maxNewActivations', 'many'],
    ['dsh-graph-host', 'workspace', 'elsewhere'],
    ['dsh-tool-graph', 'sessions', 'some'],
    ['dsh-agent-loop-host', 'cap', 1.5],
  ])('are checked at the host, whoever writes: %s.%s is not %j', async (ns, field, value) => {
    const before = kept()
    const ops = [{ op: 'set', path: [field], value }]
    await expect(web.call('settings.mutate', { ns, ops })).rejects.toThrow(/settings\.mutate/u)
    expect(kept()).toBe(before)
  })

  it('hold at once: one work at a time, and two as soon as a person says so', async () => {
    await page.closeSettings()
    await page.newSession(PROMPT)
    await page.tab('Graph')
    await page.works('running').first().waitFor()
    await expect.poll(() => page.works('ready').or(page.works('claimed')).count(), PATIENCE).toBe(1)
    expect(await page.works('running').count()).toBe(1)
    await page.settings()
    await page.id('dg-settings-card').locator('summary').click()
    await page.id('dg-settings-maxNewActivations').fill('2')
    await save()
    await page.closeSettings()
    await page.works('running').nth(1).waitFor()
    model.releaseAll()
    await expect.poll(() => page.id('dg-phase').innerText(), PATIENCE).toContain('finished')
  })

  it('decide which sessions supervise, those that are open as well', async () => {
    const hint = page.id('dg-hint')
    await expect.poll(() => hint.getAttribute('data-supervised'), PATIENCE).toBe('true')
    await page.settings()
    await page.id('dg-settings-card').locator('summary').click()
    await page.id('dg-settings-sessions').selectOption('none')
    await save()
    await page.closeSettings()
    await expect.poll(() => hint.getAttribute('data-supervised'), PATIENCE).toBe('false')
    stage.llm.play(() => ({ text: 'Hello from the mock.' }))
    await page.newSession('Hello.')
    await expect.poll(() => hint.getAttribute('data-supervised'), PATIENCE).toBe('false')
  })

  it('are there after a restart, and hold', async () => {
    const { port } = web
    expect((await web.stop()).code).toBe(0)
    web = await DshWeb.boot(bench, port)
    browser.errors.splice(0)
    await page.page.reload()
    await page.settings()
    await page.id('dg-settings-card').locator('summary').click()
    await expect.poll(() => page.id('dg-settings-maxNewActivations').inputValue(), PATIENCE).toBe('2')
    expect(await page.id('dg-settings-sessions').inputValue()).toBe('none')
    await page.closeSettings()
    await page.newSession('Hello again.')
    await expect.poll(() => page.id('dg-hint').getAttribute('data-supervised'), PATIENCE).toBe('false')
  })

  it('speak Chinese where the app does, and fit the dark', async () => {
    const other = new GraphPage(await browser.page({ locale: 'zh-CN', colorScheme: 'dark' }))
    await other.open(web.url)
    await other.settings()
    await other.id('dg-settings-card').locator('summary').click()
    expect(await other.id('dg-settings-card').innerText()).toContain('由你设置')
    await keepScreenshot(other.page, 'settings-dark-chinese')
    expect(await other.seriousViolations('[data-testid=dg-settings-card]')).toEqual([])
    await other.page.context().close()
  })

  it('are given back one by one, and leave no value behind', async () => {
    await page.settings()
    await page.id('dg-settings-card').locator('summary').click()
    for (const name of ['maxNewActivations', 'sessions']) await page.id(`dg-settings-${name}-reset`).click()
    await save()
    expect(await page.id('dg-settings-maxNewActivations').inputValue()).toBe('8')
    expect(kept()).not.toMatch(/maxNewActivations|sessions:/u)
    expect(browser.errors).toEqual([])
  })

  it('are gone with the bundle, and what a person had set keeps nobody from anything', async () => {
    await page.id('dg-settings-maxNewActivations').fill('3')
    await save()
    const { port } = web
    await web.stop()
    await bench.plugin('web', 'remove', 'dsh-graph')
    web = await DshWeb.boot(bench, port)
    browser.errors.splice(0)
    await page.page.reload()
    await page.settings()
    await page.page.getByText('Plugin configuration').first().waitFor()
    await keepScreenshot(page.page, 'settings-uninstalled')
    expect(await page.id('dg-settings-card').count()).toBe(0)
    expect(await page.id('dl-settings-card').count()).toBe(0)
    expect(browser.errors).toEqual([])
    expect(browser.offSite).toEqual([])
    expect(stage.llm.failures).toEqual([])
  })
})
