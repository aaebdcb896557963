/**
 * The parts of a snapshot that grow with the graph, as texts: opening costs a copy of them, and reading
 * what is in them is put off until it is asked for.
 *
 * Owns: rows to text and back. Does not own: what a row means.
 */

/** Rows of one kind, in order; a list in the form of before. */
export type Table<V> = StoredTable | readonly V[]

interface StoredTable {
  readonly count: number
  readonly texts: readonly string[]
}

/** Consecutive rows with the same fields. */
interface Run {
  readonly f: readonly string[]
  readonly r: unknown[][]
}

/** Rows of one text; between two texts others get their turn. */
const ROWS = 500

/** Takes a step for each text. */
export function* encodeTable(values: Iterable<object>): Generator<undefined, StoredTable> {
  const texts: string[] = []
  let runs: Run[] = []
  let [rows, count] = [0, 0]
  for (const value of values) {
    addRow(runs, value)
    count += 1
    rows += 1
    if (rows < ROWS) continue
    texts.push(quoted(JSON.stringify(runs)))
    runs = []
    rows = 0
    yield
  }
  if (rows > 0) texts.push(quoted(JSON.stringify(runs)))
  return { count, texts }
}

function addRow(runs: Run[], value: object): void {
  const entries = Object.entries(value).filter((entry) => entry[1] !== undefined)
  const last = runs.at(-1)
  const isSame = last?.f.length === entries.length && entries.every(([key], at) => key === last.f[at])
  const row = entries.map((entry) => entry[1] as unknown)
  if (isSame) last.r.push(row)
  else runs.push({ f: entries.map(([key]) => key), r: [row] })
}

/** The rows, frozen to their leaves. */
export function decodeTable<V extends object>(table: Table<V>): readonly V[] {
  if (!('texts' in table)) return table.map((value) => Object.freeze(value))
  return table.texts.flatMap((text) => (JSON.parse(quoted(text)) as Run[]).flatMap(rowsOf<V>))
}

function rowsOf<V extends object>({ f, r }: Run): V[] {
  return r.map((row) => {
    const value: Record<string, unknown> = {}
    for (let at = 0; at < f.length; at += 1) value[f[at] ?? ''] = frozen(row[at])
    return Object.freeze(value) as V
  })
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}

/** JSON inside of JSON would be all backslashes: quotation marks change places with backticks. */
function quoted(text: string): string {
  return text
    .split('`')
    .map((part) => part.replaceAll('"', '`'))
    .join('"')
}
