/** The tab Lanes in a real browser against the real web app, with the packed bundle. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keepScreenshot, TestBrowser } from '../support/browser.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { gatedModel } from '../support/gated-model.ts'
import { GraphPage } from '../support/graph-page.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

const PATIENCE = { timeout: 30_000 }

describe('the tab Lanes', () => {
  let stage: Stage
  let bench: DshBench
  let web: DshWeb
  let browser: TestBrowser
  let page: GraphPage
  let sessionId: string
  /** One for each turn; each is held until it is let go. */
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  let turns = 0

  beforeAll(async () => {
    stage = await raiseStage()
    bench = stage.bench()
    await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
    appendFileSync(
      join(bench.home, 'cordis.patch.yml'),
      '- id: dsh-graph-agent-loop-host\n  config:\n    lanes:\n      subagent:\n        width: 1\n',
    )
    web = await DshWeb.boot(bench)
    await web.call('workspace.create', { path: bench.workspace })
    stage.llm.play(async ({ toolNames }) => {
      // Names of sessions are asked for without tools.
      if (toolNames.length === 0) return { text: 'A name' }
      await gates[turns++]?.promise
      return { text: 'Done.' }
    })
    browser = await TestBrowser.launch()
    page = new GraphPage(await browser.page())
    page.page.on('request', (request) => void asked.push(request.url()))
    page.page.on('websocket', (socket) => {
      if (socket.url().includes('/agent-loop/lanes?')) sockets += 1
    })
    await page.open(web.url)
    await page.newSession('Begin with this.')
    await page.tab('Lanes')
  })

  afterAll(async () => {
    for (const { resolve } of gates) resolve()
    await browser?.[Symbol.asyncDispose]()
    await stage?.[Symbol.asyncDispose]()
  })

  /** How often this page has asked the host for its lanes. */
  const asked: string[] = []
  let sockets = 0

  const lane = (name: string) => page.id('dl-lanes').locator(`[data-lane=${name}]`)
  const own = () => page.id('dl-session').first()
  const items = () => own().getByTestId('dl-item')

  /** As any part of the page may ask. */
  function accept(message: string): Promise<string> {
    return page.page.evaluate(
      async ([session, text]) => {
        const payload = { sessionId: session, message: text, idempotencyKey: text, queueMode: 'followup' }
        const answer = await fetch('/agent-loop/agent', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ type: 'client-request', rpcId: 'r', method: 'agent', payload }),
        })
        const { result } = (await answer.json()) as { result: { value?: { runId: string }; error?: object } }
        return result.value?.runId ?? JSON.stringify(result.error)
      },
      [sessionId, message] as const,
    )
  }

  it('shows a turn that the person began, and the lanes of the host', async () => {
    await expect.poll(() => own().getByTestId('dl-state').innerText(), PATIENCE).toContain('begun in the app')
    expect(await own().innerText()).toContain('This session')
    expect(await lane('main').innerText()).toContain('of 4')
    sessionId = (await own().getAttribute('data-session')) ?? ''
  })

  it('shows what waits, in order, and takes one out on demand', async () => {
    await accept('First the tests.')
    await accept('Then the documents.')
    await expect.poll(() => items().count(), PATIENCE).toBe(2)
    expect(await items().locator('.dl-preview').allInnerTexts()).toEqual([
      'First the tests.',
      'Then the documents.',
    ])
    expect(await own().getByTestId('dl-state').innerText()).toContain('2 waiting')
    await keepScreenshot(page.page, 'lanes')
    await items().nth(1).getByTestId('dl-cancel').click()
    await page.id('dl-ask-yes').click()
    await page.id('dl-ask').waitFor({ state: 'detached' })
    await expect.poll(() => own().locator('[data-status=queued]').count(), PATIENCE).toBe(1)
  })

  it('has no serious fault of access, and is used by keys alone', async () => {
    expect(await page.seriousViolations('[data-testid=dl-view]')).toEqual([])
    await items().first().getByTestId('dl-cancel').focus()
    await page.page.keyboard.press('Enter')
    await page.id('dl-ask').waitFor()
    await page.page.keyboard.press('Escape')
    await page.id('dl-ask').waitFor({ state: 'detached' })
    expect(await own().locator('[data-status=queued]').count()).toBe(1)
  })

  it('shows the run that has the lane, and aborts it', async () => {
    gates[0]?.resolve()
    await own().getByTestId('dl-abort').waitFor()
    await expect.poll(() => lane('main').innerText(), PATIENCE).toContain('1 of 4')
    await own().getByTestId('dl-abort').click()
    await page.id('dl-ask-yes').click()
    await page.id('dl-ask').waitFor({ state: 'detached' })
    await expect.poll(() => lane('main').innerText(), PATIENCE).toContain('0 of 4')
    expect(await page.id('dl-abort').count()).toBe(0)
  })

  it('is told by the host over one socket, and asks for nothing', () => {
    expect(sockets).toBe(1)
    expect(asked.filter((url) => /\/agent-loop\/(?:lanes|queue\.list)$/u.test(url))).toEqual([])
  })

  it('says of a work of a graph that its run is in line', async () => {
    const model = gatedModel('alpha', 'beta', 'gamma')
    stage.llm.play(model.respond)
    await page.newSession('Gather both halves and join them.')
    await page.tab('Graph')
    await page.works('running').nth(1).waitFor()
    const inLine = page.page.locator('[data-testid=dg-node]', { hasText: 'slots of lane subagent' })
    await expect.poll(() => inLine.count(), PATIENCE).toBe(1)
    await inLine.click()
    expect(await page.panel.getByTestId('dg-panel-state').innerText()).toMatch(
      /running\s*· waits for one of 1 slots of lane subagent, 1 in line$/u,
    )
    await keepScreenshot(page.page, 'graph-in-line')
    // Each half waits for the other one to be asked, so with one slot neither ever ends.
    await page.act(page.id('dg-stop-all'))
    await expect.poll(() => page.works('stopped').count(), PATIENCE).toBe(3)
    expect(await inLine.count()).toBe(0)
    await page.tab('Lanes')
  })

  it('says that it may be old while the server is away, and comes back by itself', async () => {
    await page.id('dl-lanes').waitFor()
    const { port } = web
    await web.stop()
    await page.id('dl-offline').waitFor()
    web = await DshWeb.boot(bench, port)
    await page.id('dl-offline').waitFor({ state: 'detached' })
    expect(await page.id('dl-lanes').isVisible()).toBe(true)
    // What a page says while its server is away is the browser's own.
    browser.errors.splice(0)
  })

  it('speaks Chinese where the app does, and fits the dark', async () => {
    const dark = new GraphPage(await browser.page({ locale: 'zh-CN', colorScheme: 'dark' }))
    await dark.open(web.url)
    await dark.newSession('Begin with that.')
    await dark.tab('通道')
    await dark.id('dl-lanes').waitFor()
    expect(await dark.id('dl-lanes').innerText()).toContain('强制释放')
    await keepScreenshot(dark.page, 'lanes-dark')
    expect(await dark.seriousViolations('[data-testid=dl-view]')).toEqual([])
  })

  it('leaves no error in the page and asks nobody outside', () => {
    expect(browser.errors).toEqual([])
    expect(browser.offSite).toEqual([])
    expect(stage.llm.failures).toEqual([])
  })
})
