/** A real Chromium for the tests of the web app. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { CHROMIUM } from './chromium.ts'

/** Where screenshots are kept; outside of the repository's files. */
const SHOTS = resolve(
  process.env['SCREENSHOTS'] ?? join(import.meta.dirname, '..', '..', 'artifacts', 'screenshots'),
)

/** Pictures that documents show; a new one begins as an empty file there. */
const DOCUMENTS = resolve(import.meta.dirname, '..', '..', 'docs', 'images')

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export interface PageOptions {
  readonly locale?: string
  readonly colorScheme?: 'light' | 'dark'
}

export class TestBrowser implements AsyncDisposable {
  /** Errors of every page: thrown, or written to the console. */
  readonly errors: string[] = []
  /** Requests that left this machine. */
  readonly offSite: string[] = []
  private readonly browser: Browser

  private constructor(browser: Browser) {
    this.browser = browser
  }

  static async launch(): Promise<TestBrowser> {
    if (CHROMIUM === undefined) throw new Error('there is no Chromium here')
    return new TestBrowser(await chromium.launch({ executablePath: CHROMIUM, args: FLAGS }))
  }

  /** A page with a profile of its own. */
  async page({ locale = 'en-US', colorScheme = 'light' }: PageOptions = {}): Promise<Page> {
    const viewport = { width: 1400, height: 1000 }
    const context = await this.browser.newContext({ locale, colorScheme, viewport })
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    page.on('pageerror', (error) => this.errors.push(error.stack ?? error.message))
    page.on('console', (said) => {
      if (said.type() === 'error') this.errors.push(said.text())
    })
    page.on('request', (request) => {
      if (!/^(?:https?:\/\/127\.0\.0\.1[:/]|data:|blob:)/u.test(request.url()))
        this.offSite.push(request.url())
    })
    return page
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close()
  }
}

/**
 * Keeps a picture of a page for people to look at. One that documents show is kept for them as well where
 * `DOCUMENT_SCREENSHOTS` is set.
 */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true })
  const path = join(SHOTS, `${name}.png`)
  await page.screenshot({ path })
  const shown = join(DOCUMENTS, `${name}.png`)
  if ((process.env['DOCUMENT_SCREENSHOTS'] ?? '') !== '' && existsSync(shown)) copyFileSync(path, shown)
}

/** Whether this machine has letters to write Chinese with: without them a picture of a page has boxes. */
export function canWriteChinese(): boolean {
  const found = spawnSync('fc-list', [':lang=zh', 'family'], { encoding: 'utf8' })
  return found.status === 0 && found.stdout.trim() !== ''
}
