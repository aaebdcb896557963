/** The Graph tab in a real browser against the real web app, with the packed bundle. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canWriteChinese, keepScreenshot, TestBrowser } from '../support/browser.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { careful, gatedModel, inChinese, type GatedModel, type Speaker } from '../support/gated-model.ts'
import { GraphPage } from '../support/graph-page.ts'
import { pathsUnder } from '../support/profile-files.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

const PROMPT = 'Gather both halves and join them.'
/** An operator's run, a wake and a turn of the root, on a machine with other work. */
const PATIENCE = { timeout: 30_000 }

describe('the Graph tab', () => {
  let stage: Stage
  let bench: DshBench
  let web: DshWeb
  let browser: TestBrowser
  let first: GraphPage
  let model: GatedModel

  beforeAll(async () => {
    stage = await raiseStage()
    bench = stage.bench()
    await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
    web = await DshWeb.boot(bench)
    await web.call('workspace.create', { path: bench.workspace })
    browser = await TestBrowser.launch()
    first = new GraphPage(await browser.page())
    await first.open(web.url)
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await stage?.[Symbol.asyncDispose]()
  })

  function play(...held: readonly Speaker[]): void {
    model = gatedModel(...held)
    stage.llm.play(model.respond)
  }

  /** Whether a session has something on the disk. */
  function isWritten(sessionId: string): boolean {
    return pathsUnder(bench.home)
      .filter((path) => path.includes(sessionId))
      .map((path) => statSync(join(bench.home, path)))
      .some((file) => file.isFile() && file.size > 0)
  }

  /** The sessions as DSH lists them, with what it keeps of each. */
  async function listed(): Promise<string> {
    return JSON.stringify(await web.call('session.list', {}))
  }

  function expectQuietPages(): void {
    expect(stage.llm.failures).toEqual([])
    expect(browser.errors.splice(0)).toEqual([])
    expect(browser.offSite).toEqual([])
  }

  describe('in a session that supervises', () => {
    it('shows a call of each tool', async () => {
      play('alpha', 'beta', 'gamma')
      await first.newSession('Hello.')
      await first.chatLine.waitFor()
      const yielded = first.page.locator('[data-testid=dg-tool-yield][data-state=settled]')
      await yielded.waitFor()
      await yielded.locator('summary').click()
      expect(await yielded.innerText()).toContain('You are woken when something changed.')
    })

    it('has one line in the chat that tells how far it is and what it waits for', async () => {
      await keepScreenshot(first.page, 'chat-running')
      const line = await first.chatLine.innerText()
      expect(line).toMatch(/Graph 1\s+0\/3\s/u)
      expect(line).toContain('wave 1, 2 running')
      expect(line).toContain('waits for First half, Second half')
      expect(await first.id('dg-tool-update').innerText()).toContain('+3 works')
    })

    it('draws works that run and works that wait', async () => {
      await first.tab('Graph')
      await first.works('running').nth(1).waitFor()
      await first.works('waiting').waitFor()
      expect(await first.id('dg-progress').innerText()).toBe('0 of 3 ended')
      expect(await first.id('dg-now').innerText()).toContain('waits for First half, Second half')
      await keepScreenshot(first.page, 'graph-running')
    })

    it('shows everything about the work that is selected', async () => {
      await first.work('alpha').click()
      const { panel } = first
      await expect
        .poll(() => panel.getByTestId('dg-instruction').innerText())
        .toContain('gather the first half')
      expect(await panel.getByTestId('dg-panel-state').innerText()).toContain('its session is at work')
      expect(await panel.getByTestId('dg-facts').innerText()).toContain('agent:default')
      await keepScreenshot(first.page, 'graph-selected')
    })

    it('offers what is possible and says why the rest is not', async () => {
      const { panel } = first
      expect(await panel.getByTestId('dg-act-stop').isEnabled()).toBe(true)
      expect(await panel.getByTestId('dg-act-retry').isDisabled()).toBe(true)
      expect(await panel.getByTestId('dg-act-retry').getAttribute('title')).toMatch(/^Only failed/u)
    })

    it('is moved through and selected by keys alone', async () => {
      await first.work('alpha').focus()
      await first.page.keyboard.press('ArrowRight')
      await expect
        .poll(() => first.page.evaluate('document.activeElement.getAttribute("data-box")'))
        .toBe('gamma')
      await first.page.keyboard.press('Enter')
      await expect.poll(() => first.panel.locator('h2').innerText()).toBe('Join "halves" — übung')
      await first.page.keyboard.press('Escape')
      await first.panel.waitFor({ state: 'detached' })
    })

    it('is moved by hand, and fits again', async () => {
      const drawn = first.id('dg-picture').locator('svg > g')
      // A drag over the picture lets go of what is selected, and the panel gives its room back.
      await first.page.keyboard.press('Escape')
      await first.panel.waitFor({ state: 'detached' })
      await first.page.getByRole('button', { name: 'Fit' }).click()
      const before = await drawn.getAttribute('transform')
      await first.page.getByRole('button', { name: 'Zoom in' }).click()
      await expect.poll(() => drawn.getAttribute('transform')).not.toBe(before)
      const zoomed = await drawn.getAttribute('transform')
      const { x = 0, y = 0, width = 0, height = 0 } = (await first.id('dg-picture').boundingBox()) ?? {}
      await first.page.mouse.move(x + width / 2, y + height - 60)
      await first.page.mouse.down()
      await first.page.mouse.move(x + width / 2 + 40, y + height - 90, { steps: 4 })
      await first.page.mouse.up()
      await expect.poll(() => drawn.getAttribute('transform')).not.toBe(zoomed)
      await first.page.getByRole('button', { name: 'Fit' }).click()
      await expect.poll(() => drawn.getAttribute('transform')).toBe(before)
    })

    it('selects in the history what it selects in the picture', async () => {
      await first.id('dg-timeline').getByRole('button', { name: 'First half' }).last().click()
      await expect.poll(() => first.panel.locator('h2').innerText()).toBe('First half')
      expect(await first.work('alpha').getAttribute('aria-pressed')).toBe('true')
      await first.work('alpha').focus()
      await first.page.keyboard.press('Escape')
      await first.panel.waitFor({ state: 'detached' })
    })

    it('stands below the picture where there is no room beside it, and keeps still for whoever wants that', async () => {
      await first.work('alpha').click()
      const beside = (await first.panel.boundingBox())?.x ?? 0
      await first.page.setViewportSize({ width: 760, height: 1000 })
      await expect.poll(async () => (await first.panel.boundingBox())?.x ?? 0).toBeLessThan(beside / 2)
      await first.page.setViewportSize({ width: 1400, height: 1000 })
      await first.page.emulateMedia({ reducedMotion: 'reduce' })
      const moving = `[...document.querySelectorAll('.dg *')].filter((one) => getComputedStyle(one).animationName !== 'none').length`
      expect(await first.page.evaluate(moving)).toBe(0)
      await first.page.emulateMedia({ reducedMotion: 'no-preference' })
      await first.work('alpha').focus()
      await first.page.keyboard.press('Escape')
      await first.panel.waitFor({ state: 'detached' })
    })

    it('is as it was after a reload in the middle', async () => {
      await first.page.reload()
      await first.works('running').nth(1).waitFor()
      expect(await first.id('dg-progress').innerText()).toBe('0 of 3 ended')
    })

    it('is the same in a second tab, and both follow it to its end', async () => {
      const second = new GraphPage(await first.page.context().newPage())
      await second.open(web.url)
      await second.works('running').nth(1).waitFor()
      model.releaseAll()
      for (const page of [first, second]) {
        await expect.poll(() => page.id('dg-phase').innerText(), PATIENCE).toContain('finished')
        expect(await page.works('completed').count()).toBe(3)
      }
      await second.page.close()
    })

    it('reads a whole result', async () => {
      await first.work('gamma').click()
      const record = first.id('dg-record')
      await record.getByTestId('dg-read').click()
      await record.getByTestId('dg-read').waitFor({ state: 'detached' })
      expect(await record.innerText()).toContain(`Joined: nonce ${model.nonce()}.`)
      await keepScreenshot(first.page, 'graph-finished')
    })

    it('replays its history', async () => {
      const range = first.id('dg-range')
      await expect.poll(async () => Number(await range.getAttribute('max'))).toBeGreaterThan(15)
      await range.fill('8')
      await first.works('running').first().waitFor()
      expect(await first.work('gamma', 'waiting').count()).toBe(1)
      await keepScreenshot(first.page, 'graph-replay')
      await first.id('dg-live').click()
      await first.works('completed').nth(2).waitFor()
    })

    it('has the same as text', async () => {
      await first.id('dg-show-list').click()
      await first.id('dg-row').nth(2).waitFor()
      expect(await first.id('dg-row').allInnerTexts()).toEqual([
        expect.stringMatching(/done\s+First half/u),
        expect.stringMatching(/done\s+Second half/u),
        expect.stringMatching(/done\s+Join "halves"/u),
      ])
      await keepScreenshot(first.page, 'graph-list')
      expect(await first.seriousViolations()).toEqual([])
      await first.id('dg-show-picture').click()
    })

    it('has nothing that keeps people out', async () => {
      await first.works('completed').nth(2).waitFor()
      expect(await first.seriousViolations()).toEqual([])
    })

    it('says at the composer that the session supervises, and is switched off and on there', async () => {
      const hint = first.id('dg-hint')
      await expect.poll(() => hint.getAttribute('data-supervised')).toBe('true')
      expect(await first.seriousViolations('[data-testid=dg-hint]')).toEqual([])
      for (const [at, said] of [
        ['false', 'supervises no graphs'],
        ['true', 'operators do work in parallel'],
      ] as const) {
        await first.id('dg-hint-switch').click()
        await expect.poll(() => hint.getAttribute('data-supervised')).toBe(at)
        expect(await hint.innerText()).toContain(said)
      }
      await keepScreenshot(first.page, 'composer-hint')
    })

    it('leads to the session that a work was done in', async () => {
      await first.id('dg-open-session').click()
      await first.view.waitFor({ state: 'detached' })
      await first.page.getByText(`Joined: nonce ${model.nonce()}.`).waitFor()
      expect(await first.page.getByText('One-shot subagent record').count()).toBe(1)
      await keepScreenshot(first.page, 'operator-session')
      await first.page
        .getByRole('button', { name: 'Two halves' })
        .or(first.page.getByText('Two halves'))
        .first()
        .click()
      expectQuietPages()
    })
  })

  describe('in a person’s hands', () => {
    it('stops one work after a question, and what follows it', async () => {
      play('alpha', 'beta', 'gamma')
      await first.tab('Graph')
      await first.prompt(PROMPT)
      await first.works('running').nth(1).waitFor()
      await first.work('alpha').click()
      await first.panel.getByTestId('dg-act-stop').click()
      await first.id('dg-ask').waitFor()
      await keepScreenshot(first.page, 'graph-question')
      await first.id('dg-ask-yes').click()
      await first.work('alpha', 'stopped').waitFor()
      await first.work('gamma', 'skipped').waitFor()
      expect(await first.panel.innerText()).toContain('A person stopped it in the web app.')
      expect(await first.work('beta', 'running').count()).toBe(1)
    })

    it('retries it, and what was skipped waits again', async () => {
      const retry = first.panel.getByTestId('dg-act-retry')
      // Its last attempt has to be cancelled first.
      await expect
        .poll(async () => {
          await retry.click()
          await first.id('dg-ask-yes').click()
          const refused = first.id('dg-ask').getByRole('alert')
          await refused.or(first.work('gamma', 'waiting')).first().waitFor()
          if (!(await refused.isVisible())) return true
          await first.id('dg-ask').getByRole('button', { name: 'Back' }).click()
          return false
        }, PATIENCE)
        .toBe(true)
      await first.work('alpha', 'running').waitFor()
    })

    it('stops everything', async () => {
      await first.act(first.id('dg-stop-all'))
      await expect.poll(() => first.works('stopped').count()).toBe(3)
      await keepScreenshot(first.page, 'graph-stopped')
      expect(await first.id('dg-stop-all').isDisabled()).toBe(true)
    })

    it('shows an earlier graph of the session, too', async () => {
      const epochs = first.id('dg-epoch')
      expect(await epochs.locator('option').count()).toBe(2)
      await epochs.selectOption({ index: 0 })
      await first.works('completed').nth(2).waitFor()
      await epochs.selectOption({ index: 1 })
      await first.works('stopped').nth(2).waitFor()
      expectQuietPages()
    })
  })

  describe('over the life of the server', () => {
    it('says that it may be old while the server is away, and comes back by itself', async () => {
      play('alpha', 'beta', 'gamma')
      await first.newSession(PROMPT)
      await first.tab('Graph')
      await first.works('running').nth(1).waitFor()
      const { port } = web
      expect((await web.stop()).code).toBe(0)
      await first.id('dg-offline').waitFor()
      await keepScreenshot(first.page, 'graph-offline')
      web = await DshWeb.boot(bench, port)
      await first.id('dg-offline').waitFor({ state: 'detached' })
      expect(await first.works('running').or(first.works('claimed')).count()).toBe(2)
      // What a page says while its server is away is the browser's own.
      browser.errors.splice(0)
    })

    it('goes on with the session', async () => {
      model.releaseAll()
      await first.prompt('Go on.')
      await expect.poll(() => first.id('dg-phase').innerText(), PATIENCE).toContain('finished')
      expect(await first.works('completed').count()).toBe(3)
      expectQuietPages()
    })

    it('asks before what a crash cut off is done again', async () => {
      model = careful(gatedModel('alpha', 'beta', 'gamma'), 'alpha')
      stage.llm.play(model.respond)
      await first.newSession(PROMPT)
      await first.tab('Graph')
      await first.works('running').nth(1).waitFor()
      // Sessions are written behind: what a kill comes before was never begun, and needs no question.
      await first.work('alpha').click()
      const child = (await first.id('dg-open-session').getAttribute('title')) ?? ''
      await expect.poll(() => isWritten(child), PATIENCE).toBe(true)
      const { port } = web
      await web.kill()
      web = await DshWeb.boot(bench, port)
      await first.id('dg-offline').waitFor({ state: 'detached' })
      await first.prompt('Go on.')
      await first.work('alpha', 'held').waitFor()
      expect(await first.panel.getByTestId('dg-panel-state').innerText()).toMatch(
        /needs you\s*· waits for you: /u,
      )
      await keepScreenshot(first.page, 'graph-held')
      browser.errors.splice(0)
      await first.act(first.panel.getByTestId('dg-act-confirm'))
      await first.work('alpha', 'running').waitFor()
      expect(await first.panel.getByTestId('dg-facts').innerText()).toMatch(/Attempt\s+2/u)
      model.releaseAll()
      await expect.poll(() => first.id('dg-phase').innerText(), PATIENCE).toContain('finished')
      expectQuietPages()
    })

    it('is shown in Chinese, for those who read the documents so', async () => {
      model = inChinese(gatedModel('alpha', 'beta', 'gamma'))
      stage.llm.play(model.respond)
      const other = new GraphPage(await browser.page({ locale: 'zh-CN' }))
      await other.open(web.url)
      await other.newSession('让两个操作员各收集一半，再让第三个把两半合起来。')
      await other.chatLine.waitFor()
      await expect.poll(() => other.chatLine.innerText(), PATIENCE).toContain('前一半')
      // Without a font the pages are the same, and a picture of them is no use.
      if (canWriteChinese()) await keepScreenshot(other.page, 'chat-running.zh-CN')
      await other.tab('图')
      await other.works('running').nth(1).waitFor()
      await other.work('alpha').click()
      await expect.poll(() => other.panel.getByTestId('dg-instruction').innerText()).toContain('收集前一半')
      if (canWriteChinese()) await keepScreenshot(other.page, 'graph-selected.zh-CN')
      model.releaseAll()
      await expect.poll(() => other.id('dg-phase').innerText(), PATIENCE).toContain('结束')
      await other.page.context().close()
      expectQuietPages()
    })

    it('keeps two sessions apart', async () => {
      play('alpha', 'beta', 'gamma')
      const second = new GraphPage(await browser.page({ locale: 'zh-CN', colorScheme: 'dark' }))
      await second.open(web.url)
      await second.newSession(PROMPT)
      await second.tab('图')
      await second.works('running').nth(1).waitFor()
      expect(await first.works('completed').count()).toBe(3)
      await second.work('gamma').click()
      await keepScreenshot(second.page, 'graph-dark-chinese')
      expect(await second.id('dg-progress').innerText()).toBe('3 项中 0 项已结束')
      expect(await second.seriousViolations()).toEqual([])
      model.releaseAll()
      await expect.poll(() => second.id('dg-phase').innerText(), PATIENCE).toContain('结束')
      await second.page.context().close()
      expectQuietPages()
    })

    it('is gone when the bundle is removed, and the session still opens', async () => {
      const { port } = web
      // What DSH keeps of each session for pages has the graphs in it, as the models saw them last.
      expect(await listed()).toMatch(
        /"dsh-graph":\{"graphs":\[\{"graphId":"[^"]+","phase":"closed","works":3,"ended":3\}/u,
      )
      await web.stop()
      await bench.plugin('web', 'remove', 'dsh-graph')
      web = await DshWeb.boot(bench, port)
      browser.errors.splice(0)
      await first.page.reload()
      await first.session('Two halves')
      await first.page.getByText('Two halves in parallel, then a join.').first().waitFor()
      await keepScreenshot(first.page, 'uninstalled')
      expect(await first.page.getByRole('tab', { name: 'Graph' }).count()).toBe(0)
      expect(await listed()).not.toContain('"dsh-graph":')
      expect(await first.chatLine.count()).toBe(0)
      expectQuietPages()
    })
  })
})
