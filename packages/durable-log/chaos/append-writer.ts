/**
 * The process that is killed: appends numbered batches to several streams for ever and reports each
 * acknowledged one synchronously. Arguments: path, label of the round, seed.
 *
 * Lines on stdout: `try <stream> <batch> <size>` before an append,
 * `ack <stream> <seq> <batch> <size>` after it.
 */
import { writeSync } from 'node:fs'
import { DurableLogError, sqliteLog } from 'dsh-durable-log'
import { randomFrom } from './random.ts'

const [path = '', label = '', seed = '0'] = process.argv.slice(2)
const WRITERS = 4
const STREAMS = 3

const log = sqliteLog({ path })

/** Half of the appends name the seq they expect, half take any; batches share transactions. */
async function appendForEver(writer: number): Promise<never> {
  const random = randomFrom(Number(seed) + writer)
  const heads = new Map<string, number>()
  for (let n = 0; ;) {
    const stream = `chaos/${random.below(STREAMS)}`
    const size = 1 + random.below(5)
    const batch = `${label}-${writer}-${n}`
    const entries = Array.from({ length: size }, (_, index) => ({
      type: 'chaos/entry',
      data: { batch, index, size, filler: 'x'.repeat(random.below(3000)) },
    }))
    const expected = random.below(2) === 0 ? 'any' : (heads.get(stream) ?? 0)
    try {
      writeSync(1, `try ${stream} ${batch} ${size}\n`)
      const seq = await log.append(stream, expected, entries)
      writeSync(1, `ack ${stream} ${seq} ${batch} ${size}\n`)
      heads.set(stream, seq)
      if (random.below(20) === 0) await log.saveSnapshot(stream, seq, { batch }).catch(onlyConflict)
      n += 1
    } catch (error) {
      heads.set(stream, onlyConflict(error))
    }
  }
}

function onlyConflict(error: unknown): number {
  if (error instanceof DurableLogError && error.code === 'conflict') return error.currentSeq ?? 0
  throw error
}

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => appendForEver(writer)))
