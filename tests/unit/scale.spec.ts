/**
 * The model of `docs/scale.md`: the same for the same seed, right where there is a closed form, near
 * what was measured, and told by the document as it is.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EventQueue, Line } from '../../scripts/scale/event-queue.ts'
import type { Cell, ServiceTimes } from '../../scripts/scale/cell.ts'
import { simulate } from '../../scripts/scale/model.ts'
import { agreement, DATABASES, type Figures, split } from '../../scripts/scale/predict.ts'
import {
  machineLine,
  measuredTable,
  SCALE_DOCUMENTS,
  splitTable,
  timesTable,
  withTables,
} from '../../scripts/scale/tables.ts'
import { randomFrom } from '../../packages/durable-log/src/testing/random.ts'
import { ROOT } from '../support/composition.ts'

const figures = JSON.parse(readFileSync(join(ROOT, 'scripts', 'scale', 'figures.json'), 'utf8')) as Figures

const NOTHING: ServiceTimes = {
  dbTrip: 0,
  dbAppend: 0,
  dbNotify: 0,
  dbPoll: 0,
  dbPollRow: 0,
  sync: 0,
  wire: 0,
  hostAppend: 0,
  hostTrip: 0,
  hostPoll: 0,
  hostPollRow: 0,
}

/** Hosts of one session that does nothing but one append and a pause: customers of the database's cores. */
function customers(count: number, cores: number, changes: Partial<Cell>): Cell {
  return {
    times: { ...NOTHING, dbTrip: 1 },
    hosts: count,
    sessionsPerHost: 1,
    appendsBefore: 1,
    appendsAfter: 0,
    waitMs: 0,
    pauseMs: 10,
    cores,
    onOneMachine: false,
    spread: 'exponential',
    warmUpMs: 2_000,
    windowMs: 200_000,
    seed: 7,
    ...changes,
  }
}

/** Throughput of a closed shop: `count` machines that run for 1/λ and need one of `cores` repairers for 1/μ. */
function closedShop(count: number, cores: number, pauseMs: number, serviceMs: number): number {
  // Weight of the state in which n are at the repairers, over that of none.
  const weights = [1]
  for (let n = 1; n <= count; n += 1) {
    const rate = ((count - n + 1) / pauseMs) * (serviceMs / Math.min(n, cores))
    weights.push((weights[n - 1] ?? 0) * rate)
  }
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const busy = weights.reduce((total, weight, n) => total + weight * Math.min(n, cores), 0) / sum
  return (busy / serviceMs) * 1_000
}

describe('the simulation', () => {
  it('gives the same for the same seed, and something else for another', () => {
    const cell = customers(20, 2, { times: figures.times, windowMs: 5_000 })
    expect(simulate(cell)).toEqual(simulate({ ...cell }))
    expect(simulate(cell)).not.toEqual(simulate({ ...cell, seed: 8 }))
  })

  it.each([
    [1, 1],
    [5, 1],
    [12, 1],
    [30, 1],
    [8, 4],
    [60, 4],
    [100, 16],
  ])('agrees with a closed shop of %i machines and %i repairers', (count, cores) => {
    const { appendsPerSecond, coresUsed } = simulate(customers(count, cores, {}))
    const expected = closedShop(count, cores, 10, 1)
    expect(appendsPerSecond / expected).toBeCloseTo(1, 1.7)
    expect(coresUsed / (expected / 1_000 / cores)).toBeCloseTo(1, 1.7)
  })

  it.each([
    [1, 0.5],
    [1, 0.8],
    [4, 0.8],
    [16, 0.9],
  ])('comes to M/M/c with many customers: %i cores, %f of them in use', (cores, use) => {
    // Of so many customers that one who waits is not missed among those who come.
    const count = 3_000
    const arrivals = use * cores
    const cell = customers(count, cores, { pauseMs: count / arrivals, windowMs: 150_000, warmUpMs: 10_000 })
    const { coresUsed, appendMs } = simulate(cell)
    expect(coresUsed).toBeCloseTo(use, 1)
    expect(appendMs.p50 / medianOfErlang(cores, arrivals)).toBeGreaterThan(0.88)
    expect(appendMs.p50 / medianOfErlang(cores, arrivals)).toBeLessThan(1.12)
  })

  it('serves constant times without a line where a schedule fits', () => {
    const { appendMs, appendsPerSecond } = simulate(customers(1, 1, { spread: 'constant' }))
    expect(appendsPerSecond).toBeCloseTo(1_000 / 11, 0)
    expect(appendMs.p95).toBeCloseTo(1, 1)
  })

  it('lets appends that wait share a trip, and commits that wait share a sync', () => {
    const alone = { ...NOTHING, sync: 5 }
    const shape = { times: alone, spread: 'constant' as const, pauseMs: 0, windowMs: 20_000 }
    // 200 syncs a second. One carries a single commit, and the next one all that came meanwhile.
    const each = (1 + 49) / 2
    expect(simulate(customers(50, 1, shape)).appendsPerSecond).toBeCloseTo(200 * each, -2)
    const ofOneHost = simulate(customers(1, 1, { ...shape, sessionsPerHost: 50 }))
    expect(ofOneHost.appendsPerSecond).toBeCloseTo(200 * each, -2)
  })

  it('makes each host pay for the commits of the others', () => {
    const times = { ...NOTHING, dbTrip: 0.1, dbNotify: 0.01, dbPoll: 0.05, dbPollRow: 0.002 }
    const of = (hosts: number) =>
      simulate(customers(hosts, 16, { times, pauseMs: 10 * hosts, windowMs: 20_000 })).coresUsedByNews
    // The same appends, whoever makes them: ten times the hosts hear of them.
    expect(of(100) / of(10)).toBeGreaterThan(6)
  })
})

/** Median of the time in an M/M/c with services of 1 ms, from Erlang's C. */
function medianOfErlang(cores: number, arrivals: number): number {
  let term = 1
  let sum = 1
  for (let n = 1; n < cores; n += 1) {
    term *= arrivals / n
    sum += term
  }
  const last = ((term * arrivals) / cores) * (cores / (cores - arrivals))
  const waits = last / (sum + last)
  const left = cores - arrivals
  // P(T > t): who does not wait is served at rate 1; who waits, waits at rate `left` first.
  const beyond = (t: number) =>
    (1 - waits) * Math.exp(-t) +
    waits *
      (Math.abs(left - 1) < 1e-9
        ? (1 + t) * Math.exp(-t)
        : (left * Math.exp(-t) - Math.exp(-left * t)) / (left - 1))
  let [low, high] = [0, 1_000]
  for (let round = 0; round < 100; round += 1) {
    const middle = (low + high) / 2
    if (beyond(middle) > 0.5) low = middle
    else high = middle
  }
  return low
}

describe('its events', () => {
  it('come in the order of their times, and of their coming', () => {
    const { below } = randomFrom(3)
    const events = new EventQueue()
    const put = Array.from({ length: 5_000 }, (_, code) => ({ time: below(500), code }))
    for (const { code, time } of put) events.put(time, code)
    const taken = put.map(() => events.take())
    const sorted = put.toSorted((left, right) => left.time - right.time || left.code - right.code)
    expect(taken).toEqual(sorted.map(({ code }) => code))
    expect([events.take(), events.nextAt, events.isEmpty]).toEqual([-1, Number.POSITIVE_INFINITY, true])
  })

  it('wait in a line that grows and goes round', () => {
    const line = new Line()
    const taken: number[] = []
    for (let item = 0; item < 1_000; item += 1) {
      line.push(item)
      if (item % 3 === 0) taken.push(line.shift())
    }
    while (line.length > 0) taken.push(line.shift())
    expect(taken).toEqual(Array.from({ length: 1_000 }, (_, item) => item))
    expect(line.shift()).toBe(-1)
  })
})

describe('the measured hosts', () => {
  const agreements = agreement(figures)

  it('are one to four, each several times, light and heavy', () => {
    const hosts = agreements.map((one) => one.hosts)
    expect([...new Set(hosts)].sort()).toEqual([1, 2, 3, 4])
    expect(figures.measured.length / agreements.length).toBeGreaterThanOrEqual(3)
  })

  it('are predicted within 20 %', () => {
    const off = agreements.filter(({ ratio }) => Math.abs(ratio - 1) > 0.2)
    expect(off).toEqual([])
  })

  it('reach at least 2.5 times one host with four, where the work is waiting', () => {
    const least = Math.min(...agreements.map(({ sessionsPerHost }) => sessionsPerHost))
    const of = (hosts: number) =>
      agreements.find((one) => one.hosts === hosts && one.sessionsPerHost === least)?.turnsPerSecond ??
      Number.NaN
    expect(of(4) / of(1)).toBeGreaterThanOrEqual(2.5)
  })
})

describe('the document', () => {
  it('holds the tables that the figures and the model give, in both languages', { timeout: 120_000 }, () => {
    const tables = {
      machine: machineLine(figures),
      times: timesTable(figures),
      measured: measuredTable(agreement(figures)),
      databases: splitTable(DATABASES.map((databases) => split(figures, databases))),
    }
    for (const file of SCALE_DOCUMENTS) {
      const text = readFileSync(file, 'utf8')
      expect(withTables(text, tables)).toBe(text)
    }
  })
})
