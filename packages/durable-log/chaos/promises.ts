/**
 * What a writer's notes promise about a file, and whether the file keeps it.
 *
 * Notes of all rounds over one file add up. Owns the reading of notes and of the log afterwards.
 */
import { type DurableLog, sqliteLog, type StoredEntry } from 'dsh-durable-log'

export interface Findings {
  /** Acknowledged batches that are gone. */
  lost: number
  /** Batches that are there more than once. */
  doubled: number
  readonly texts: string[]
}

interface Ack {
  readonly stream: string
  /** Seq of the last entry of the batch. */
  readonly seq: number
  readonly batch: string
}

export class Promises {
  /** Acknowledged batches that must be there. */
  private acks: Ack[] = []
  /** Batches that went with their stream and must not come back. */
  private readonly removed = new Set<string>()
  /** Streams that were being removed when the writer died: gone as a whole, or not at all. */
  private readonly doubtful = new Set<string>()

  /** Adds the notes of a round. A line that the kill cut off promises nothing. */
  note(text: string): void {
    for (const line of text.split('\n').slice(0, -1)) {
      const [kind, stream = '', seq = '', batch = ''] = line.split(' ')
      if (kind === 'ack') this.acks.push({ stream, seq: Number(seq), batch })
      else if (kind === 'removing') this.doubtful.add(stream)
      else if (kind === 'removed') this.forget(stream)
    }
  }

  /** Compares with the file, which tells how a removal under way has ended. */
  async inspect(path: string): Promise<Findings> {
    const findings: Findings = { lost: 0, doubled: 0, texts: [] }
    const log = sqliteLog({ path })
    try {
      const streams = (await log.list({ prefix: 'chaos/' })).streams.map(({ stream }) => stream)
      for (const stream of this.doubtful) {
        const isWhole = streams.includes(stream) || (await log.loadSnapshot(stream)) !== undefined
        if (!isWhole) this.forget(stream)
      }
      this.doubtful.clear()
      for (const stream of new Set([...streams, ...this.acks.map((ack) => ack.stream)])) {
        await this.inspectStream(log, stream, findings)
      }
    } catch (error) {
      findings.texts.push(`the log cannot be read: ${String(error)}`)
    } finally {
      await log.close()
    }
    return findings
  }

  private forget(stream: string): void {
    for (const ack of this.acks) if (ack.stream === stream) this.removed.add(ack.batch)
    this.acks = this.acks.filter((ack) => ack.stream !== stream)
    this.doubtful.delete(stream)
  }

  private async inspectStream(log: DurableLog, stream: string, findings: Findings): Promise<void> {
    const entries = await log.read(stream)
    const snapshot = await log.loadSnapshot(stream)
    if ((snapshot?.seq ?? 0) > entries.length) findings.texts.push(`${stream} has a snapshot ahead of it`)
    const lastSeqs = new Map<string, number>()
    for (let at = 0; at < entries.length;) {
      const { batch, size } = partOf(entries[at])
      const part = entries.slice(at, at + size).map(partOf)
      if (
        part.length !== size ||
        part.some((entry, index) => entry.batch !== batch || entry.index !== index)
      ) {
        findings.texts.push(`${stream} holds a part of batch ${batch} at ${at + 1}`)
      }
      if (lastSeqs.has(batch)) {
        findings.doubled += 1
        findings.texts.push(`${stream} holds batch ${batch} twice`)
      }
      if (this.removed.has(batch)) findings.texts.push(`${stream} holds the removed batch ${batch}`)
      at += Math.max(size, 1)
      lastSeqs.set(batch, at)
    }
    for (const { batch, seq } of this.acks.filter((ack) => ack.stream === stream)) {
      if (lastSeqs.get(batch) === seq) continue
      findings.lost += 1
      findings.texts.push(`${stream} lost batch ${batch}, acknowledged at ${seq}`)
    }
  }
}

function partOf(entry: StoredEntry | undefined): { batch: string; index: number; size: number } {
  return (entry?.data ?? { batch: '', index: -1, size: 1 }) as { batch: string; index: number; size: number }
}
