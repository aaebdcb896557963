/**
 * Foreign JSON in a storage unit, at random: whatever its records were replaced by, the log opens,
 * streams nobody touched are whole and go on, and a touched one gives what it held or `corrupt`, and
 * begins anew once it was removed.
 */
import { isDeepStrictEqual } from 'node:util'
import { type DurableLog, DurableLogError, kvUnitLog, type StoredEntry } from 'dsh-durable-log'
import { memoryKvUnit, type MemoryKvUnit, type Random, randomFrom } from 'dsh-durable-log/testing'
import type { FuzzResult } from './entries.fuzz.ts'

const STREAMS = ['graph/1', 'graph/2', 'run/ü', '__proto__', 'a b 0000000000000001']
const MAX_FAILURES = 20

export async function run(options: { runs: number; seed: number }): Promise<FuzzResult> {
  const failures: { seed: number; text: string }[] = []
  let failed = 0
  // Records of other programs are warned about; here they are the point.
  const silence = () => undefined
  const warn = process.emitWarning
  process.emitWarning = silence
  try {
    for (let index = 0; index < options.runs; index += 1) {
      const seed = options.seed + index
      const text = await tryOnce(randomFrom(seed))
      if (text === undefined) continue
      failed += 1
      if (failures.length < MAX_FAILURES) failures.push({ seed, text })
    }
  } finally {
    process.emitWarning = warn
  }
  return { target: 'kv-records', runs: options.runs, failed, failures }
}

/** @returns what is wrong, if anything. */
async function tryOnce(random: Random): Promise<string | undefined> {
  const unit = memoryKvUnit()
  const before = await fill(unit, random)
  const touched = damage(unit, random)
  const log = kvUnitLog(unit.reopen())
  try {
    for (const [stream, entries] of before) {
      const complaint = touched.has(stream)
        ? await judgeTouched(log, stream, entries)
        : await judgeUntouched(log, stream, entries)
      if (complaint !== undefined) return `${stream}: ${complaint}`
    }
    return undefined
  } catch (error) {
    return `the log failed: ${String(error)}`
  } finally {
    await log.close()
  }
}

async function fill(unit: MemoryKvUnit, random: Random): Promise<Map<string, readonly StoredEntry[]>> {
  const log = kvUnitLog(unit)
  const content = new Map<string, readonly StoredEntry[]>()
  for (const stream of STREAMS) {
    for (let batch = 1 + random.below(4); batch > 0; batch -= 1) {
      const entries = Array.from({ length: 1 + random.below(3) }, () => ({
        type: 'fuzz/entry',
        data: random.below(1000),
      }))
      await log.append(stream, 'any', entries)
    }
    if (random.below(2) === 0) await log.saveSnapshot(stream, 1, random.below(1000))
    content.set(stream, await log.read(stream))
  }
  await log.close()
  return content
}

/** Replaces, adds or moves some records. Returns the streams whose records may have changed. */
function damage(unit: MemoryKvUnit, random: Random): Set<string> {
  const touched = new Set<string>()
  for (let edits = 1 + random.below(4); edits > 0; edits -= 1) {
    const records = unit.medium.get(random.pick(['entries', 'entries', 'snapshots']))
    if (records === undefined) continue
    const keys = [...records.keys()]
    const [key, other] = keys.length === 0 ? ['x', 'x'] : [random.pick(keys), random.pick(keys)]
    const target = random.below(4) === 0 ? random.pick(['', 'x', 's 1', `${key} `, ` ${other}`]) : key
    for (const stream of STREAMS) {
      if (target === stream || target.startsWith(`${stream} `)) touched.add(stream)
    }
    const edit = random.below(4)
    if (edit === 0) records.delete(target)
    else if (edit === 1) records.set(target, records.get(other) ?? 'null')
    else if (edit === 2) records.set(target, JSON.stringify(foreign(random, 3)))
    else records.set(target, JSON.stringify(bent(JSON.parse(records.get(key) ?? 'null'), random)))
  }
  return touched
}

/** A record with one part replaced. */
function bent(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.below(3) === 0) return foreign(random, 2)
  if (Array.isArray(value)) {
    const at = random.below(value.length)
    return value.length === 0 ? [foreign(random, 1)] : (value as unknown[]).with(at, bent(value[at], random))
  }
  const keys = Object.keys(value)
  const key = keys.length === 0 ? 'x' : random.pick(keys)
  return { ...value, [key]: bent((value as Record<string, unknown>)[key], random) }
}

function foreign(random: Random, depth: number): unknown {
  const kind = random.below(depth === 0 ? 5 : 7)
  if (kind === 0) return random.pick([null, true, false])
  if (kind === 1) return random.pick([0, -1, 0.5, 1, 2, 1e300, 2 ** 53])
  if (kind < 5) return random.pick(['', 'x', '1', '{', '\0', 'fuzz/entry', '__proto__'])
  const parts = Array.from({ length: random.below(4) }, () => foreign(random, depth - 1))
  if (kind === 5) return parts
  const names = ['format', 'entries', 'type', 'data', 'checksum', 'appendedAt', 'seq', '__proto__']
  return JSON.parse(`{${parts.map((part) => `"${random.pick(names)}":${JSON.stringify(part)}`).join(',')}}`)
}

async function judgeUntouched(
  log: DurableLog,
  stream: string,
  entries: readonly StoredEntry[],
): Promise<string | undefined> {
  if (!isDeepStrictEqual(await log.read(stream), entries)) return 'nobody touched it, yet it changed'
  const seq = await log.append(stream, entries.length, [{ type: 'fuzz/entry', data: 'next' }])
  return seq === entries.length + 1 ? undefined : `an append went to ${seq}`
}

async function judgeTouched(
  log: DurableLog,
  stream: string,
  entries: readonly StoredEntry[],
): Promise<string | undefined> {
  for (const act of [() => log.read(stream), () => log.loadSnapshot(stream)]) {
    try {
      const found = await act()
      if (Array.isArray(found) && !isDeepStrictEqual(found, entries.slice(0, found.length))) {
        return 'it gives entries that it never held'
      }
    } catch (error) {
      if (!(error instanceof DurableLogError) || error.code !== 'corrupt')
        return `it fails with ${String(error)}`
    }
  }
  await log.remove(stream)
  if ((await log.loadSnapshot(stream)) !== undefined) return 'its snapshot outlived a removal'
  const seq = await log.append(stream, 0, [{ type: 'fuzz/entry', data: 'anew' }])
  return seq === 1 ? undefined : `after its removal an append went to ${seq}`
}
