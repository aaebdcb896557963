/**
 * Sessions of DSH in the log: a `SessionPersistence` for several hosts, in the place of DSH's files.
 *
 * A file takes what anybody appends. A process that stood still while another host took its session over
 * writes on where it was, and the file is damaged for good. Here every batch is conditional on the one
 * before it, so whoever was overtaken is refused, and what a session that is being closed still wanted to
 * write is dropped.
 *
 * Owns: the streams `session/<id>` and the condition of each append. Does not own: what is written when,
 * and the repair of a turn that was cut off, which are DSH's coordinator's.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '@deepseek-ai/cordis'
import z from '@deepseek-ai/schemastery'
import type { SessionEvent, SessionHeader, SessionId } from '@deepseek-ai/dsh-session'
import {
  DEFAULT_PREPARED_SESSION_CACHE_SIZE,
  DEFAULT_WRITE_BATCH_MAX_DELAY_MS,
  MAX_WRITE_BATCH_DELAY_MS,
  PersistenceCoordinator,
  type PersistenceBackend,
  SessionPersistence,
  SessionPersistenceRevision,
  type SessionPersistenceSnapshot,
  type StoredPrefix,
} from '@deepseek-ai/dsh-session-persistence'
import { DurableLogError } from './errors.ts'
import { eventEntries, eventsOf, headerEntry, headerOf } from './session-entries.ts'
import type { DurableLog } from './types.ts'

export interface SessionsConfig {
  /** Sessions that were read and not opened, kept for reuse; default as DSH's files. */
  readonly preparedSessionCacheSize: number
  /** How long events wait for others before they are written, milliseconds; default as DSH's files. */
  readonly writeBatchMaxDelayMs: number
}

export const SESSION_STREAM_PREFIX = 'session/'
/** How many headers are read at a time. */
const READERS = 8

/** Where the next batch of a session goes. */
interface Place {
  /** Seq of the newest entry. */
  readonly head: number
  /** Events stored so far. */
  readonly count: number
  /** An append was not answered: its entries may be there. */
  readonly isUnsure?: boolean
}

const NOWHERE: Place = { head: 0, count: 0 }

/** `ctx.sessionPersistence` on `ctx.durableLog`. */
export default class LogSessionPersistence extends SessionPersistence implements PersistenceBackend<never> {
  static readonly inject = ['sessions', 'durableLog']
  static readonly Config: z<Partial<SessionsConfig>, SessionsConfig> = z.object({
    preparedSessionCacheSize: z.number().step(1).min(1).default(DEFAULT_PREPARED_SESSION_CACHE_SIZE),
    writeBatchMaxDelayMs: z
      .number()
      .step(1)
      .min(1)
      .max(MAX_WRITE_BATCH_DELAY_MS)
      .default(DEFAULT_WRITE_BATCH_MAX_DELAY_MS),
  })

  // The coordinator's name of this backend; the service has its own.
  override readonly name = 'session-persistence-log'
  readonly supportsRawArtifacts = false
  private readonly log: DurableLog
  private readonly coordinator: PersistenceCoordinator<never>
  private readonly places = new Map<string, Place>()
  private readonly headers = new Map<string, SessionHeader>()
  /** Sessions that left the store of this process; what is still to be written of them may be dropped. */
  private readonly leaving = new Set<string>()
  private readonly warn: (text: string) => void

  constructor(ctx: Context, config: SessionsConfig) {
    super(ctx)
    this.log = (ctx as Context & { durableLog: DurableLog }).durableLog
    const logger = ctx.logger(this.name)
    this.warn = (text) => void logger.warn(text)
    // Before the coordinator, which writes the rest of a session when it hears the same.
    ctx.on('session/disposed', ({ id }) => void this.leaving.add(id))
    ctx.on('session/created', ({ id }) => void this.leaving.delete(id))
    this.coordinator = new PersistenceCoordinator<never>(ctx, this, config)
  }

  /** A session has no file. */
  locate(): undefined {
    return undefined
  }

  create(meta: SessionHeader) {
    return this.coordinator.create(meta)
  }

  append(id: SessionId, events: readonly SessionEvent[]) {
    return this.coordinator.append(id, events)
  }

  override prepare(id: SessionId, signal?: AbortSignal) {
    return this.coordinator.prepare(id, signal)
  }

  load(id: SessionId) {
    return this.coordinator.load(id)
  }

  inspect(id: SessionId, signal?: AbortSignal) {
    return this.coordinator.inspect(id, signal)
  }

  readFrom(id: SessionId, fromSeq: number, signal?: AbortSignal) {
    return this.coordinator.readFrom(id, fromSeq, signal)
  }

  /** @throws DurableLogError `corrupt` for entries that are none of a session. */
  async loadStored(id: SessionId, signal?: AbortSignal): Promise<StoredPrefix<never> | undefined> {
    const stream = streamOf(id)
    const entries = await this.log.read(stream)
    signal?.throwIfAborted()
    const [first, ...rest] = entries
    if (first === undefined) return undefined
    const meta = headerOf(stream, first)
    const events = eventsOf(stream, rest, 0)
    const head = entries.length
    this.places.set(id, { head, count: events.length })
    return { meta, events, revision: revisionOf(head) }
  }

  async readStoredRevision(
    id: SessionId,
    signal?: AbortSignal,
  ): Promise<SessionPersistenceRevision | undefined> {
    const stream = streamOf(id)
    const [head] = (await this.log.list({ prefix: stream, limit: 1 })).streams
    signal?.throwIfAborted()
    return head?.stream === stream ? revisionOf(head.seq) : undefined
  }

  /** @throws DurableLogError `conflict` when another process has written since this one read. */
  async appendBatch(
    meta: SessionHeader,
    events: readonly SessionEvent[],
    isMaterialized: boolean,
  ): Promise<void> {
    const { id } = meta
    if (!isMaterialized && this.places.get(id)?.isUnsure !== true) this.places.set(id, NOWHERE)
    try {
      await this.write(meta, events)
    } catch (error) {
      if (!isConflict(error) || !this.leaving.has(id)) throw error
      this.warn(
        `session ${JSON.stringify(id)} goes on in another process; ${events.length} events of this one are dropped`,
      )
    }
  }

  /** Somebody else's repair is as good: the coordinator reads again what is there. */
  async commitRepair(meta: SessionHeader, _none: never, closers: readonly SessionEvent[]): Promise<void> {
    try {
      if (closers.length > 0) await this.write(meta, closers)
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }

  async list(signal?: AbortSignal): Promise<SessionHeader[]> {
    return (await this.listSnapshots(signal)).map(({ header }) => header)
  }

  /** A header never changes, so each is read once. */
  async listSnapshots(signal?: AbortSignal): Promise<SessionPersistenceSnapshot[]> {
    const found: SessionPersistenceSnapshot[] = []
    let cursor: string | undefined
    do {
      const page = await this.log.list({
        prefix: SESSION_STREAM_PREFIX,
        limit: 1000,
        ...(cursor === undefined ? {} : { cursor }),
      })
      const heads = [...page.streams]
      const reader = async (): Promise<void> => {
        for (let head = heads.shift(); head !== undefined; head = heads.shift()) {
          signal?.throwIfAborted()
          const header = await this.headerOf(head.stream)
          if (header !== undefined)
            found.push({ header: structuredClone(header), revision: revisionOf(head.seq) })
        }
      }
      await Promise.all(Array.from({ length: READERS }, reader))
      cursor = page.cursor
    } while (cursor !== undefined)
    return found
  }

  private async headerOf(stream: string): Promise<SessionHeader | undefined> {
    let header = this.headers.get(stream)
    if (header !== undefined) return header
    const [first] = await this.log.read(stream, { limit: 1 })
    header = first === undefined ? undefined : headerOf(stream, first)
    if (header !== undefined) this.headers.set(stream, header)
    return header
  }

  private async write(meta: SessionHeader, events: readonly SessionEvent[]): Promise<void> {
    const { id } = meta
    const place = this.places.get(id)
    if (place === undefined || place.count !== events[0]?.seq) throw overtaken(id)
    if (place.isUnsure === true) return await this.writeRest(meta, events, place)
    const { head, count } = place
    const entries = [...(head === 0 ? [headerEntry(meta)] : []), ...eventEntries(events)]
    try {
      const last = await this.log.append(streamOf(id), head, entries)
      this.places.set(id, { head: last, count: count + events.length })
    } catch (error) {
      if (!isConflict(error)) this.places.set(id, { ...place, isUnsure: true })
      throw error
    }
  }

  /** Writes what an append that was not answered has not written, when nobody else wrote since. */
  private async writeRest(
    meta: SessionHeader,
    events: readonly SessionEvent[],
    { head, count }: Place,
  ): Promise<void> {
    const { id } = meta
    const stream = streamOf(id)
    const added = await this.log.read(stream, { afterSeq: head })
    const stored = eventsOf(stream, head === 0 ? added.slice(1) : added, count)
    if (!isDeepStrictEqual(stored, events.slice(0, stored.length))) throw overtaken(id)
    this.places.set(id, { head: head + added.length, count: count + stored.length })
    if (stored.length < events.length) await this.write(meta, events.slice(stored.length))
  }
}

function streamOf(id: string): string {
  return SESSION_STREAM_PREFIX + id
}

function revisionOf(head: number): SessionPersistenceRevision {
  return SessionPersistenceRevision(String(head))
}

function isConflict(error: unknown): boolean {
  return error instanceof DurableLogError && error.code === 'conflict'
}

function overtaken(id: string): DurableLogError {
  return new DurableLogError(
    'conflict',
    `session ${JSON.stringify(id)} was written by another process since this one opened it; open it anew`,
    { stream: streamOf(id) },
  )
}
