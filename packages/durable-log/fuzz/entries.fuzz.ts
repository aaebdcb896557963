/**
 * Hostile arguments, at random: whatever is passed, a log answers with a coded error and writes
 * nothing, or accepts and gives back exactly what it was given. All adapters must agree.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type DurableLog, DurableLogError, kvUnitLog, memoryLog, sqliteLog } from 'dsh-durable-log'
import { memoryKvUnit, randomFrom } from 'dsh-durable-log/testing'
import { hostileArguments, type HostileCall } from './hostile-values.ts'

export interface FuzzResult {
  readonly target: string
  readonly runs: number
  readonly failed: number
  readonly failures: readonly { readonly seed: number; readonly text: string }[]
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

const CODES: readonly string[] = ['conflict', 'invalid', 'too-large', 'aborted']
const MAX_FAILURES = 20

export async function run(options: { runs: number; seed: number }): Promise<FuzzResult> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-fuzz-'))
  const logs = [memoryLog(), sqliteLog({ path: join(folder, 'log.sqlite') }), kvUnitLog(memoryKvUnit())]
  const failures: { seed: number; text: string }[] = []
  let failed = 0
  try {
    for (let index = 0; index < options.runs; index += 1) {
      const seed = options.seed + index
      const text = await tryOnce(logs, seed)
      if (text === undefined) continue
      failed += 1
      if (failures.length < MAX_FAILURES) failures.push({ seed, text })
    }
  } finally {
    await Promise.all(logs.map((log) => log.close()))
    rmSync(folder, { recursive: true, force: true })
  }
  return { target: 'entries', runs: options.runs, failed, failures }
}

/** @returns what is wrong, if anything. */
async function tryOnce(logs: readonly DurableLog[], seed: number): Promise<string | undefined> {
  const outcomes: string[] = []
  for (const log of logs) {
    // The same seed gives the same call, with values of its own for each log.
    const call = hostileArguments(randomFrom(seed))
    const heads = await headsOf(log)
    const outcome = await settle(() => invoke(log, call))
    const complaint = await judge(log, call, outcome, heads)
    if (complaint !== undefined) return `${call.method}: ${complaint}`
    outcomes.push('error' in outcome ? String((outcome.error as DurableLogError).code) : 'accepted')
  }
  return new Set(outcomes).size === 1 ? undefined : `adapters disagree: ${outcomes.join(', ')}`
}

function invoke(log: DurableLog, { method, args }: HostileCall): Promise<unknown> {
  return Reflect.apply(log[method] as (...args: readonly unknown[]) => Promise<unknown>, log, args)
}

async function settle(act: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await act() }
  } catch (error) {
    return { error }
  }
}

async function judge(
  log: DurableLog,
  call: HostileCall,
  outcome: Outcome,
  before: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  const after = await headsOf(log)
  if ('error' in outcome) {
    const { error } = outcome
    if (!(error instanceof DurableLogError)) return `an error without a code: ${String(error)}`
    if (!CODES.includes(error.code)) return `an unexpected code: ${error.code} (${error.message})`
    return isDeepStrictEqual(after, before)
      ? undefined
      : `refused with ${error.code}, yet something was written`
  }
  if (call.method === 'remove') return judgeRemoval(log, call, before, after)
  if (call.method !== 'append') return isDeepStrictEqual(after, before) ? undefined : 'a read wrote something'
  return judgeAppend(log, call, Number(outcome.value), before, after)
}

async function judgeAppend(
  log: DurableLog,
  { stream, plain }: HostileCall,
  seq: number,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  if (plain === undefined) return 'something that only a refusal is right for was accepted'
  const first = before.get(stream) ?? 0
  if (!isDeepStrictEqual(after, new Map(before).set(stream, seq))) return 'another stream changed'
  const stored = (await log.read(stream, { afterSeq: first })).map(({ type, data }) => ({ type, data }))
  const texts = [stored, plain].map((value) => JSON.stringify(value))
  if (!isDeepStrictEqual(stored, plain) || texts[0] !== texts[1]) {
    return `stored ${texts[0]?.slice(0, 200)} for ${texts[1]?.slice(0, 200)}`
  }
  return undefined
}

async function judgeRemoval(
  log: DurableLog,
  { stream, args }: HostileCall,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  if (args[0] !== stream) return 'the removal of something that is no name was accepted'
  const wanted = new Map(before)
  wanted.delete(stream)
  if (!isDeepStrictEqual(after, wanted)) return 'a removal left something, or took something else along'
  const rest = [...(await log.read(stream)), await log.loadSnapshot(stream)]
  return isDeepStrictEqual(rest, [undefined]) ? undefined : 'a removed stream can still be read'
}

async function headsOf(log: DurableLog): Promise<Map<string, number>> {
  const { streams } = await log.list({ limit: 1000 })
  return new Map(streams.map(({ stream, seq }) => [stream, seq] as const))
}
