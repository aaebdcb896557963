/**
 * [event-fanout] What one event costs on its way to each of 100 subscribers, one of whom has stopped
 * reading, over the same with a single subscriber.
 * [event-fanout-memory] What the heap grows by over a long run with a stalled reader among 100, over the
 * same with none; and what is held at the end.
 *
 * DSH's events are told to the listeners and kept nowhere, so that the growth is ours.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import { MessageId } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { memoryLog } from 'dsh-durable-log'
import { systemClock } from '../src/clock.ts'
import { accepted, started, type RunRecord } from '../src/run-record.ts'
import { EventStreams } from '../src/streams/event-streams.ts'
import { streamLimits } from '../src/streams/limits.ts'
import { figureOf, type BenchFigure } from '../../../scripts/figures.ts'

const READERS = 100
const ROUNDS = 12
const BURSTS = 100
const BURST = 20
const LONG = 200_000

export async function run(): Promise<BenchFigure[]> {
  return [await fanOut(), await memory()]
}

async function fanOut(): Promise<BenchFigure> {
  const ours: number[] = []
  const base: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const readers of round % 2 === 0 ? [1, READERS] : [READERS, 1]) {
      const stage = await Stage.set(readers, readers > 1 ? 1 : 0)
      const begin = performance.now()
      for (let burst = 0; burst < BURSTS; burst += 1) await stage.burst()
      await stage.end()
      const took = performance.now() - begin
      // Readers that keep up get each burst in one piece.
      const samples = readers === 1 ? base : ours
      if (round >= 2) samples.push((took * 1_000) / (BURSTS * readers))
      await stage.strike()
    }
  }
  return figureOf('event-fanout', 'µs a burst and reader', { ours, base, baseline: 'one subscriber' })
}

async function memory(): Promise<BenchFigure> {
  const ours: number[] = []
  const base: number[] = []
  let held = 0
  for (let round = 0; round < 3; round += 1) {
    for (const stalled of round % 2 === 0 ? [1, 0] : [0, 1]) {
      const stage = await Stage.set(READERS, stalled)
      await stage.burst()
      const before = heap()
      for (let told = 0; told < LONG; told += 1_000) await stage.burst(1_000)
      const samples = stalled === 1 ? ours : base
      samples.push(Math.max(1, (heap() - before) / 1_024))
      held = Math.max(held, stage.held)
      await stage.end()
      await stage.strike()
    }
  }
  const baseline = `${LONG} deltas, no reader stalled; ${held} characters held`
  return figureOf('event-fanout-memory', 'KiB', { ours, base, baseline })
}

/** One run whose events are told here, and its readers. */
class Stage {
  private readonly ctx: Context
  private readonly streams: EventStreams
  private readonly session: Session
  private readonly reading: Promise<void>[] = []
  private readonly stalled: AsyncIterator<unknown>[] = []
  private readonly record: RunRecord
  private told = 0

  private constructor(ctx: Context, session: Session) {
    this.ctx = ctx
    this.session = session
    this.record = recordOf(session.id)
    this.streams = new EventStreams({
      ctx,
      log: memoryLog(),
      clock: systemClock,
      background: systemClock,
      warn: () => undefined,
      find: () => Promise.resolve(this.record),
      get: () => undefined,
      runsOf: () => [this.record],
      limits: streamLimits(),
    })
  }

  static async set(readers: number, stalled: number): Promise<Stage> {
    const ctx = new Context()
    await ctx.plugin(SessionStore)
    await ctx.plugin(AgentRegistry)
    let stage: Stage | undefined
    await ctx.plugin({
      name: 'bench',
      inject: ['agents', 'sessions'],
      apply: (live: Context) => {
        stage = new Stage(live, live.sessions.create(SessionId('s')))
      },
    })
    if (stage === undefined) throw new Error('the stage was not set')
    await stage.begin(readers, stalled)
    return stage
  }

  get held(): number {
    return this.streams.held.characters
  }

  async burst(size = BURST): Promise<void> {
    for (let index = 0; index < size; index += 1) {
      this.told += 1
      this.emit('assistant/chunk', {
        turn: 1,
        step: 1,
        // A block ends now and then, as texts do.
        chunk: { type: 'text-delta', index: this.told >> 12, text: 'a few words ' },
      })
    }
    await turnOfEventLoop()
  }

  async end(): Promise<void> {
    const settled: RunRecord = { ...this.record, state: 'ok', settled: { state: 'ok' }, endedAt: Date.now() }
    const data = { v: 3 as const, runId: settled.runId, state: 'ok' as const, endedAt: Date.now() }
    this.streams.folded(settled, { type: 'run/settled', data }, true)
    await Promise.all(this.reading)
  }

  async strike(): Promise<void> {
    for (const iterator of this.stalled) await iterator.return?.()
    await this.streams.close()
    await this.ctx.fiber.dispose()
  }

  private async begin(readers: number, stalled: number): Promise<void> {
    const { runId } = this.record
    const entry = { type: 'run/accepted', data: {} } as never
    this.streams.folded({ ...this.record, attempt: 0, state: 'accepted' }, entry, true)
    const data = { v: 2 as const, runId, attempt: 1, startedAt: Date.now(), via: 'turn' as const }
    this.streams.folded(this.record, { type: 'run/started', data }, true)
    for (let index = 0; index < readers; index += 1) {
      const events = this.streams.subscribe({ runId })
      if (index < stalled) {
        const iterator = events[Symbol.asyncIterator]()
        await iterator.next()
        this.stalled.push(iterator)
      } else this.reading.push(drain(events))
    }
    this.emit('turn/start', { turn: 1 })
    this.emit('user/message', { id: MessageId(this.record.messageId) })
    await turnOfEventLoop()
  }

  private emit(type: string, data: object): void {
    const event = { type, data, seq: 0, time: 0 } as unknown as SessionEvent
    this.ctx.emit('session/event', this.session, event)
  }
}

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  const iterator = events[Symbol.asyncIterator]()
  let next = await iterator.next()
  while (next.done !== true) next = await iterator.next()
}

function recordOf(sessionId: string): RunRecord {
  const now = Date.now()
  const began = accepted(
    sessionId,
    {
      v: 2,
      runId: 'run_bench',
      key: 'k',
      fingerprint: 'f'.repeat(64),
      messageId: 'run-message_bench',
      acceptedAt: now,
      request: { message: 'hi', provenance: { kind: 'user' }, mode: 'followup', lane: 'main' },
    },
    0,
  )
  return started(began, { v: 2, runId: 'run_bench', attempt: 1, startedAt: now, via: 'turn' }, undefined)
}

let collectGarbage: (() => void) | undefined

function heap(): number {
  if (collectGarbage === undefined) {
    setFlagsFromString('--expose-gc')
    collectGarbage = runInNewContext('gc') as () => void
  }
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
