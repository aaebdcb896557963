/**
 * The tables and functions of a log in PostgreSQL, and how a database comes to have them.
 *
 * Owns: one schema of the database, its migrations, and which versions may use it. Does not own:
 * connections (postgres-connection) or what an entry's bytes mean (entry-format).
 *
 * Writes go through functions, so that each is one round trip. They take a transaction lock on the
 * name of the stream first: a statement behind that lock sees what was committed before, and the
 * head of a stream is the entry with the highest seq, without a second record of it.
 */
import type { Client } from 'pg'
import { DurableLogError } from './errors.ts'

/** Version of the newest migration below. */
const LAYOUT = 1

interface Migration {
  readonly version: number
  /** The oldest layout whose code may go on using the database afterwards, for rolling upgrades. */
  readonly readableFrom: number
  readonly sql: string
}

/** Stands for the quoted name of the schema in the statements of this file. */
const AT = '@'

/**
 * `xact` is the transaction that wrote a row: whoever remembers the oldest one that was under way
 * finds what was committed since, in whatever order.
 */
const TABLES = `
CREATE TABLE @.entries (
  stream text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  format integer NOT NULL,
  appended_at bigint NOT NULL,
  type text NOT NULL,
  data text NOT NULL,
  checksum bigint NOT NULL,
  xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (stream, seq)
);
CREATE INDEX entries_by_xact ON @.entries (xact);
CREATE TABLE @.snapshots (
  stream text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL,
  format integer NOT NULL,
  data text NOT NULL,
  checksum bigint NOT NULL
);
CREATE TABLE @.removals (
  stream text COLLATE "C" NOT NULL,
  removed_at timestamptz NOT NULL DEFAULT now(),
  xact xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX removals_by_xact ON @.removals (xact);
`

/** Names are sorted for the locks, so that two transactions never wait for each other. */
const LOCKS = `
CREATE FUNCTION @.lock_streams_1(p_streams text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF cardinality(p_streams) = 1 THEN
    PERFORM pg_advisory_xact_lock(hashtext('@'), hashtext(p_streams[1]));
  ELSE
    PERFORM pg_advisory_xact_lock(hashtext('@'), name.hash)
      FROM (SELECT DISTINCT hashtext(s) AS hash FROM unnest(p_streams) s ORDER BY hash) name;
  END IF;
END $$;
`

/** Requests in order; each takes the next \`p_counts\` of the entries, and -1 expects any head. */
const APPEND = `
CREATE FUNCTION @.append_1(
  p_streams text[], p_expected bigint[], p_counts integer[],
  p_appended_at bigint, p_types text[], p_data text[], p_checksums bigint[]
) RETURNS TABLE (accepted boolean, head bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_current bigint;
  v_from integer := 1;
  v_to integer;
BEGIN
  PERFORM @.lock_streams_1(p_streams);
  FOR i IN 1 .. cardinality(p_streams) LOOP
    v_to := v_from + p_counts[i] - 1;
    SELECT coalesce(max(e.seq), 0) INTO v_current FROM @.entries e WHERE e.stream = p_streams[i];
    accepted := p_expected[i] IN (-1, v_current);
    head := v_current;
    IF accepted THEN
      INSERT INTO @.entries (stream, seq, format, appended_at, type, data, checksum)
        SELECT p_streams[i], v_current + u.n, 2, p_appended_at, u.type, u.data, u.checksum # (v_current + u.n)
        FROM unnest(p_types[v_from:v_to], p_data[v_from:v_to], p_checksums[v_from:v_to])
          WITH ORDINALITY AS u (type, data, checksum, n);
      head := v_current + p_counts[i];
    END IF;
    v_from := v_to + 1;
    RETURN NEXT;
  END LOOP;
END $$;
`

/**
 * One entry to one stream, the most frequent write, with as little work as it needs. Returns its seq,
 * or where it was refused -1 less the head.
 */
const APPEND_ONE = `
CREATE FUNCTION @.append_one_1(
  p_stream text, p_expected bigint, p_appended_at bigint, p_type text, p_data text, p_checksum bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF pg_advisory_xact_lock(hashtext('@'), hashtext(p_stream)) IS NOT NULL THEN
    INSERT INTO @.entries (stream, seq, format, appended_at, type, data, checksum)
      SELECT p_stream, head.seq + 1, 2, p_appended_at, p_type, p_data, p_checksum # (head.seq + 1)
      FROM (SELECT coalesce(max(e.seq), 0) AS seq FROM @.entries e WHERE e.stream = p_stream) head
      WHERE p_expected IN (-1, head.seq)
      RETURNING seq INTO v_seq;
  END IF;
  IF v_seq IS NULL THEN
    SELECT -1 - coalesce(max(e.seq), 0) INTO v_seq FROM @.entries e WHERE e.stream = p_stream;
  END IF;
  RETURN v_seq;
END $$;
`

const SNAPSHOT = `
CREATE FUNCTION @.save_snapshot_1(p_stream text, p_seq bigint, p_data text, p_checksum bigint)
RETURNS TABLE (head bigint, stored bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM @.lock_streams_1(ARRAY[p_stream]);
  SELECT coalesce(max(e.seq), 0) INTO head FROM @.entries e WHERE e.stream = p_stream;
  SELECT coalesce(max(s.seq), 0) INTO stored FROM @.snapshots s WHERE s.stream = p_stream;
  IF p_seq <= head AND p_seq >= stored THEN
    INSERT INTO @.snapshots AS s (stream, seq, format, data, checksum)
      VALUES (p_stream, p_seq, 1, p_data, p_checksum)
      ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, format = excluded.format,
        data = excluded.data, checksum = excluded.checksum;
  END IF;
  RETURN NEXT;
END $$;
`

/** Returns the transaction of the removal. Traces are kept for a day, for listeners that were cut off. */
const REMOVE = `
CREATE FUNCTION @.remove_1(p_stream text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_known boolean;
BEGIN
  PERFORM @.lock_streams_1(ARRAY[p_stream]);
  DELETE FROM @.snapshots s WHERE s.stream = p_stream;
  v_known := FOUND;
  DELETE FROM @.entries e WHERE e.stream = p_stream;
  v_known := v_known OR FOUND;
  IF NOT v_known THEN
    RETURN NULL;
  END IF;
  DELETE FROM @.removals r WHERE r.removed_at < now() - interval '1 day';
  INSERT INTO @.removals (stream) VALUES (p_stream);
  RETURN pg_current_xact_id()::text;
END $$;
`

const MIGRATIONS: readonly Migration[] = [
  { version: 1, readableFrom: 1, sql: [TABLES, LOCKS, APPEND, APPEND_ONE, SNAPSHOT, REMOVE].join('') },
]

/** Two hosts that start together wait for each other here; the number is arbitrary ("dlog"). */
const MIGRATION_LOCK = 0x646c6f67

/** A statement with its schema; `at` is a schema name that was checked. */
export function inSchema(at: string, sql: string): string {
  return sql.replaceAll(AT, at)
}

/**
 * Brings the schema up to date, or finds that it is.
 *
 * @param at the schema, a plain identifier.
 * @throws DurableLogError `unavailable` for a database of a newer version that this one must not use;
 *   else what the server throws.
 */
export async function migrate(client: Client, at: string): Promise<void> {
  if ((await layoutOf(client, at)) >= LAYOUT) return
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    // Another host may have been first while this one waited for the lock.
    const layout = await layoutOf(client, at)
    await client.query(
      inSchema(
        at,
        `CREATE SCHEMA IF NOT EXISTS @;
         CREATE TABLE IF NOT EXISTS @.migrations (
           version integer PRIMARY KEY,
           readable_from integer NOT NULL,
           applied_at timestamptz NOT NULL DEFAULT now()
         )`,
      ),
    )
    for (const { version, readableFrom, sql } of MIGRATIONS.filter((step) => step.version > layout)) {
      await client.query(inSchema(at, sql))
      await client.query(inSchema(at, 'INSERT INTO @.migrations (version, readable_from) VALUES ($1, $2)'), [
        version,
        readableFrom,
      ])
    }
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * Finds the schema as this version reads it, and changes nothing.
 *
 * @throws DurableLogError `unavailable` when it is not there, or not of a version that can be read.
 */
export async function assertUsable(client: Client, at: string): Promise<void> {
  const layout = await layoutOf(client, at)
  if (layout >= LAYOUT) return
  const what = layout === 0 ? 'holds no log yet' : `has layout ${layout}; open it for writing once`
  throw new DurableLogError('unavailable', `the schema ${at} of the database ${what}`)
}

/** @returns 0 for a database without the schema. */
async function layoutOf(client: Client, at: string): Promise<number> {
  const { rows: encodings } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const encoding = encodings[0]?.server_encoding
  if (encoding !== 'UTF8') {
    throw new DurableLogError('unavailable', `the database has the encoding ${encoding}; a log needs UTF8`)
  }
  // The catalogue itself: `to_regclass` may answer from before another host's commit.
  const { rows: known } = await client.query(
    `SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migrations'`,
    [at],
  )
  if (known.length === 0) return 0
  const { rows } = await client.query<{ layout: number | null; from: number | null }>(
    inSchema(at, 'SELECT max(version) AS layout, max(readable_from) AS "from" FROM @.migrations'),
  )
  const { layout, from } = rows[0] ?? {}
  if ((from ?? 0) > LAYOUT) {
    throw new DurableLogError(
      'unavailable',
      `the schema ${at} has layout ${layout} of a newer version; update this one`,
    )
  }
  return layout ?? 0
}
