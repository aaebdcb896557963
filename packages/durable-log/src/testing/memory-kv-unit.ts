/**
 * A storage unit of DSH in memory, for tests of what runs on one. It keeps the rules of the host's
 * port: values travel as JSON, each call is atomic, nothing is ordered, a closed unit refuses.
 */
import { KV_UNIT_DESCRIPTOR, type KvUnit, type KvUnitDescriptor } from '../kv-unit.ts'

/** Records as JSON text, by table and key. */
export type KvMedium = Map<string, Map<string, string>>

export interface MemoryKvUnit extends KvUnit {
  /** The medium, to look at and to edit as a foreign hand would; read by the next `loadAll`. */
  readonly medium: KvMedium
  /** Another unit on the same medium, as a restart would open it. This one may be closed or not. */
  reopen(): MemoryKvUnit
}

/** Table and key of the global slot in a {@link KvMedium}. */
export const GLOBAL_SLOT = ''

export function memoryKvUnit(
  descriptor: KvUnitDescriptor = KV_UNIT_DESCRIPTOR,
  medium: KvMedium = new Map(),
): MemoryKvUnit {
  let isClosed = false
  const records = (table: string): Map<string, string> => {
    if (isClosed) throw new Error(`unit "${descriptor.name}" is closed`)
    const isDeclared = table === GLOBAL_SLOT ? descriptor.hasGlobal : descriptor.tables.includes(table)
    if (!isDeclared)
      throw new Error(`unit "${descriptor.name}" does not declare "${table || 'a global slot'}"`)
    let found = medium.get(table)
    if (found === undefined) medium.set(table, (found = new Map()))
    return found
  }
  return {
    medium,
    reopen: () => memoryKvUnit(descriptor, medium),
    loadAll: async () => ({
      tables: Object.fromEntries(
        descriptor.tables.map((table) => [
          table,
          Object.fromEntries([...records(table)].map(([key, text]) => [key, JSON.parse(text) as unknown])),
        ]),
      ),
      global: descriptor.hasGlobal
        ? (JSON.parse(records(GLOBAL_SLOT).get(GLOBAL_SLOT) ?? 'null') as unknown)
        : null,
    }),
    putRecord: async (table, key, value) => void records(table).set(key, JSON.stringify(value)),
    deleteRecord: async (table, key) => void records(table).delete(key),
    setGlobal: async (value) => void records(GLOBAL_SLOT).set(GLOBAL_SLOT, JSON.stringify(value)),
    close: async () => void (isClosed = true),
  }
}
