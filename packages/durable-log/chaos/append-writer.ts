/**
 * The process that is killed: appends numbered batches to several streams for ever, reads and
 * snapshots in between, and notes each acknowledged batch in a file before it goes on. One writer
 * has a stream for itself, which it removes now and then. Arguments:
 * path of the log, path of the notes, path of the phases, label of the round, seed, aim, occurrence.
 *
 * It tells its phases (phases.ts), and asks to be killed at its aim (aimed-writer.ts).
 *
 * Lines of the notes: `ack <stream> <seq> <batch> <size>`, and `removing <stream>` before a removal
 * is asked for, `removed <stream>` once it is acknowledged.
 */
import { openSync, writeSync } from 'node:fs'
import { DurableLogError, type Entry, sqliteLog } from 'dsh-durable-log'
import { type Random, randomFrom } from 'dsh-durable-log/testing'
import { AimedWriter } from './aimed-writer.ts'
import type { Phase } from './phases.ts'

const [path = '', notesPath = '', phasesPath = '', label = '', seed = '0', aim = '', occurrence = '1'] =
  process.argv.slice(2)
const WRITERS = 4
const STREAMS = 3
const notes = openSync(notesPath, 'a')
const writer = new AimedWriter(phasesPath, aim, { occurrence: Number(occurrence), seed: Number(seed) })
const enter = (phase: Phase): void => writer.enter(phase)

enter('opening')
const log = sqliteLog({ path })
await log.list({ limit: 1 })
enter('between')

/** Half of the appends name the seq they expect, half take any; batches share transactions. */
async function appendForEver(lane: number): Promise<never> {
  const random = randomFrom(Number(seed) + lane)
  const heads = new Map<string, number>()
  for (let n = 0; ;) {
    const stream = `chaos/${random.below(STREAMS)}`
    const size = 1 + random.below(5)
    const batch = `${label}-${lane}-${n}`
    const entries = batchOf(batch, size, random)
    const expected = random.below(2) === 0 ? 'any' : (heads.get(stream) ?? 0)
    try {
      const append = log.append(stream, expected, entries)
      enter('append')
      const seq = await append
      writeSync(notes, `ack ${stream} ${seq} ${batch} ${size}\n`)
      enter('between')
      heads.set(stream, seq)
      if (random.below(8) === 0) await log.saveSnapshot(stream, seq, { batch }).catch(onlyConflict)
      if (random.below(8) === 0) await log.read(stream, { afterSeq: Math.max(0, seq - 20) })
      n += 1
    } catch (error) {
      heads.set(stream, onlyConflict(error))
    }
  }
}

async function removeForEver(): Promise<never> {
  const random = randomFrom(Number(seed) + WRITERS)
  const stream = 'chaos/removed'
  for (let n = 0; ; n += 1) {
    const batch = `${label}-remover-${n}`
    const size = 1 + random.below(5)
    const seq = await log.append(stream, 'any', batchOf(batch, size, random))
    writeSync(notes, `ack ${stream} ${seq} ${batch} ${size}\n`)
    enter('between')
    if (random.below(4) === 0) await log.saveSnapshot(stream, seq, { batch })
    if (random.below(3) > 0) continue
    writeSync(notes, `removing ${stream}\n`)
    await log.remove(stream)
    writeSync(notes, `removed ${stream}\n`)
    enter('between')
  }
}

function batchOf(batch: string, size: number, random: Random): Entry[] {
  return Array.from({ length: size }, (_, index) => ({
    type: 'chaos/entry',
    data: { batch, index, size, filler: 'x'.repeat(random.below(3000)) },
  }))
}

function onlyConflict(error: unknown): number {
  if (error instanceof DurableLogError && error.code === 'conflict') return error.currentSeq ?? 0
  throw error
}

await Promise.all([...Array.from({ length: WRITERS }, (_, lane) => appendForEver(lane)), removeForEver()])
