/**
 * News of other hosts on one PostgreSQL log.
 *
 * A poll is the truth: it asks for what was written since the oldest transaction that was under way
 * at the poll before. `NOTIFY` only says that a poll is worth it, so one that gets lost, or a pooler
 * between that passes none, costs time and no news. Owns: the listening connection and its
 * reconnecting, the timer, and what was told. Does not own the listeners.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { type PostgresConnection, retryDelayMs, type Statement } from './postgres-connection.ts'
import { inSchema } from './postgres-schema.ts'

export type Announce = (stream: string, seq: number) => void

/** A row of a poll: a head, a removal (seq 0), or without stream the horizon of the next poll. */
interface NewsRow {
  readonly stream: string | null
  readonly seq: number
  /** The transaction of a removal; the horizon. */
  readonly xact: string
}

/** Rows of transactions beyond the newest one are of a cluster that this database was restored from. */
const POLL = `
SELECT NULL AS stream, 0::bigint AS seq, pg_snapshot_xmin(pg_current_snapshot())::text AS xact
UNION ALL
SELECT stream, 0, xact::text FROM @.removals
  WHERE xact >= $1::xid8 AND xact < pg_snapshot_xmax(pg_current_snapshot())
UNION ALL
SELECT stream, max(seq), '' FROM @.entries
  WHERE xact >= $1::xid8 AND xact < pg_snapshot_xmax(pg_current_snapshot()) GROUP BY stream`

export class PostgresNews {
  private readonly connection: PostgresConnection
  private readonly announce: Announce
  private readonly intervalMs: number
  private readonly channel: string
  private readonly pollStatement: Statement
  /** Marks own notifications, which tell nothing new. */
  private readonly id = randomUUID()
  /** The oldest transaction that was under way at the last poll. */
  private horizon: string | undefined
  /** Heads and removals that were told and may be found again: those behind the horizon. */
  private told = new Map<string, number>()
  private toldSincePoll = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined
  private polling: Promise<void> | undefined
  /** The poll under way; resolves with its failure. */
  private asking: Promise<unknown> | undefined
  private isPollDue = false
  private listening: Promise<unknown> | undefined
  private stopping: AbortController | undefined
  private notifying: Promise<void> | undefined
  /** Ends the pause between notifications. */
  private readonly closing = new AbortController()
  private isNotifyDue = false

  constructor(connection: PostgresConnection, schema: string, intervalMs: number, announce: Announce) {
    this.connection = connection
    this.announce = announce
    this.intervalMs = intervalMs
    this.channel = `${schema}_news`
    this.pollStatement = { name: `${schema}-news`, text: inSchema(schema, POLL) }
  }

  /** Begins to look for news; what happened before is none. */
  start(): void {
    if (this.stopping !== undefined) return
    this.stopping = new AbortController()
    this.horizon = undefined
    this.poll()
    this.timer = setInterval(() => this.poll(), this.intervalMs)
    this.timer.unref()
    this.listening = Promise.all([this.listening, this.listen(this.stopping.signal)])
  }

  /**
   * Resolves when it is settled from which commit on news are told. Whoever listens and then reads must
   * wait for this in between, or a commit right after the reading would be told to nobody. It waits for
   * one poll: while the server is away the polls go on, and whoever asks for more is told.
   *
   * @throws what the poll met.
   */
  async ready(): Promise<void> {
    if (this.stopping === undefined || this.horizon !== undefined) return
    this.poll()
    const failure = await this.asking
    if (failure !== undefined && this.isUnsettled) throw failure
  }

  private get isUnsettled(): boolean {
    return this.stopping !== undefined && this.horizon === undefined
  }

  /** Stops for good: the last commits are notified without a pause. */
  async close(): Promise<void> {
    this.closing.abort()
    await this.stop()
    await this.notifying
  }

  /** Resolves when the listening connection is gone. */
  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.stopping?.abort()
    this.stopping = undefined
    await Promise.all([this.listening, this.polling])
  }

  /**
   * To be called for each own commit: tells it here and lets the others know.
   *
   * @param removal the transaction of a removal.
   */
  committed(stream: string, seq: number, removal?: string): void {
    if (this.stopping !== undefined) {
      this.toldSincePoll.set(removal === undefined ? stream : keyOf(stream, removal), seq)
      if (removal !== undefined) this.toldSincePoll.delete(stream)
    }
    this.announce(stream, seq)
    this.isNotifyDue = true
    this.notifying ??= this.notify()
  }

  /** At once, and then one for all commits of a while, so that a stream of appends does not pay for each. */
  private async notify(): Promise<void> {
    while (this.isNotifyDue) {
      this.isNotifyDue = false
      // One that gets lost is made up for by the next poll of the others.
      await this.connection.write(NOTIFY, [this.channel, this.id]).catch(() => undefined)
      await delay(NOTIFY_PAUSE_MS, undefined, { signal: this.closing.signal }).catch(() => undefined)
    }
    this.notifying = undefined
  }

  private poll(): void {
    this.isPollDue = true
    this.polling ??= this.pollWhileDue()
  }

  private async pollWhileDue(): Promise<void> {
    while (this.isPollDue && this.stopping !== undefined) {
      this.isPollDue = false
      this.asking = this.pollOnce().then(
        () => undefined,
        (error: unknown) => error,
      )
      // A server that is away is asked again at the next turn.
      await this.asking
    }
    this.asking = undefined
    this.polling = undefined
  }

  private async pollOnce(): Promise<void> {
    const since = this.horizon
    const told = new Map([...this.told, ...this.toldSincePoll])
    this.toldSincePoll = new Map()
    const rows = await this.connection.read<NewsRow>(this.pollStatement, [since ?? NEVER])
    this.told = told
    this.horizon = rows.find(({ stream }) => stream === null)?.xact ?? since
    if (since === undefined) return
    this.told = new Map()
    const anew = new Set<string>()
    for (const { stream, seq, xact } of rows) {
      if (stream === null || seq > 0) continue
      const key = keyOf(stream, xact)
      if (!told.has(key)) {
        anew.add(stream)
        this.announce(stream, 0)
      }
      this.told.set(key, 0)
    }
    for (const { stream, seq } of rows) {
      if (stream === null || seq === 0) continue
      const known = Math.max(told.get(stream) ?? 0, this.toldSincePoll.get(stream) ?? 0)
      // What was removed and begun anew is told behind its removal, whatever was told before.
      if (anew.has(stream) || known < seq) this.announce(stream, seq)
      this.told.set(stream, Math.max(known, seq))
    }
  }

  /** Keeps a connection that listens, until it is stopped. */
  private async listen(signal: AbortSignal): Promise<void> {
    await this.ready().catch(() => undefined)
    for (let retry = 0; !signal.aborted; retry += 1) {
      let client: Client | undefined
      try {
        client = await this.connection.dedicated()
        client.on('notification', ({ payload }) => {
          if (payload !== this.id) this.poll()
        })
        await client.query(`LISTEN "${this.channel}"`)
        retry = 0
        // From now on nothing is missed; what came before is found by this poll.
        this.poll()
        await ended(client, signal)
      } catch {
        // Polls go on meanwhile, and the next attempt follows.
      }
      await client?.end().catch(() => undefined)
      await delay(retryDelayMs(retry), undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
}

/** Between two notifications of this host. */
const NOTIFY_PAUSE_MS = 10
const NOTIFY: Statement = { name: 'notify', text: 'SELECT pg_notify($1, $2)' }
/** A transaction that never comes. */
const NEVER = String(2n ** 64n - 1n)

/** Names hold no newline. */
function keyOf(stream: string, removal: string): string {
  return `${removal}\n${stream}`
}

/** Resolves when the connection breaks or the signal fires; does not keep the process alive. */
function ended(client: Client, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    client.once('end', resolve)
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
    // The client has it, its types do not.
    ;(client as Client & { unref(): void }).unref()
  })
}
