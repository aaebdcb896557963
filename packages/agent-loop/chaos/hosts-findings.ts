/**
 * What must hold once a fleet has come to rest, read from the run streams, the files of the sessions, and
 * the record of the model, which knows nothing of either. Pure.
 */
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { BUILT_IN_LANES } from '../src/config.ts'
import { messageIdOf } from '../src/run-message.ts'
import { sessionIdOfKey } from '../src/request.ts'
import type { Strike } from './host-fleet.ts'
import { type Acknowledged, sessionKeyOf } from './hosts-clients.ts'
import type { Ask, Plan } from './hosts-plan.ts'
import type { SeenEntry } from './run-watch.ts'
import type { ModelCall } from './turn-record.ts'

export interface Remains {
  readonly plan: Plan
  readonly acknowledged: readonly Acknowledged[]
  readonly streams: ReadonlyMap<string, readonly SeenEntry[]>
  readonly calls: readonly ModelCall[]
  readonly strikes: readonly Strike[]
  /** Events of a session, or why it cannot be opened. */
  readonly sessions: ReadonlyMap<string, readonly SessionEvent[] | string>
}

export interface Findings {
  lost: number
  doubled: number
  readonly problems: string[]
}

/** Shorter interruptions pass, and a turn goes on after them. */
const LEASE_MS = 5_000
/** How long a complete answer may be on its way to the medium. */
const WRITTEN_WITHIN_MS = 1_500

export function findingsOf(remains: Remains): Findings {
  const found: Findings = { lost: 0, doubled: 0, problems: [] }
  judgeAcknowledged(remains, found)
  for (const [sessionId, seen] of remains.streams) judgeStream(sessionId, seen, remains, found)
  for (const [sessionId, events] of remains.sessions) judgeSession(sessionId, events, remains, found)
  judgeOverlaps(remains, found)
  judgeAnswers(remains, found)
  judgeWidths(remains, found)
  return found
}

function judgeAcknowledged({ acknowledged, streams }: Remains, found: Findings): void {
  for (const { ask, runIds } of acknowledged) {
    if (runIds.size !== 1) {
      found.doubled += 1
      found.problems.push(`request ${ask.index} became runs ${[...runIds].join(', ')}`)
    }
    const seen = streams.get(sessionIdOfKey(sessionKeyOf(ask.session))) ?? []
    for (const runId of runIds) {
      const isThere = seen.some(({ entry }) => entry.type === 'run/accepted' && entry.data.runId === runId)
      if (isThere) continue
      found.lost += 1
      found.problems.push(`run ${runId} of request ${ask.index} was acknowledged and is not in the log`)
    }
  }
}

interface RunStory {
  readonly runId: string
  readonly key: string
  readonly isSteer: boolean
  readonly endings: string[]
  wasDeferred: boolean
}

/** One terminal entry each, starts in the order of acceptance, and never two open at a time. */
function judgeStream(sessionId: string, seen: readonly SeenEntry[], remains: Remains, found: Findings): void {
  const runs = new Map<string, RunStory>()
  const begun: string[] = []
  let open: string | undefined
  let epoch = 0
  const tell = (text: string): void => void found.problems.push(`${sessionId}: ${text}`)
  for (const { entry } of seen) {
    if (!('runId' in entry.data)) continue
    const { runId } = entry.data
    const story = runs.get(runId)
    switch (entry.type) {
      case 'run/accepted': {
        const { key, request } = entry.data
        const isTaken = [...runs.values()].some((other) => other.key === key)
        if (isTaken) tell(`key ${key} was accepted twice`)
        const isSteer = request.mode === 'steer'
        runs.set(runId, { runId, key, isSteer, endings: [], wasDeferred: false })
        break
      }
      case 'run/started':
        if ((entry.data.epoch ?? 0) < epoch) tell(`run ${runId} was started under an older lease`)
        epoch = Math.max(epoch, entry.data.epoch ?? 0)
        if (entry.data.via === 'steer') break
        if (open !== undefined && open !== runId) tell(`run ${runId} was started while ${open} was under way`)
        if (open !== runId) begun.push(runId)
        open = runId
        break
      case 'run/deferred':
        if (story !== undefined) story.wasDeferred = true
        if (open === runId) open = undefined
        break
      case 'run/settled':
        story?.endings.push(
          `${entry.data.state}${entry.data.error === undefined ? '' : ` (${entry.data.error.code}: ${entry.data.error.message})`}`,
        )
        if (open === runId) open = undefined
        break
      default:
        break
    }
  }
  for (const story of runs.values()) judgeEnding(story, remains, tell, found)
  const isOrdered = (runId: string): boolean => {
    const story = runs.get(runId)
    return story !== undefined && !story.isSteer && !story.wasDeferred
  }
  const inOrder = [...runs.keys()].filter((runId) => isOrdered(runId) && begun.includes(runId))
  const asBegun = [...new Set(begun.filter(isOrdered))]
  if (inOrder.join() !== asBegun.join())
    tell(`runs began as ${asBegun.join()}, accepted as ${inOrder.join()}`)
}

function judgeEnding(
  { runId, key, isSteer, endings }: RunStory,
  { plan, strikes }: Remains,
  tell: (text: string) => void,
  found: Findings,
): void {
  if (endings.length === 0) found.lost += 1
  if (endings.length > 1) found.doubled += 1
  if (endings.length !== 1) return tell(`run ${runId} (${key}) has ${endings.length} terminal entries`)
  const [ending = ''] = endings
  const [state] = ending.split(' ')
  // A steer ends with the turn that took it, and that may be aborted.
  const mayBeAborted = isSteer || plan.aborts.some(({ index }) => key === `key ${index}`)
  const mayBeCutOff = strikes.some(({ kind }) => kind !== 'postgres')
  if (state === 'ok' || (state === 'aborted' && mayBeAborted) || (state === 'interrupted' && mayBeCutOff))
    return
  tell(`run ${runId} (${key}) ended as ${ending}`)
}

/** It opens, no message of a run stands in it twice, and they stand in the order of acceptance. */
function judgeSession(
  sessionId: string,
  events: readonly SessionEvent[] | string,
  { streams }: Remains,
  found: Findings,
): void {
  // Where nothing was answered, the session may never have come to the medium.
  const isAnswered = ({ entry }: SeenEntry): boolean =>
    entry.type === 'run/settled' && entry.data.state === 'ok'
  if (streams.get(sessionId)?.some(isAnswered) !== true) return
  if (typeof events === 'string') {
    found.lost += 1
    found.problems.push(`${sessionId}: the session cannot be opened: ${events}`)
    return
  }
  const accepted = (streams.get(sessionId) ?? []).flatMap(({ entry }) =>
    entry.type === 'run/accepted' && entry.data.request.mode !== 'steer'
      ? [messageIdOf(entry.data.runId)]
      : [],
  )
  const told = events.flatMap(({ type, data }) => (type === 'user/message' ? [String(data.id)] : []))
  for (const id of new Set(told)) {
    const times = told.filter((other) => other === id).length
    if (times === 1) continue
    found.doubled += 1
    found.problems.push(`${sessionId}: message ${id} stands ${times} times in the session`)
  }
  const inOrder = accepted.filter((id) => told.includes(id))
  if (inOrder.join() !== told.filter((id) => accepted.includes(id)).join()) {
    found.problems.push(`${sessionId}: messages stand out of order`)
  }
}

/** Until when a call went on; a killed process ends its calls. */
function endOf({ pid, endedAt }: ModelCall, strikes: readonly Strike[]): number {
  if (endedAt !== undefined) return endedAt
  return (
    strikes.find((strike) => strike.pid === pid && strike.kind === 'kill')?.at ?? Number.POSITIVE_INFINITY
  )
}

/** Whether the call was under way in a process that did not run for longer than it has turns. */
function wasStopped(call: ModelCall, strikes: readonly Strike[]): boolean {
  return wasStruck(call, strikes, ['stop'])
}

/** Whether what it answered may never have left its process. */
function wasCutOff(call: ModelCall, strikes: readonly Strike[]): boolean {
  return wasKilledWith(call, strikes) || wasStruck(call, strikes, ['stop', 'cut', 'freeze'])
}

function wasStruck(
  { pid, beganAt, endedAt = Number.POSITIVE_INFINITY }: ModelCall,
  strikes: readonly Strike[],
  kinds: readonly Strike['kind'][],
): boolean {
  return strikes.some(
    (strike) =>
      kinds.includes(strike.kind) &&
      (strike.endedAt ?? Number.POSITIVE_INFINITY) - strike.at > LEASE_MS &&
      strike.pid === pid &&
      strike.at <= endedAt + WRITTEN_WITHIN_MS &&
      (strike.endedAt ?? Number.POSITIVE_INFINITY) >= beganAt,
  )
}

function judgeOverlaps({ calls, strikes }: Remains, found: Findings): void {
  for (const [sessionId, own] of Map.groupBy(calls, (call) => call.sessionId)) {
    for (const [index, earlier] of own.entries()) {
      for (const later of own.slice(index + 1)) {
        if (later.beganAt >= endOf(earlier, strikes)) continue
        if (later.pid !== earlier.pid && wasStopped(earlier, strikes)) continue
        found.problems.push(
          `${sessionId}: process ${later.pid} began ${JSON.stringify(later.texts)} while ${earlier.pid} was at ${JSON.stringify(earlier.texts)}`,
        )
      }
    }
  }
}

const marked = (text: string): boolean => /^number \d+ takes/u.test(text)

/** A message has one whole answer; another one only when the process that gave the first was cut off with it. */
function judgeAnswers({ calls, strikes, acknowledged, streams }: Remains, found: Findings): void {
  const answers = new Map<string, ModelCall[]>()
  for (const call of calls) {
    if (!call.isAnswered) continue
    // What stands before the last one was told in an earlier turn, which was cut off.
    const text = call.texts.at(-1) ?? ''
    if (marked(text)) answers.set(text, [...(answers.get(text) ?? []), call])
  }
  for (const [text, own] of answers) {
    // The last one is the answer that counts; those before it must have been cut off.
    if (own.slice(0, -1).every((call) => wasCutOff(call, strikes))) continue
    found.doubled += 1
    found.problems.push(
      `${JSON.stringify(text)} was answered ${own.length} times, by ${own.map(({ pid }) => pid).join(', ')}`,
    )
  }
  for (const { ask, runIds } of acknowledged) {
    const seen = streams.get(sessionIdOfKey(sessionKeyOf(ask.session))) ?? []
    const isOk = seen.some(
      ({ entry }) =>
        entry.type === 'run/settled' && runIds.has(entry.data.runId) && entry.data.state === 'ok',
    )
    const text = `number ${ask.index} takes ${ask.takesMs}`
    if (isOk && !calls.some((call) => call.texts.includes(text))) {
      found.problems.push(`${JSON.stringify(text)} is ok and was never put to the model`)
    }
  }
}

/** Killed before what it had answered could be written: at once, or while it did not reach the database. */
function wasKilledWith({ pid, beganAt, endedAt = beganAt }: ModelCall, strikes: readonly Strike[]): boolean {
  const own = strikes.filter((strike) => strike.pid === pid)
  const wasAway = own.some(({ kind, at }) => kind !== 'kill' && at <= endedAt + WRITTEN_WITHIN_MS)
  return own.some(({ kind, at }) => kind === 'kill' && (wasAway || at <= endedAt + WRITTEN_WITHIN_MS))
}

/** At no time more calls of a lane than it has slots, over all processes that run. */
function judgeWidths({ calls, strikes, plan }: Remains, found: Findings): void {
  for (const [lane, { width }] of Object.entries(BUILT_IN_LANES)) {
    const own = calls.filter((call) => laneOf(call, plan.asks) === lane && !wasStopped(call, strikes))
    for (const { beganAt } of own) {
      const open = own.filter((call) => call.beganAt <= beganAt && endOf(call, strikes) > beganAt)
      if (open.length <= width) continue
      found.problems.push(
        `lane ${lane} has ${open.length} calls at a time: ${open.map(({ pid, texts }) => `${pid} ${JSON.stringify(texts)}`).join(', ')}`,
      )
    }
  }
}

/** @returns none for a steer, which is told in a turn of whatever lane. */
function laneOf({ texts }: ModelCall, asks: readonly Ask[]): string | undefined {
  // What stands before the last one was told in an earlier turn.
  const text = texts.findLast(marked)
  const index = Number(/^number (\d+) /u.exec(text ?? '')?.[1] ?? -1)
  const ask = asks.find((one) => one.index === index)
  return ask?.mode === 'steer' ? undefined : ask?.lane
}

/** How long after each kill the sessions that it cut off were taken up elsewhere, milliseconds. */
export function takeoversOf({
  calls,
  strikes,
  streams,
}: Pick<Remains, 'calls' | 'strikes' | 'streams'>): readonly number[] {
  return strikes
    .filter(({ kind, pid }) => kind === 'kill' && pid !== 0)
    .flatMap(({ pid, at }) =>
      calls
        .filter((call) => call.pid === pid && call.endedAt === undefined && call.beganAt <= at)
        .flatMap(({ sessionId }) => {
          const next = streams
            .get(sessionId)
            ?.find(
              ({ at: seenAt, entry }) =>
                seenAt > at + 50 && (entry.type === 'run/started' || entry.type === 'run/settled'),
            )
          return next === undefined ? [] : [next.at - at]
        }),
    )
}
