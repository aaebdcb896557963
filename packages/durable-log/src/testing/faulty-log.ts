/**
 * A log that fails, waits or calls back where a test says so, around any real log.
 *
 * Each operation passes two points, `before-…` and `after-…`. What fails before is not done; what
 * fails after is done although its caller sees `unavailable`, as when an answer gets lost. With an
 * empty plan the wrapped log keeps the contract of the port as it is.
 *
 *     const log = faultyLog(memoryLog(), [
 *       { at: 'after-append', when: 3, fault: 'fail' },
 *       { at: 'before-append', when: ({ stream }) => stream.startsWith('graph/'), times: 1, fault: 'fail' },
 *       { at: 'before-read', fault: 'delay', until: gate },
 *       { at: 'before-snapshot', fault: 'call', call: () => process.kill(process.pid, 'SIGKILL') },
 *       { at: 'after-append', when: { probability: 0.1, seed: 7 }, fault: 'fail' },
 *     ])
 */
import { checkAppend, checkList, checkRead, checkSnapshot, checkStream } from '../checks.ts'
import { DurableLogError } from '../errors.ts'
import { closed } from '../refusals.ts'
import type {
  AppendOptions,
  DurableLog,
  Entry,
  JsonValue,
  ListOptions,
  ReadOptions,
  Snapshot,
  StoredEntry,
  StreamHead,
  StreamPage,
} from '../types.ts'
import { type Random, randomFrom } from './random.ts'

/** `snapshot` is `saveSnapshot`, `load` is `loadSnapshot`. */
export type FaultOperation = 'append' | 'read' | 'list' | 'snapshot' | 'load' | 'remove'

export type FaultPoint = `${'before' | 'after'}-${FaultOperation}`

/** An operation at a point. */
export interface FaultCall {
  readonly point: FaultPoint
  /** How many operations passed this point, this one included. */
  readonly count: number
  /** Empty for `list`. */
  readonly stream: string
  /** What an append writes. */
  readonly entries: readonly Entry[]
}

/** The n-th passage of the point, counted from 1; a predicate; or chance, the same for the same seed. */
export type FaultCondition =
  | number
  | ((call: FaultCall) => boolean)
  | { readonly probability: number; readonly seed: number }

export type Fault = {
  readonly at: FaultPoint | readonly FaultPoint[]
  /** Default: every time. */
  readonly when?: FaultCondition
  /** Strikes this often at most; default without limit. */
  readonly times?: number
} & (
  | {
      readonly fault: 'fail'
      /** Default: `unavailable`. */
      readonly error?: (call: FaultCall) => Error
    }
  | {
      readonly fault: 'delay'
      /** The operation waits at the point until this is resolved; a rejection is ignored. */
      readonly until: Promise<unknown> | ((call: FaultCall) => Promise<unknown>)
    }
  | {
      readonly fault: 'call'
      /** A crash point: kills the process, copies the medium, or throws what the caller then sees. */
      readonly call: (call: FaultCall) => void
    }
)

/** Faults strike in their order; several may strike at one point. */
export type FaultPlan = readonly Fault[]

export interface FaultyLog extends DurableLog {
  /** How many faults struck so far. */
  readonly struck: number
}

/** A fault and how often it may still strike. */
interface Armed {
  readonly fault: Fault
  readonly random: Random | undefined
  left: number
}

/**
 * Wraps a log. Closing it waits for the operations under way, delayed ones too, and closes `log`.
 * Arguments are checked and copied when an operation is called, so that a delay changes nothing.
 */
export function faultyLog(log: DurableLog, plan: FaultPlan = []): FaultyLog {
  return new FaultyWrapper(log, plan)
}

class FaultyWrapper implements FaultyLog {
  private readonly log: DurableLog
  private readonly armed: readonly Armed[]
  private readonly counts = new Map<FaultPoint, number>()
  private readonly running = new Set<Promise<unknown>>()
  private strikes = 0
  private closing: Promise<void> | undefined

  constructor(log: DurableLog, plan: FaultPlan) {
    this.log = log
    this.armed = plan.map((fault) => ({
      fault,
      random: typeof fault.when === 'object' ? randomFrom(fault.when.seed) : undefined,
      left: fault.times ?? Infinity,
    }))
  }

  get struck(): number {
    return this.strikes
  }

  async append(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    options?: AppendOptions,
  ): Promise<number> {
    this.assertOpen()
    const request = checkAppend(stream, expectedSeq, entries, options)
    const copies = request.entries.map(({ type, data }) => ({ type, data: data.value }))
    const { signal } = request
    return this.between('append', { stream: request.stream, entries: copies }, () =>
      this.log.append(request.stream, request.expectedSeq, copies, signal === undefined ? {} : { signal }),
    )
  }

  async read(stream: string, options?: ReadOptions): Promise<readonly StoredEntry[]> {
    this.assertOpen()
    const { stream: name, afterSeq, limit } = checkRead(stream, options)
    return this.between('read', { stream: name }, () =>
      this.log.read(name, limit === Infinity ? { afterSeq } : { afterSeq, limit }),
    )
  }

  async list(options?: ListOptions): Promise<StreamPage> {
    this.assertOpen()
    const { prefix, cursor, limit } = checkList(options)
    return this.between('list', { stream: '' }, () =>
      this.log.list(cursor === undefined ? { prefix, limit } : { prefix, cursor, limit }),
    )
  }

  async saveSnapshot(stream: string, seq: number, snapshot: JsonValue): Promise<void> {
    this.assertOpen()
    const request = checkSnapshot(stream, seq, snapshot)
    return this.between('snapshot', { stream: request.stream }, () =>
      this.log.saveSnapshot(request.stream, request.seq, request.snapshot.value),
    )
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    this.assertOpen()
    const name = checkStream(stream)
    return this.between('load', { stream: name }, () => this.log.loadSnapshot(name))
  }

  async remove(stream: string): Promise<void> {
    this.assertOpen()
    const name = checkStream(stream)
    return this.between('remove', { stream: name }, () => this.log.remove(name))
  }

  subscribe(prefix: string, listener: (head: StreamHead) => void): () => void {
    this.assertOpen()
    return this.log.subscribe(prefix, listener)
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish())
  }

  private async finish(): Promise<void> {
    await Promise.allSettled(this.running)
    await this.log.close()
  }

  private between<T>(
    operation: FaultOperation,
    call: { readonly stream: string; readonly entries?: readonly Entry[] },
    operate: () => Promise<T>,
  ): Promise<T> {
    const outcome = this.pass(`before-${operation}`, call)
      .then(operate)
      .then(async (result) => {
        await this.pass(`after-${operation}`, call)
        return result
      })
    this.running.add(outcome)
    const forget = () => void this.running.delete(outcome)
    outcome.then(forget, forget)
    return outcome
  }

  /** Rejects when a fault says so. */
  private async pass(
    point: FaultPoint,
    { stream, entries = [] }: { readonly stream: string; readonly entries?: readonly Entry[] },
  ): Promise<void> {
    const count = (this.counts.get(point) ?? 0) + 1
    this.counts.set(point, count)
    const call: FaultCall = { point, count, stream, entries }
    for (const armed of this.armed) {
      if (!strikes(armed, call)) continue
      armed.left -= 1
      this.strikes += 1
      await strike(armed.fault, call)
    }
  }

  private assertOpen(): void {
    if (this.closing !== undefined) throw closed()
  }
}

function strikes({ fault, random, left }: Armed, call: FaultCall): boolean {
  const { at, when } = fault
  if (left <= 0 || !(typeof at === 'string' ? at === call.point : at.includes(call.point))) return false
  if (when === undefined) return true
  if (typeof when === 'number') return when === call.count
  if (typeof when === 'function') return when(call)
  return (random?.below(RANDOM_STEPS) ?? 0) < when.probability * RANDOM_STEPS
}

const RANDOM_STEPS = 1_000_000

async function strike(fault: Fault, call: FaultCall): Promise<void> {
  if (fault.fault === 'call') {
    fault.call(call)
    return
  }
  if (fault.fault === 'fail') throw fault.error?.(call) ?? planned(call)
  const { until } = fault
  await (typeof until === 'function' ? until(call) : until).catch(() => undefined)
}

function planned({ point, count, stream }: FaultCall): DurableLogError {
  return new DurableLogError('unavailable', `planned fault at ${point} ${count} of "${stream}"`, { stream })
}
