/**
 * Where a process under chaos dies: points that are counted as they are passed, and one of them, at a
 * given occurrence, at which the process sends itself SIGKILL. That is as sudden as a kill from outside,
 * and hits the very instruction.
 */
import { writeSync } from 'node:fs'
import type { DurableLog } from 'dsh-durable-log'
import { watchSqlite } from '../../durable-log/chaos/watch-sqlite.ts'

/**
 * - `before-append`: an append was asked for, and its transaction has not begun.
 * - `in-append`: inside the transaction, the commit included.
 * - `after-append`: the commit has returned, and nobody was told.
 * - `child-turn`: a model answers an operator.
 * - `wake`: a model answers a root that was woken.
 */
export const POINTS = ['before-append', 'in-append', 'after-append', 'child-turn', 'wake'] as const
export type Point = (typeof POINTS)[number]

export interface Aim {
  readonly point: Point
  /** From 1. */
  readonly occurrence: number
}

const STDOUT = 1

export class KillPoint {
  /** How often each point was passed. */
  readonly passed: Record<Point, number>
  private readonly aim: Aim | undefined

  constructor(aim: Aim | undefined) {
    this.aim = aim
    this.passed = Object.fromEntries(POINTS.map((point) => [point, 0])) as Record<Point, number>
  }

  /** Does not return at the aim. */
  pass(point: Point): void {
    this.passed[point] += 1
    if (point !== this.aim?.point || this.passed[point] !== this.aim.occurrence) return
    writeSync(STDOUT, `${JSON.stringify({ kind: 'killed', point })}\n`)
    process.kill(process.pid, 'SIGKILL')
  }

  /** Watches the appends of a log on SQLite, from now on. */
  watch(log: DurableLog): void {
    const append = log.append.bind(log)
    log.append = (...request) => {
      this.pass('before-append')
      return append(...request)
    }
    let phase = ''
    const passPhase = () => {
      if (phase === 'commit') this.pass('in-append')
      if (phase === 'acknowledge') this.pass('after-append')
    }
    watchSqlite({ tell: (told) => (phase = told) }, passPhase)
  }
}
