/**
 * Kills a writing process at random moments and looks at what it left.
 *
 * Rounds come in runs over one file: each round opens what the last kill left, so recovery itself is
 * killed into now and then. Promises checked: the log opens; every acknowledged batch of all rounds
 * of the file is there exactly once, at the seq that was acknowledged; every batch is whole.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DurableLog, sqliteLog, type StoredEntry } from 'dsh-durable-log'
import { randomFrom } from './random.ts'

export interface ChaosResult {
  readonly suite: 'store'
  readonly rounds: number
  /** Rounds with any failure. */
  readonly failed: number
  /** Acknowledged batches that are gone. */
  readonly lost: number
  /** Batches that are there more than once. */
  readonly doubled: number
  readonly failures: readonly ChaosFailure[]
}

export interface ChaosFailure {
  readonly round: number
  readonly seed: number
  readonly text: string
}

interface Ack {
  readonly stream: string
  /** Seq of the last entry of the batch. */
  readonly seq: number
  readonly batch: string
  readonly size: number
}

interface Findings {
  lost: number
  doubled: number
  readonly texts: string[]
}

const ROUNDS_PER_FILE = 10
/** The kill follows this many lines of the writer at most, and then this many microseconds at most. */
const MAX_LINES = 400
const MAX_DELAY_US = 1500
/** One round in eight is killed while the log opens and recovers, right after the first line. */
const OPENING_ROUNDS = 8
const MAX_OPENING_US = 6000

export async function run(options: { rounds: number; seed: number }): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-chaos-'))
  const failures: ChaosFailure[] = []
  const total = { failed: 0, lost: 0, doubled: 0 }
  let acks: Ack[] = []
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      if (round % ROUNDS_PER_FILE === 0) acks = []
      const seed = options.seed + round
      const path = join(folder, `log-${Math.floor(round / ROUNDS_PER_FILE)}.sqlite`)
      acks.push(...(await killWriter(path, `r${round}`, seed)))
      const findings = await inspect(path, acks)
      total.lost += findings.lost
      total.doubled += findings.doubled
      if (findings.texts.length === 0) continue
      total.failed += 1
      failures.push(...findings.texts.map((text) => ({ round, seed, text })))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { suite: 'store', rounds: options.rounds, ...total, failures }
}

/** Runs the writer, kills it in the middle of its work, and returns what it saw acknowledged. */
async function killWriter(path: string, label: string, seed: number): Promise<Ack[]> {
  const random = randomFrom(seed)
  const whileOpening = random.below(OPENING_ROUNDS) === 0
  const killAtLine = whileOpening ? 1 : 1 + random.below(MAX_LINES)
  const delayUs = random.below(whileOpening ? MAX_OPENING_US : MAX_DELAY_US)
  const script = join(import.meta.dirname, 'append-writer.ts')
  const child = spawn(process.execPath, [script, path, label, String(seed)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  let output = ''
  let complaint = ''
  let lines = 0
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    lines += text.split('\n').length - 1
    if (lines < killAtLine || child.killed) return
    spin(delayUs)
    child.kill('SIGKILL')
  })
  await closed
  if (!child.killed) throw new Error(`the writer of round ${label} ended by itself: ${complaint}`)
  return acksOf(output)
}

/** Burns the time: a timer would be too coarse to hit the inside of a commit. */
function spin(microseconds: number): void {
  const end = performance.now() + microseconds / 1000
  while (performance.now() < end);
}

/** A line that the kill cut off is no acknowledgement. */
function acksOf(output: string): Ack[] {
  return output
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const [kind, stream = '', seq = '', batch = '', size = ''] = line.split(' ')
      return kind === 'ack' ? [{ stream, seq: Number(seq), batch, size: Number(size) }] : []
    })
}

async function inspect(path: string, acks: readonly Ack[]): Promise<Findings> {
  const findings: Findings = { lost: 0, doubled: 0, texts: [] }
  const log = sqliteLog({ path })
  try {
    const streams = (await log.list({ prefix: 'chaos/' })).streams.map(({ stream }) => stream)
    for (const stream of new Set([...streams, ...acks.map((ack) => ack.stream)])) {
      const wanted = acks.filter((ack) => ack.stream === stream)
      await inspectStream(log, stream, wanted, findings)
    }
  } catch (error) {
    findings.texts.push(`the log cannot be read: ${String(error)}`)
  } finally {
    await log.close()
  }
  return findings
}

async function inspectStream(
  log: DurableLog,
  stream: string,
  acks: readonly Ack[],
  findings: Findings,
): Promise<void> {
  const entries = await log.read(stream)
  const snapshot = await log.loadSnapshot(stream)
  if ((snapshot?.seq ?? 0) > entries.length) findings.texts.push(`${stream} has a snapshot ahead of it`)
  const lastSeqs = new Map<string, number>()
  for (let at = 0; at < entries.length;) {
    const { batch, size } = batchOf(entries[at])
    const part = entries.slice(at, at + size).map(batchOf)
    if (part.length !== size || part.some((entry, index) => entry.batch !== batch || entry.index !== index)) {
      findings.texts.push(`${stream} holds a part of batch ${batch} at ${at + 1}`)
    }
    if (lastSeqs.has(batch)) {
      findings.doubled += 1
      findings.texts.push(`${stream} holds batch ${batch} twice`)
    }
    at += Math.max(size, 1)
    lastSeqs.set(batch, at)
  }
  for (const { batch, seq } of acks) {
    if (lastSeqs.get(batch) === seq) continue
    findings.lost += 1
    findings.texts.push(`${stream} lost batch ${batch}, acknowledged at ${seq}`)
  }
}

function batchOf(entry: StoredEntry | undefined): { batch: string; index: number; size: number } {
  return (entry?.data ?? { batch: '', index: -1, size: 1 }) as { batch: string; index: number; size: number }
}
