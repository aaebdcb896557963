/** The Graph tab as a person finds their way in it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Locator, Page } from 'playwright-core'

export class GraphPage {
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  /** Opens the app; the notice of a first start is put away whenever it comes. */
  async open(url: string): Promise<void> {
    const notice = this.page.getByRole('button', { name: /^(Continue|继续)$/u })
    await this.page.addLocatorHandler(notice, () => notice.click())
    await this.page.goto(url)
  }

  async newSession(prompt: string): Promise<void> {
    await this.page
      .getByRole('button', { name: /New Session|新会话|新建会话|新对话/iu })
      .first()
      .click()
    // A new session has no tabs before its first prompt.
    await this.page.getByRole('tablist').waitFor({ state: 'detached' })
    await this.prompt(prompt)
  }

  async prompt(text: string): Promise<void> {
    const field = this.page.locator('textarea:not([readonly])')
    await field.fill(text)
    await field.press('Enter')
  }

  async tab(name: string): Promise<void> {
    await this.page.getByRole('tab', { name, exact: true }).click()
  }

  /** A session of the list at the left. */
  async session(title: string): Promise<void> {
    await this.page.getByText(title, { exact: true }).first().click()
  }

  /** DSH's settings of plugins. */
  async settings(): Promise<void> {
    await this.page
      .getByRole('button', { name: /^(Settings|设置)$/u })
      .first()
      .click()
    await this.page
      .getByText(/^(Plugins|插件)$/u)
      .first()
      .click()
  }

  async closeSettings(): Promise<void> {
    await this.page.keyboard.press('Escape')
    await this.page.getByText(/^(Plugin configuration|插件配置)$/u).waitFor({ state: 'detached' })
  }

  get view(): Locator {
    return this.page.getByTestId('dg-view')
  }

  get panel(): Locator {
    return this.page.getByTestId('dg-panel')
  }

  get chatLine(): Locator {
    return this.page.getByTestId('dg-chat-line')
  }

  id(testId: string): Locator {
    return this.page.getByTestId(testId)
  }

  work(id: string, status?: string): Locator {
    return this.page.locator(`[data-box="${id}"]${status === undefined ? '' : `[data-status=${status}]`}`)
  }

  works(status: string): Locator {
    return this.page.locator(`[data-testid=dg-node][data-status=${status}]`)
  }

  /** Presses a verb, and then the same verb in the question that it asks. */
  async act(button: Locator): Promise<void> {
    await button.click()
    await this.id('dg-ask').waitFor()
    await this.id('dg-ask-yes').click()
    await this.id('dg-ask').waitFor({ state: 'detached' })
  }

  /** What axe finds to be serious or critical in the tab. */
  async seriousViolations(selector = '[data-testid=dg-view]'): Promise<readonly string[]> {
    const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    await this.page.evaluate(source)
    const found = await this.page.evaluate(async (inside) => {
      const { axe } = globalThis as unknown as { axe: { run(where: string): Promise<AxeResult> } }
      const { violations } = await axe.run(inside)
      return violations.map(({ id, impact, nodes }) => ({
        id,
        impact,
        where: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
      }))
    }, selector)
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, where }) => `${id}: ${where.join('\n')}`)
  }
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly impact: string | null
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}
