/** The reference: waits, acknowledgements, wakes. */
import type { Wake, WakeAttempt } from '../../src/index.ts'
import { changeSeqOf, openWakeOf, type RefGraph } from './graph.ts'
import { done, kept, refused, Rules, type Verdict } from './verdict.ts'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

function wakeOf(graph: RefGraph, id: string | undefined): Writable<Wake> | undefined {
  return graph.wakes.find((wake) => wake.wakeId === id)
}

function attemptOf(graph: RefGraph, id: string | undefined): Writable<WakeAttempt> | undefined {
  return graph.attempts.find((attempt) => attempt.attemptId === id)
}

interface WaitAsked {
  readonly waitId: string
  readonly until: 'any' | 'all'
  readonly reason?: string
}

export function wait(graph: RefGraph, asked: WaitAsked, at: number): Verdict {
  if (graph.finish !== undefined) return refused('schedule-closed')
  const { wait: current } = graph
  if (current?.waitId === asked.waitId) {
    return current.until === asked.until && current.reason === asked.reason
      ? kept()
      : refused('wake-conflict')
  }
  graph.wait = { ...asked, registeredAt: at }
  graph.seq += 1
  return done()
}

export function acknowledge(graph: RefGraph, changeSeq: number, at: number): Verdict {
  if (changeSeq > changeSeqOf(graph)) return refused('invalid')
  if (changeSeq <= graph.seen) return kept()
  graph.seen = changeSeq
  const open = openWakeOf(graph)
  if (open?.status === 'pending' && open.snapshotVersion <= graph.seen) {
    over(graph, open, { status: 'superseded', failureReason: 'seen before it was delivered', at })
  }
  graph.seq += 1
  return done()
}

interface WakeAsked {
  readonly wakeId: string
  readonly snapshotVersion: number
  readonly rootSessionId: string
  readonly dueAt?: number
  readonly recurMs?: number
}

export function wake(graph: RefGraph, asked: WakeAsked, at: number): Verdict {
  const { wakeId, snapshotVersion, rootSessionId, dueAt, recurMs } = asked
  const existing = wakeOf(graph, wakeId)
  if (existing !== undefined) {
    // One that was begun at its time reports more than it was asked for.
    const isVersion =
      existing.snapshotVersion === snapshotVersion ||
      (existing.dueAt !== undefined && snapshotVersion <= existing.snapshotVersion)
    const isSame =
      existing.rootSessionId === rootSessionId && existing.dueAt === dueAt && existing.recurMs === recurMs
    return isVersion && isSame ? kept({ created: false }) : refused('wake-conflict')
  }
  return new Rules()
    .keep(graph.finish === undefined, 'schedule-closed')
    .keep(graph.root === undefined || graph.root === rootSessionId, 'wake-conflict')
    .keep(snapshotVersion <= changeSeqOf(graph), 'wake-conflict')
    .keep(dueAt !== undefined || openWakeOf(graph) === undefined, 'wake-conflict')
    .keep(dueAt === undefined || graph.toCome.length < 64, 'wake-conflict')
    .allow(() => {
      graph.wakes.push({ ...asked, status: 'pending', attempts: 0, createdAt: at, updatedAt: at })
      if (dueAt !== undefined) graph.toCome.push(wakeId)
      graph.seq += 1
      return done({ created: true })
    })
}

function goOn(graph: RefGraph, held: Writable<Wake>, at: number): Verdict {
  const parked = attemptOf(graph, held.currentAttemptId ?? '')
  if (parked !== undefined) parked.status = 'running'
  delete parked?.failureReason
  held.status = 'running'
  held.updatedAt = at
  delete held.failureReason
  graph.seq += 1
  return done({ acquired: true, status: 'running' })
}

interface AttemptAsked {
  readonly wakeId: string
  readonly attemptId: string
  readonly turnId?: string
  readonly maxAttempts?: number
}

export function attempt(graph: RefGraph, asked: AttemptAsked, at: number): Verdict {
  const { wakeId, attemptId, turnId, maxAttempts } = asked
  const held = wakeOf(graph, wakeId)
  if (held === undefined) return refused('wake-not-found')
  const isToCome = graph.toCome.includes(wakeId)
  const isIdle = held.status === 'pending' || held.status === 'retryable_failed'
  const isEarly = isToCome && (at < (held.dueAt ?? 0) || openWakeOf(graph) !== undefined)
  if (held.status === 'waiting_permission' && held.currentAttemptId === attemptId)
    return goOn(graph, held, at)
  if (!isIdle || isEarly) return kept({ acquired: false, status: held.status })
  if (attemptOf(graph, attemptId) !== undefined) return refused('wake-conflict')
  graph.seq += 1
  if (maxAttempts !== undefined && held.attempts >= maxAttempts) {
    const failureReason = held.failureReason ?? `not delivered in ${held.attempts} attempts`
    over(graph, held, { status: 'exhausted', failureReason, at })
    return done({ acquired: false, status: 'exhausted' })
  }
  if (isToCome) {
    graph.toCome = graph.toCome.filter((id) => id !== wakeId)
    held.snapshotVersion = changeSeqOf(graph)
  }
  const turn = turnId === undefined ? {} : { turnId }
  graph.attempts.push({ attemptId, wakeId, status: 'running', startedAt: at, ...turn })
  Object.assign(held, {
    status: 'running',
    attempts: held.attempts + 1,
    currentAttemptId: attemptId,
    updatedAt: at,
  })
  delete held.failureReason
  delete held.retryAt
  delete graph.wait
  return done({ acquired: true, status: 'running' })
}

interface CompletionAsked {
  readonly wakeId: string
  readonly attemptId: string
  readonly status: 'waiting_permission' | 'delivered' | 'superseded' | 'retryable_failed' | 'exhausted'
  readonly failureReason?: string
  readonly retryAt?: number
}

export function complete(graph: RefGraph, asked: CompletionAsked, at: number): Verdict {
  const { wakeId, attemptId, status, failureReason, retryAt } = asked
  const held = wakeOf(graph, wakeId)
  if (held === undefined) return refused('wake-not-found')
  const made = attemptOf(graph, attemptId)
  if (made?.wakeId !== wakeId) return refused('wake-attempt-not-found')
  if (made.status === status) return kept({ status: held.status })
  if (held.currentAttemptId !== attemptId) {
    return refused(held.status === 'delivered' ? 'wake-already-delivered' : 'wake-conflict')
  }
  if (status === 'delivered') graph.seen = Math.max(graph.seen, held.snapshotVersion)
  over(graph, held, { status, failureReason, retryAt, at })
  graph.seq += 1
  return done({ status })
}

export function exhaust(graph: RefGraph, wakeId: string, reason: string, at: number): Verdict {
  const held = wakeOf(graph, wakeId)
  if (held === undefined) return refused('wake-not-found')
  if (held.status === 'exhausted') return kept({ status: 'exhausted' })
  if (held.status !== 'retryable_failed') return refused('wake-conflict')
  over(graph, held, { status: 'exhausted', failureReason: reason, at })
  graph.seq += 1
  return done({ status: 'exhausted' })
}

export function supersede(graph: RefGraph, reason: string, at: number): Verdict {
  const open = openWakeOf(graph)
  const count = graph.toCome.length + (open === undefined ? 0 : 1)
  if (count === 0) return kept({ count })
  if (open !== undefined) over(graph, open, { status: 'superseded', failureReason: reason, at })
  endToCome(graph, at, reason)
  graph.seq += 1
  return done({ count })
}

export function recover(graph: RefGraph, at: number): Verdict {
  const open = openWakeOf(graph)
  if (open?.status !== 'running') return kept({ count: 0 })
  over(graph, open, { status: 'retryable_failed', failureReason: 'host_restart', at })
  graph.seq += 1
  return done({ count: 1 })
}

/** To be called on a finished graph: only what is being delivered right now goes on. */
export function endIdleWakes(graph: RefGraph, at: number, failureReason: string): void {
  const open = openWakeOf(graph)
  if (open?.status === 'pending' || open?.status === 'retryable_failed') {
    over(graph, open, { status: 'superseded', failureReason, at })
  }
  endToCome(graph, at, failureReason)
}

function endToCome(graph: RefGraph, at: number, failureReason: string): void {
  for (const id of graph.toCome) {
    const held = wakeOf(graph, id)
    if (held !== undefined) Object.assign(held, { status: 'superseded', updatedAt: at, failureReason })
  }
  graph.toCome = []
}

interface Over {
  readonly status: CompletionAsked['status']
  readonly failureReason?: string | undefined
  readonly retryAt?: number | undefined
  readonly at: number
}

function over(graph: RefGraph, held: Writable<Wake>, { status, failureReason, retryAt, at }: Over): void {
  const made = attemptOf(graph, held.currentAttemptId)
  const isParked = status === 'waiting_permission'
  const why = failureReason === undefined ? {} : { failureReason }
  if (made !== undefined) Object.assign(made, { status, ...why, ...(isParked ? {} : { completedAt: at }) })
  Object.assign(held, { status, updatedAt: at, ...why, ...(retryAt === undefined ? {} : { retryAt }) })
  if (!isParked) delete held.currentAttemptId
  if (isParked || status === 'retryable_failed') return
  const { recurMs, dueAt } = held
  if (graph.finish !== undefined || recurMs === undefined || dueAt === undefined) return
  // The next beat after now; those that were missed are left out.
  let next = dueAt + recurMs
  while (next <= at) next += recurMs
  const [base = '', count = '1'] = held.wakeId.split('#occurrence-')
  const wakeId = `${base}#occurrence-${Number(count) + 1}`
  const { snapshotVersion, rootSessionId } = held
  const stamp = { createdAt: at, updatedAt: at }
  graph.wakes.push({
    wakeId,
    snapshotVersion,
    rootSessionId,
    status: 'pending',
    attempts: 0,
    dueAt: next,
    recurMs,
    ...stamp,
  })
  graph.toCome.push(wakeId)
}
