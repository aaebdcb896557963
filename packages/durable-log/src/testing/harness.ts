/**
 * What the contract needs from a test runner and from an adapter. Imports no test runner, so any one
 * with `describe` and `it` will do.
 */
import assert from 'node:assert/strict'
import type { DurableLogErrorCode } from '../errors.ts'
import type { DurableLog, Entry, JsonValue } from '../types.ts'

/** `describe` and `it` of the caller's test runner. */
export interface TestApi {
  describe(title: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
}

/** A fresh, empty log. */
export interface OpenedLog {
  readonly log: DurableLog
  /** Stands for a crash and a restart: opens the same medium anew. `log` is not used afterwards. */
  reopen(): Promise<DurableLog>
}

export type OpenLog = () => OpenedLog | Promise<OpenedLog>

/** Defines one test over a fresh log, which is closed at the end, reopened or not. */
export type LogTest = (
  title: string,
  body: (log: DurableLog, reopen: () => Promise<DurableLog>) => Promise<void>,
) => void

export function logTests({ it }: TestApi, open: OpenLog): LogTest {
  return (title, body) =>
    void it(title, async () => {
      const opened = await open()
      const logs = [opened.log]
      try {
        await body(opened.log, async () => {
          const reopened = await opened.reopen()
          logs.push(reopened)
          return reopened
        })
      } finally {
        await Promise.all(logs.map((log) => log.close()))
      }
    })
}

/** An entry of type `test/entry`. */
export function entry(data: JsonValue): Entry {
  return { type: 'test/entry', data }
}

/** The data of a stream, in order. */
export async function dataOf(log: DurableLog, stream: string): Promise<JsonValue[]> {
  return (await log.read(stream)).map(({ data }) => data)
}

/** What a refusal must say; properties that are absent are not compared. */
export interface Refusal {
  readonly code: DurableLogErrorCode
  readonly stream?: string
  readonly seq?: number
  readonly currentSeq?: number
}

/** Fails unless `reason` is an error that says this. */
export function assertRefusal(reason: unknown, refusal: Refusal): void {
  assert.ok(reason instanceof Error, 'is an error')
  const said = reason as unknown as Record<string, unknown>
  assert.deepEqual(
    Object.fromEntries(Object.keys(refusal).map((key) => [key, said[key]])),
    refusal,
    reason.message,
  )
  assert.ok(reason.message.length > 0, 'has a text')
}

/** Fails unless the promise rejects with an error that says this. */
export async function assertRefused(
  outcome: Promise<unknown>,
  code: DurableLogErrorCode,
  details: Omit<Refusal, 'code'> = {},
): Promise<void> {
  const [settled] = await Promise.allSettled([outcome])
  assert.equal(settled.status, 'rejected', `was refused with ${code}`)
  if (settled.status === 'rejected') assertRefusal(settled.reason, { code, ...details })
}

/** Resolves with the first news that fulfils the condition. */
export function heard<T>(): {
  readonly tell: (news: T) => void
  readonly first: (wanted: (news: T) => boolean) => Promise<T>
} {
  const told: T[] = []
  const waiting: { readonly wanted: (news: T) => boolean; readonly resolve: (news: T) => void }[] = []
  return {
    tell: (news) => {
      told.push(news)
      for (const { wanted, resolve } of waiting) if (wanted(news)) resolve(news)
    },
    first: (wanted) =>
      new Promise((resolve) => {
        const known = told.find(wanted)
        if (known === undefined) waiting.push({ wanted, resolve })
        else resolve(known)
      }),
  }
}
