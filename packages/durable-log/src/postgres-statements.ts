/**
 * The statements of a log in PostgreSQL. Owns their text, and nothing else.
 */
import type { Statement } from './postgres-connection.ts'
import { inSchema } from './postgres-schema.ts'

export interface PostgresStatements {
  /** See `append_1` of the schema: arrays of requests, then arrays of entries. → `{ accepted, head }…` */
  readonly append: Statement
  /** `(stream, expectedSeq, appendedAt, type, text, checksum) → { seq }`; see `append_one_1` of the schema. */
  readonly appendOne: Statement
  /**
   * `(stream, firstSeq, count, bytes, kept) → EntryRow & { xact }…`: rows until their data exceed the
   * bytes, and so many of the first ones in any case, and one more.
   */
  readonly entries: Statement
  /** `(stream, seq, text, checksum) → { head, stored }` as they were before; written when in order. */
  readonly saveSnapshot: Statement
  readonly loadSnapshot: Statement
  /** `(stream) → { removal }`, null when there was nothing. */
  readonly remove: Statement
  /** `(name, prefix, count) → { stream, seq }…` from the name on. */
  readonly listFrom: Statement
  /** The same after the name. */
  readonly listAfter: Statement
}

export function postgresStatements(schema: string): PostgresStatements {
  const statement = (name: string, text: string): Statement => ({
    name: `${schema}-${name}`,
    text: inSchema(schema, text),
  })
  // One seek in the index for each stream, whatever the number of entries.
  const list = (comparison: string) => `
    WITH RECURSIVE found (stream) AS (
      (SELECT stream FROM @.entries WHERE stream ${comparison} $1 ORDER BY stream LIMIT 1)
      UNION ALL
      SELECT (SELECT e.stream FROM @.entries e WHERE e.stream > found.stream ORDER BY e.stream LIMIT 1)
      FROM found WHERE starts_with(found.stream, $2)
    )
    SELECT stream, (SELECT max(e.seq) FROM @.entries e WHERE e.stream = found.stream) AS seq
    FROM found WHERE starts_with(stream, $2) LIMIT $3`
  return {
    append: statement('append', 'SELECT accepted, head FROM @.append_1($1, $2, $3, $4, $5, $6, $7)'),
    appendOne: statement('append-one', 'SELECT @.append_one_1($1, $2, $3, $4, $5, $6) AS seq'),
    entries: statement(
      'entries',
      `SELECT seq, format, appended_at AS "appendedAt", type, data, checksum, xact::text AS xact FROM (
         SELECT *, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before,
           row_number() OVER (ORDER BY seq) AS place
         FROM (SELECT * FROM @.entries WHERE stream = $1 AND seq >= $2 ORDER BY seq LIMIT $3) page
       ) measured WHERE before < $4 OR place <= $5 + 1 ORDER BY seq`,
    ),
    saveSnapshot: statement('save', 'SELECT head, stored FROM @.save_snapshot_1($1, $2, $3, $4)'),
    loadSnapshot: statement('load', 'SELECT seq, format, data, checksum FROM @.snapshots WHERE stream = $1'),
    remove: statement('remove', 'SELECT @.remove_1($1) AS removal'),
    listFrom: statement('list-from', list('>=')),
    listAfter: statement('list-after', list('>')),
  }
}
