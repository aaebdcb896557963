import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type DurableLog, sqliteLog, type StreamHead } from '../src/index.ts'
import { loadSqlite } from '../src/node-sqlite.ts'
import { openDatabase } from '../src/sqlite-schema.ts'
import { heard } from '../src/testing/harness.ts'
import { startChild } from './fixtures/children.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const one = { type: 'test/entry', data: 1 }

function openLog(
  path: string,
  options: { busyTimeoutMs?: number; pollIntervalMs?: number } = {},
): DurableLog {
  const log = sqliteLog({ path, ...options })
  onTestFinished(() => log.close())
  return log
}

/** Holds the write lock of the file as another process would. */
function foreignLock(path: string): () => void {
  const foreign = openDatabase(path)
  foreign.exec('BEGIN IMMEDIATE')
  onTestFinished(() => foreign.close())
  return () => foreign.exec('COMMIT')
}

/** Resolves after so many turns of a timer: proof that the event loop goes on. */
function timerTicks(count: number): Promise<void> {
  return new Promise((resolve) => {
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
      if (ticks < count) return
      clearInterval(timer)
      resolve()
    }, 5)
  })
}

/** Turns a timer of 5 ms while the condition holds. Returns the milliseconds between its turns. */
async function turnsWhile(condition: () => boolean): Promise<number[]> {
  const gaps: number[] = []
  for (let last = performance.now(); condition();) {
    await timerTicks(1)
    const now = performance.now()
    gaps.push(now - last)
    last = now
  }
  return gaps
}

describe('SQLite log between processes', () => {
  it('loses no update of three processes that append to one stream', async () => {
    const path = newPath()
    const count = 100
    const children = ['a', 'b', 'c'].map((label) =>
      startChild('appender.ts', [path, 's', String(count), label]),
    )
    await Promise.all(children.map((child) => child.nextLine()))
    for (const child of children) child.send('go')
    for (const child of children) expect(await child.exited()).toEqual({ code: 0, stderr: '' })

    const entries = await openLog(path).read('s')
    expect(entries).toHaveLength(3 * count)
    for (const label of ['a', 'b', 'c']) {
      const numbers = entries.flatMap(({ data }) => {
        const entry = data as { label: string; n: number }
        return entry.label === label ? [entry.n] : []
      })
      expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n))
    }
  })

  it('tells a listener about the appends of another process', async () => {
    const path = newPath()
    const log = openLog(path, { pollIntervalMs: 10 })
    await log.append('s', 0, [one])
    const news = heard<StreamHead>()
    const told: StreamHead[] = []
    log.subscribe('', (head) => {
      told.push(head)
      news.tell(head)
    })
    const child = startChild('appender.ts', [path, 's', '5', 'foreign'])
    await child.nextLine()
    child.send('go')
    expect(await news.first(({ seq }) => seq === 6)).toEqual({ stream: 's', seq: 6 })
    expect(told.map(({ seq }) => seq)).toEqual(told.map(({ seq }) => seq).toSorted((a, b) => a - b))
  })

  it('tells of foreign appends before an own one that lands behind them', async () => {
    const path = newPath()
    const log = openLog(path, { pollIntervalMs: 60_000 })
    await log.append('own', 0, [one])
    const news = heard<StreamHead>()
    log.subscribe('', news.tell)
    await log.read('own')
    const child = startChild('appender.ts', [path, 'foreign', '1', 'x'])
    await child.nextLine()
    child.send('go')
    await child.exited()
    await log.append('own', 1, [one])
    expect(await news.first(({ stream }) => stream === 'foreign')).toEqual({ stream: 'foreign', seq: 1 })
    expect(await news.first(({ stream }) => stream === 'own')).toEqual({ stream: 'own', seq: 2 })
  })

  it('does not keep a process alive for a listener', async () => {
    const child = startChild('listener.ts', [newPath()])
    expect(await child.nextLine()).toBe('appended')
    expect(await child.exited()).toEqual({ code: 0, stderr: '' })
  })

  it('waits for a foreign lock while the event loop goes on, then appends', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.append('s', 0, [one])
    const unlock = foreignLock(path)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const appends = Promise.all([log.append('s', 1, [one]), log.append('s', 2, [one])])
    await timerTicks(40)
    delay.disable()
    expect(delay.percentile(90) / 1e6).toBeLessThan(50)
    expect(await log.read('s')).toHaveLength(1)
    unlock()
    expect(await appends).toEqual([2, 3])
  })

  it('keeps the event loop going while another process holds the lock for two seconds', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.append('s', 0, [one])
    log.subscribe('', () => undefined)
    const child = startChild('locker.ts', [path, '2000'])
    expect(await child.nextLine()).toBe('locked')
    const lock = { isHeld: true }
    const unlocked = child.nextLine().then((line) => {
      lock.isHeld = false
      return line
    })
    const writes = Promise.all([
      ...Array.from({ length: 20 }, () => log.append('s', 'any', [one])),
      log.saveSnapshot('s', 1, 'state'),
    ])
    const gaps = await turnsWhile(() => lock.isHeld)
    expect(await unlocked).toBe('unlocked')
    // Without a freeze of more than 50 ms two seconds hold at least 40 turns, and usually some
    // hundreds. A busy machine may stretch a few; waiting for the lock would stretch every one.
    expect(gaps.length).toBeGreaterThan(100)
    expect(gaps.filter((gap) => gap > 50).length).toBeLessThan(gaps.length / 20)
    expect((await writes).slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2))
    expect(await log.loadSnapshot('s')).toEqual({ seq: 1, snapshot: 'state' })
  })

  it('gives up on a foreign lock when its patience is over, and writes nothing', async () => {
    const path = newPath()
    const log = openLog(path, { busyTimeoutMs: 30 })
    await log.append('s', 0, [one])
    const unlock = foreignLock(path)
    await expect(log.append('s', 1, [one])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(path) as string,
    })
    unlock()
    expect(await log.append('s', 1, [one])).toBe(2)
  })

  it('aborts an append that waits for a foreign lock', async () => {
    const path = newPath()
    const log = openLog(path)
    await log.append('s', 0, [one])
    const unlock = foreignLock(path)
    const controller = new AbortController()
    const aborted = log.append('s', 'any', [one], { signal: controller.signal })
    const other = log.append('s', 'any', [{ type: 'test/entry', data: 'other' }])
    await timerTicks(3)
    controller.abort('enough')
    await expect(aborted).rejects.toMatchObject({ code: 'aborted', cause: 'enough' })
    unlock()
    expect(await other).toBe(2)
  })

  it('opens a new file that another process has locked for a moment', async () => {
    const path = newPath()
    mkdirSync(dirname(path))
    const { DatabaseSync } = loadSqlite()
    const foreign = new DatabaseSync(path)
    onTestFinished(() => foreign.close())
    foreign.exec('BEGIN EXCLUSIVE')
    const log = openLog(path)
    const append = log.append('s', 0, [one])
    await timerTicks(5)
    foreign.exec('COMMIT')
    expect(await append).toBe(1)
  })
})
