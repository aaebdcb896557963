/**
 * DSH's session persistence over memory: its own coordinator, with its buffering and its write-behind
 * timers, on a backend without files. Owns nothing but the translation.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { SessionEvent, SessionHeader, SessionId } from '@deepseek-ai/dsh-session'
import {
  PersistenceCoordinator,
  SessionPersistence,
  SessionPersistenceRevision,
  type PersistenceBackend,
  type SessionInspection,
  type SessionPersistenceSnapshot,
  type StoredPrefix,
} from '@deepseek-ai/dsh-session-persistence'
import type { StoredSession } from './home.ts'
import type { Life } from './life.ts'

export interface StoredSessionsConfig {
  readonly sessions: Map<string, StoredSession>
  readonly life: Life
}

export class StoredSessions extends SessionPersistence implements PersistenceBackend {
  static readonly inject = ['sessions']
  override readonly name = 'session-persistence-memory'
  readonly supportsRawArtifacts = false
  private readonly stored: Map<string, StoredSession>
  private readonly life: Life
  private readonly coordinator: PersistenceCoordinator

  constructor(ctx: Context, { sessions, life }: StoredSessionsConfig) {
    super(ctx)
    this.stored = sessions
    this.life = life
    this.coordinator = new PersistenceCoordinator(this.ctx, this)
  }

  locate(): undefined {
    return undefined
  }

  create(meta: SessionHeader): Promise<void> {
    return this.coordinator.create(meta)
  }

  append(id: SessionId, events: readonly SessionEvent[]): Promise<void> {
    return this.coordinator.append(id, events)
  }

  override prepare(id: SessionId, signal?: AbortSignal) {
    return this.coordinator.prepare(id, signal)
  }

  load(id: SessionId): Promise<SessionInspection> {
    return this.coordinator.load(id)
  }

  inspect(id: SessionId, signal?: AbortSignal): Promise<SessionInspection> {
    return this.coordinator.inspect(id, signal)
  }

  readFrom(id: SessionId, fromSeq: number, signal?: AbortSignal) {
    return this.coordinator.readFrom(id, fromSeq, signal)
  }

  loadStored(id: SessionId): Promise<StoredPrefix | undefined> {
    return this.life.during(async () => {
      const stored = this.stored.get(id)
      if (stored === undefined) return undefined
      const events = stored.events.map((line) => JSON.parse(line) as SessionEvent)
      return { meta: structuredClone(stored.header), events, revision: revisionOf(stored) }
    })
  }

  readStoredRevision(id: SessionId): Promise<SessionPersistenceRevision | undefined> {
    return this.life.during(async () => {
      const stored = this.stored.get(id)
      return stored === undefined ? undefined : revisionOf(stored)
    })
  }

  appendBatch(meta: SessionHeader, events: readonly SessionEvent[]): Promise<void> {
    return this.life.write(async () => {
      let stored = this.stored.get(meta.id)
      if (stored === undefined) {
        stored = { header: structuredClone(meta), events: [] }
        this.stored.set(meta.id, stored)
      }
      stored.events.push(...events.map((event) => JSON.stringify(event)))
    })
  }

  /** Nothing is ever torn here: a crash repair only closes what was open. */
  commitRepair(meta: SessionHeader, _torn: unknown, closers: readonly SessionEvent[]): Promise<void> {
    return this.appendBatch(meta, closers)
  }

  list(): Promise<SessionHeader[]> {
    return this.life.during(async () =>
      [...this.stored.values()].map(({ header }) => structuredClone(header)),
    )
  }

  listSnapshots(): Promise<SessionPersistenceSnapshot[]> {
    return this.life.during(async () =>
      [...this.stored.values()].map((stored) => ({
        header: structuredClone(stored.header),
        revision: revisionOf(stored),
      })),
    )
  }
}

function revisionOf({ header, events }: StoredSession): SessionPersistenceRevision {
  return SessionPersistenceRevision(`memory:${header.id}:${events.length}`)
}
