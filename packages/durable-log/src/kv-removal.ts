/**
 * Removal of a stream from a KvUnit, whose records can only be deleted one by one.
 *
 * A tombstone is put first: from then on the stream is gone, whatever is still on the medium. Then
 * its records are deleted, and the tombstone last; after a crash the next opening finishes that.
 * While a tombstone may lie on the medium, nothing may be written to its stream: the next opening
 * would take it for a part of what was removed. Owns the tombstones of one unit. Does not own the
 * copy in memory, or the order of writes: every method runs alone.
 */
import { recordKeysOf, tombstoneRecord } from './kv-format.ts'
import { ENTRIES_TABLE, type KvUnit, SNAPSHOTS_TABLE } from './kv-unit.ts'

export class KvRemovals {
  private readonly unit: KvUnit
  /** Streams whose tombstone is on the medium, and those for which nobody knows (`doubtful`). */
  private readonly pending = new Map<string, 'removed' | 'doubtful'>()

  constructor(unit: KvUnit) {
    this.unit = unit
  }

  /** Resolves when the removal is certain, with the deletion done or left to {@link settle}. */
  async remove(stream: string): Promise<void> {
    const { table, key, value } = tombstoneRecord(stream)
    this.pending.set(stream, 'doubtful')
    await this.unit.putRecord(table, key, value)
    this.pending.set(stream, 'removed')
    await this.settle(stream).catch(() => undefined)
  }

  /** To be called before each write to a stream. Rejects when the medium takes no deletion. */
  async settle(stream: string): Promise<void> {
    const state = this.pending.get(stream)
    if (state === undefined) return
    if (state === 'removed') await this.deleteRecords(stream)
    await this.unit.deleteRecord(ENTRIES_TABLE, tombstoneRecord(stream).key)
    this.pending.delete(stream)
  }

  /** Finishes what a crash left. */
  async finish(streams: readonly string[]): Promise<void> {
    for (const stream of streams) {
      this.pending.set(stream, 'removed')
      await this.settle(stream)
    }
  }

  /** From the first one on, so that what a crash leaves never looks like a whole stream. */
  private async deleteRecords(stream: string): Promise<void> {
    const { tables } = await this.unit.loadAll()
    for (const key of recordKeysOf(tables, stream)) await this.unit.deleteRecord(ENTRIES_TABLE, key)
    await this.unit.deleteRecord(SNAPSHOTS_TABLE, stream)
  }
}
