import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import SessionStore, { type Session, type SessionEvent, SessionId } from '@deepseek-ai/dsh-session'
import type { SessionPersistence } from '@deepseek-ai/dsh-session-persistence'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DurableLogError, type DurableLog, memoryLog } from '../src/index.ts'
import LogSessionPersistence from '../src/sessions.ts'

const ID = SessionId('s')

/** A process of DSH, as far as sessions go. */
class Process {
  readonly ctx = new Context()

  static async boot(log: DurableLog): Promise<Process> {
    const booted = new Process()
    const { ctx } = booted
    await ctx.plugin(SessionStore)
    ctx.provide('durableLog', log)
    await ctx.plugin(LogSessionPersistence, LogSessionPersistence.Config({ writeBatchMaxDelayMs: 60_000 }))
    onTestFinished(() => ctx.fiber.dispose().then(undefined, () => undefined))
    return booted
  }

  get persistence(): SessionPersistence {
    return this.ctx.get('sessionPersistence') as SessionPersistence
  }

  flush(session: Session): Promise<boolean> {
    return this.ctx.sessions.flush(session)
  }

  async create(): Promise<{ session: Session; close: () => Promise<unknown> }> {
    return await this.own((ctx) => ctx.sessions.create(ID, { meta: { cwd: '/work' } }))
  }

  async reopen(): Promise<{ session: Session; close: () => Promise<unknown> }> {
    const preparation = await this.persistence.prepare(ID)
    try {
      return await this.own((ctx) => {
        const { session } = preparation
        ctx.effect(() => ctx.sessions.enter(session))
        ctx.sessions.announce(session)
        return session
      })
    } finally {
      preparation[Symbol.dispose]()
    }
  }

  private async own(open: (ctx: Context) => Session) {
    let session: Session | undefined
    const row = await this.ctx.plugin({
      name: 'owner',
      inject: ['sessions'],
      apply: (ctx: Context) => void (session = open(ctx)),
    })
    if (session === undefined) throw new Error('there is no session')
    return { session, close: () => row.dispose() }
  }
}

function say(session: Session, text: string): void {
  const message = createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
  session.append('user/message', message, { surfaceOp: 'append' })
}

function turn(session: Session, number: number, ...texts: readonly string[]): void {
  session.append('turn/start', { turn: number })
  for (const text of texts) say(session, text)
}

function end(session: Session, number: number): void {
  session.append('turn/end', { turn: number, reason: { kind: 'completed' } })
}

const types = (events: readonly SessionEvent[]): readonly string[] => events.map(({ type }) => type)

/** A log whose next append is not answered. */
function unanswered(log: DurableLog): { log: DurableLog; failNext: (isStored: boolean) => void } {
  let next: boolean | undefined
  const append: DurableLog['append'] = async (...request) => {
    const isStored = next
    next = undefined
    const seq = isStored === false ? 0 : await log.append(...request)
    if (isStored === undefined) return seq
    throw new DurableLogError('unavailable', 'the server broke off before it answered')
  }
  return { log: { ...methodsOf(log), append }, failNext: (isStored) => void (next = isStored) }
}

function methodsOf(log: DurableLog): DurableLog {
  return {
    append: (...request) => log.append(...request),
    read: (...request) => log.read(...request),
    list: (...request) => log.list(...request),
    saveSnapshot: (...request) => log.saveSnapshot(...request),
    loadSnapshot: (...request) => log.loadSnapshot(...request),
    remove: (...request) => log.remove(...request),
    subscribe: (...request) => log.subscribe(...request),
    close: () => log.close(),
  }
}

describe('sessions in the log', () => {
  it('are there for every process, with their header', async () => {
    const log = memoryLog()
    const one = await Process.boot(log)
    const { session } = await one.create()
    turn(session, 1, 'hello')
    end(session, 1)
    await one.flush(session)
    const other = await Process.boot(log)
    const { meta, events } = await other.persistence.inspect(ID)
    expect(meta).toEqual(session.header)
    expect(events).toEqual(session.events)
    expect(await other.persistence.readFrom(ID, 2)).toMatchObject({ events: session.events.slice(2) })
    expect(await (other.persistence as LogSessionPersistence).list()).toEqual([session.header])
    await expect(other.persistence.inspect(SessionId('unknown'))).rejects.toThrow(/not found/u)
  })

  it('that were left in a turn are closed by whoever opens them', async () => {
    const log = memoryLog()
    const one = await Process.boot(log)
    const { session } = await one.create()
    turn(session, 1, 'hello')
    await one.flush(session)
    const other = await Process.boot(log)
    const { session: taken } = await other.reopen()
    const closed = taken.events.findLast(({ type }) => type === 'turn/end')
    expect(closed?.data).toEqual({ turn: 1, reason: { kind: 'interrupted' } })
    const third = await Process.boot(log)
    expect(types((await third.persistence.inspect(ID)).events)).toContain('turn/end')
  })

  it('take nothing more from a process that was overtaken, which can open them again', async () => {
    const log = memoryLog()
    const one = await Process.boot(log)
    const { session, close } = await one.create()
    turn(session, 1, 'hello')
    await one.flush(session)
    const other = await Process.boot(log)
    const { session: taken, close: leave } = await other.reopen()
    turn(taken, 2, 'from the other one')
    end(taken, 2)
    await other.flush(taken)
    say(session, 'too late')
    await expect(one.flush(session)).rejects.toMatchObject({ code: 'conflict' })
    await close()
    await leave()
    const { session: again } = await one.reopen()
    const told = again.events.flatMap(({ type, data }) => (type === 'user/message' ? [data.content] : []))
    expect(told).toEqual([[{ type: 'text', text: 'hello' }], [{ type: 'text', text: 'from the other one' }]])
    turn(again, 3, 'back')
    await one.flush(again)
  })

  it.each([
    ['stored', true],
    ['not stored', false],
  ])('go on after an append that was not answered and %s', async (_, isStored) => {
    const medium = memoryLog()
    const { log, failNext } = unanswered(medium)
    const one = await Process.boot(log)
    const { session } = await one.create()
    turn(session, 1, 'hello')
    failNext(isStored)
    await expect(one.flush(session)).rejects.toMatchObject({ code: 'unavailable' })
    end(session, 1)
    await one.flush(session)
    turn(session, 2, 'and')
    failNext(isStored)
    await expect(one.flush(session)).rejects.toMatchObject({ code: 'unavailable' })
    end(session, 2)
    await one.flush(session)
    const other = await Process.boot(medium)
    expect((await other.persistence.inspect(ID)).events).toEqual(session.events)
  })

  it('are refused to a process whose append was not answered and that was overtaken meanwhile', async () => {
    const medium = memoryLog()
    const { log, failNext } = unanswered(medium)
    const one = await Process.boot(log)
    const { session } = await one.create()
    turn(session, 1, 'hello')
    await one.flush(session)
    say(session, 'lost')
    failNext(false)
    await expect(one.flush(session)).rejects.toMatchObject({ code: 'unavailable' })
    const other = await Process.boot(medium)
    await other.reopen()
    await expect(one.flush(session)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('keep an event that is longer than an entry', async () => {
    const log = memoryLog()
    const one = await Process.boot(log)
    const { session } = await one.create()
    turn(session, 1, `x${'𝒳"\\'.repeat(600_000)}`, 'and a short one')
    end(session, 1)
    await one.flush(session)
    const other = await Process.boot(log)
    expect((await other.persistence.inspect(ID)).events).toEqual(session.events)
  })

  it('name the entry that is none of a session', async () => {
    const log = memoryLog()
    const one = await Process.boot(log)
    const { session, close } = await one.create()
    turn(session, 1, 'hello')
    end(session, 1)
    await close()
    await log.append('session/s', 'any', [{ type: 'session/events', data: { v: 2, records: [] } }])
    const other = await Process.boot(log)
    await expect(other.persistence.inspect(ID)).rejects.toMatchObject({
      code: 'corrupt',
      stream: 'session/s',
      seq: 3,
    })
  })

  it('of format 1 are read as they were written', async () => {
    const path = join(import.meta.dirname, 'fixtures', 'session-1.json')
    const { entries, events } = JSON.parse(readFileSync(path, 'utf8')) as {
      entries: Parameters<DurableLog['append']>[2]
      events: readonly SessionEvent[]
    }
    const log = memoryLog()
    await log.append('session/s', 0, entries)
    const one = await Process.boot(log)
    expect((await one.persistence.inspect(ID)).events).toEqual(events)
  })
})
