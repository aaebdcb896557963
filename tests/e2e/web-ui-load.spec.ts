/**
 * The Graph tab with a graph as large as it gets, moved on by another process of the same home, and
 * the fence of what stands behind it.
 */
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { leaseStore, sqliteLog, type DurableLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import type { CDPSession } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keepScreenshot, TestBrowser } from '../support/browser.ts'
import { DshWeb } from '../support/dsh-web.ts'
import { GraphPage } from '../support/graph-page.ts'
import { ScriptedGraph, type ScriptedWork } from '../support/scripted-graph.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

const WAVES = 30
const WIDE = 100
const TOTAL = WAVES * WIDE
const CHANNEL = '/dsh-graph-host'
const PATIENCE = { timeout: 60_000 }

let stage: Stage
let web: DshWeb
let browser: TestBrowser
let page: GraphPage
let cdp: CDPSession
let log: DurableLog
let store: GraphControlStore
let graph: ScriptedGraph
let sessionId: string
/** The first work that nobody has done. */
let next = 0

/** Code of the page: keeps the length of its longest task, milliseconds. */
const WATCH_TASKS = `
  globalThis.longestTask = 0
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestTask = Math.max(longestTask, duration)
  }).observe({ type: 'longtask' })
`

beforeAll(async () => {
  stage = await raiseStage()
  const bench = stage.bench()
  await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
  web = await DshWeb.boot(bench)
  const { workspace } = await web.call<{ workspace: { workspaceId: string } }>('workspace.create', {
    path: bench.workspace,
  })
  sessionId = await web.createSession({ workspaceId: workspace.workspaceId })
  await web.prompt(sessionId, 'Hello.')
  log = sqliteLog({ path: join(bench.home, 'graph', 'log.sqlite') })
  store = await GraphControlStore.open(log)
  // This process drives the root: the web app's has to leave its works alone.
  await leaseStore({ log, ttlMs: 600_000 }).acquire(sessionId)
  graph = await ScriptedGraph.open(store, sessionId)
  await graph.add(...Array.from({ length: TOTAL }, (_, n) => workAt(n)))
  browser = await TestBrowser.launch()
  const tab = await browser.page()
  cdp = await tab.context().newCDPSession(tab)
  page = new GraphPage(tab)
  await page.open(web.url)
})

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]()
  await store?.close()
  await log?.close()
  await stage?.[Symbol.asyncDispose]()
})

function workAt(n: number): ScriptedWork {
  const wave = Math.floor(n / WIDE)
  const row = n % WIDE
  const before = (at: number) => `w${wave - 1}-${at % WIDE}`
  return {
    workId: `w${wave}-${row}`,
    title: `Read module ${row} in wave ${wave}`,
    inputIds: wave === 0 ? [] : [before(row), before(row + 1)],
  }
}

/** The page shows the graph as it is in the store. */
async function expectCaughtUp(): Promise<void> {
  const { seq } = await graph.state()
  await expect
    .poll(() => page.view.getAttribute('data-seq'), {
      ...PATIENCE,
      message: 'the page is where the store is',
    })
    .toBe(String(seq))
}

async function heapBytes(): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage')
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = (await cdp.send('Runtime.getHeapUsage')) as { usedSize: number }
  return usedSize
}

describe('a graph of 3,000 works', () => {
  it('starts grouped, with few things drawn', async () => {
    await page.page.getByText('Hello from the mock.').or(page.page.getByText('Hello.')).first().click()
    await page.tab('Graph')
    await expect.poll(() => page.id('dg-progress').innerText(), PATIENCE).toBe(`0 of ${TOTAL} ended`)
    await expectCaughtUp()
    await keepScreenshot(page.page, 'large-grouped')
    expect(await page.id('dg-node').count()).toBeLessThanOrEqual(2 * WAVES)
  })

  it('is a list of which only what shows is there', async () => {
    await page.id('dg-show-list').click()
    await page.id('dg-row').first().waitFor()
    expect(await page.id('dg-row').count()).toBeLessThan(60)
    await page.page.locator('.dg-rows').evaluate((rows) => {
      const frame = rows as unknown as { scrollTop: number; scrollHeight: number }
      frame.scrollTop = frame.scrollHeight
    })
    await page.page.getByText(`Read module ${WIDE - 1} in wave ${WAVES - 1}`).waitFor()
    await keepScreenshot(page.page, 'large-list')
    await page.id('dg-show-picture').click()
  })

  it('stays fluid while it moves', async () => {
    await page.page.evaluate(WATCH_TASKS)
    // The watch sees what it is there for.
    await page.page.evaluate(
      'setTimeout(() => { const end = performance.now() + 80; while (performance.now() < end); })',
    )
    await expect.poll(() => page.page.evaluate<number>('longestTask')).toBeGreaterThan(50)
    await page.page.evaluate('longestTask = 0')
    const began = Date.now()
    const before = (await graph.state()).seq
    while (Date.now() < began + 10_000) {
      // Four commits a work: fifty a second.
      const due = ((Date.now() - began) * 50) / 1_000
      if ((await graph.state()).seq - before < due) await graph.run(workAt(next++).workId)
      else await pause(5)
    }
    await expectCaughtUp()
    const longest = await page.page.evaluate<number>('longestTask')
    const updates = (await graph.state()).seq - before
    console.log(`longest task of the page: ${Math.round(longest)} ms over ${updates} updates`)
    expect(updates).toBeGreaterThan(200)
    expect(await page.id('dg-progress').innerText()).toBe(`${next} of ${TOTAL} ended`)
  })

  it('shows a failure at once, alone and selected', async () => {
    const { workId, title = '' } = workAt(next++)
    await graph.run(workId, { outcome: 'failed', reason: 'The disk is full.' })
    await page.work(workId, 'failed').waitFor()
    expect(await page.panel.innerText()).toContain(title)
    expect(await page.panel.innerText()).toContain('The disk is full.')
    await keepScreenshot(page.page, 'large-failure')
  })

  it('keeps no memory of what is over', async () => {
    const before = await heapBytes()
    while (next < TOTAL) {
      const ready = [...(await graph.state()).live.ready.keys()].slice(0, 16)
      if (ready.length === 0) break
      next += ready.length
      await Promise.all(ready.map((workId) => graph.run(workId)))
    }
    await expectCaughtUp()
    const { seq } = await graph.state()
    const ratio = (await heapBytes()) / before
    console.log(`memory after ${seq} updates: ${ratio.toFixed(2)} times the start`)
    await keepScreenshot(page.page, 'large-ended')
    expect(seq).toBeGreaterThan(10_000)
    expect(ratio).toBeLessThan(1.3)
    expect(browser.errors).toEqual([])
    expect(browser.offSite).toEqual([])
  })
})

describe('an operator that is given more work', () => {
  it('has its works in one frame, and each names the others', async () => {
    const { records } = await graph.state()
    await graph.update({ finish: { resultIds: [...records.keys()].slice(0, 1), reason: 'It is enough.' } })
    const next = await ScriptedGraph.open(store, sessionId)
    await next.add({ workId: 'draft', title: 'Draft' }, { workId: 'check', title: 'Check' })
    await next.run('draft')
    const operatorId = (await next.state()).works.get('draft')?.operatorId ?? ''
    await next.add({
      workId: 'revise',
      title: 'Revise',
      target: { kind: 'operator', id: operatorId },
      inputIds: ['draft', 'check'],
    })
    await page.work('revise').waitFor()
    await keepScreenshot(page.page, 'graph-operator')
    await page.id('dg-operator').waitFor()
    expect(await page.id('dg-operator').innerHTML()).toContain('Operator 1: 2 works in one session')
    await page.work('revise').click()
    await keepScreenshot(page.page, 'graph-operator')
    expect(await page.panel.innerText()).toMatch(/Also done by its operator\s+Draft/u)
  })
})

describe('the socket', () => {
  const TICKET = { type: 'client-request', rpcId: 'test', method: 'ticket', payload: {} }

  async function ticket(): Promise<string> {
    const answer = await fetch(`${web.url}${CHANNEL}/ticket`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(TICKET),
    })
    const { result } = (await answer.json()) as { result: { value: { ticket: string } } }
    return result.value.ticket
  }

  /** The status of an upgrade; 101 when it is open. */
  function upgrade(query: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const { resolve, reject, promise } = Promise.withResolvers<number>()
    const request = httpRequest(`${web.url}${CHANNEL}/feed${query}`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        ...headers,
      },
    })
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve(response.statusCode ?? 0)
    })
    request.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
    request.end()
    return promise
  }

  it('opens for a page of the server that has a ticket', async () => {
    expect(await upgrade(`?ticket=${await ticket()}`, { origin: web.url })).toBe(101)
  })

  it('opens for nobody without one, and for nobody twice', async () => {
    const used = await ticket()
    expect(await upgrade(`?ticket=${used}`, { origin: web.url })).toBe(101)
    expect(await upgrade(`?ticket=${used}`, { origin: web.url })).toBe(403)
    expect(await upgrade('', { origin: web.url })).toBe(403)
  })

  it('stays closed for the page of another site that got hold of one', async () => {
    expect(await upgrade(`?ticket=${await ticket()}`, { origin: 'https://evil.example' })).toBe(403)
    const crossSite = { origin: web.url, 'sec-fetch-site': 'cross-site' }
    expect(await upgrade(`?ticket=${await ticket()}`, crossSite)).toBe(403)
  })

  it.each([
    ['a foreign host name', { host: 'evil.example', origin: 'http://evil.example' }],
    ['a foreign origin', { origin: 'https://evil.example' }],
  ])('gives no ticket to %s', async (_, headers) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const request = httpRequest(`${web.url}${CHANNEL}/ticket`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
    })
    request.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
    request.end(JSON.stringify(TICKET))
    expect(await promise).toBe(403)
  })
})
