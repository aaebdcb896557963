/**
 * What the arrival of a message does to the queue of its session. Pure: it is decided against the fold
 * in the same step in which it is stored.
 *
 * | arrival | queue | decision |
 * |---|---|---|
 * | its supersede key waits | – | takes the place of that run, which ends `superseded` |
 * | `interrupt` | persons' messages wait | they end `superseded`, the arrival goes in front |
 * | of a person | as many of persons as `cap`, `old` or `summarize` | the oldest of them end `queue-full` |
 * | of a person | as many of persons as `cap`, `new` | refused |
 * | of a plugin, or a steer | – | goes in; neither ever gives way |
 * | any | as many as a session may have at all | refused |
 */
import type { QueueMode, QueueSettings } from './queue-types.ts'
import type { AskedRun } from './request.ts'
import { previewOf, type RunFold } from './run-fold.ts'
import type { RunRecord, Settlement } from './run-record.ts'

export interface Arrival {
  readonly runId: string
  readonly mode: QueueMode
  readonly asked: AskedRun
}

export interface Admission {
  /** The run whose place it takes. */
  readonly takesPlaceOf?: string
  /** Runs that end for it, with how. */
  readonly victims: readonly { readonly run: RunRecord; readonly settlement: Settlement }[]
}

/** `full`: there is no room and nothing may give way. */
export type Arriving = ({ readonly kind: 'admitted' } & Admission) | { readonly kind: 'full' }

/** @param atMost how many runs a session may queue whatever they are. */
export function decideArrival(
  fold: RunFold,
  arrival: Arrival,
  settings: QueueSettings,
  atMost: number,
): Arriving {
  const mayWait = fold.openCount < Math.min(settings.cap, atMost)
  if (mayWait && arrival.asked.supersedeKey === undefined && arrival.mode !== 'interrupt') {
    return { kind: 'admitted', victims: [] }
  }
  const pending = [...fold.pending()]
  const replaced = supersededBy(pending, arrival)
  if (replaced !== undefined) {
    const settlement = superseded(`a newer message with the same supersede key came (run ${arrival.runId})`)
    return { kind: 'admitted', takesPlaceOf: replaced.runId, victims: [{ run: replaced, settlement }] }
  }
  const persons = pending.filter(isOfPerson)
  if (arrival.mode === 'interrupt') {
    const settlement = superseded(`a message that interrupts came (run ${arrival.runId})`)
    return { kind: 'admitted', victims: persons.map((run) => ({ run, settlement })) }
  }
  if (pending.length >= atMost) return { kind: 'full' }
  const isExempt = arrival.asked.provenance.kind === 'plugin' || arrival.mode === 'steer'
  if (isExempt || persons.length < settings.cap) return { kind: 'admitted', victims: [] }
  const mayGiveWay = persons.filter((run) => run.request?.mode !== 'steer')
  const tooMany = persons.length - settings.cap + 1
  if (settings.drop === 'new' || mayGiveWay.length < tooMany) return { kind: 'full' }
  const victims = mayGiveWay.slice(0, tooMany)
  return {
    kind: 'admitted',
    victims: victims.map((run) => ({ run, settlement: queueFull(run, settings) })),
  }
}

function supersededBy(pending: readonly RunRecord[], { asked }: Arrival): RunRecord | undefined {
  const { supersedeKey } = asked
  if (supersedeKey === undefined) return undefined
  return pending.find((run) => run.request?.supersedeKey === supersedeKey)
}

function isOfPerson(run: RunRecord): boolean {
  return run.request?.provenance.kind === 'user'
}

function superseded(message: string): Settlement {
  return { state: 'superseded', error: { code: 'superseded', message } }
}

function queueFull(run: RunRecord, { cap, drop }: QueueSettings): Settlement {
  const error = { code: 'queue-full', message: `the queue of the session held ${cap} messages already` }
  const preview = drop === 'summarize' ? { preview: previewOf(run.request?.message ?? '') } : {}
  return { state: 'superseded', error, ...preview }
}

/**
 * Runs right behind a collecting one that are told in the same turn: they collect as well and ask for
 * nothing else.
 */
export function membersOf(fold: RunFold, leader: RunRecord, atMost: number): readonly RunRecord[] {
  const { request } = leader
  if (request?.mode !== 'collect') return []
  const members: RunRecord[] = []
  let characters = request.message.length
  let isBehind = false
  for (const run of fold.pending()) {
    if (run.runId === leader.runId) {
      isBehind = true
      continue
    }
    if (!isBehind) continue
    const { request: other } = run
    if (other?.mode !== 'collect' || frameOf(other) !== frameOf(request)) break
    characters += other.message.length
    if (members.length + 1 >= atMost || characters > MAX_COLLECTED_CHARACTERS) break
    members.push(run)
  }
  return members
}

/** What is collected into one turn together, at most. */
const MAX_COLLECTED_CHARACTERS = 1_000_000

/** Everything but the words that the turns of two runs would differ in. */
function frameOf(request: NonNullable<RunRecord['request']>): string {
  const { lane, provenance, model, effort, thinking, verbose, extraSystemPrompt, cwd } = request
  const who = provenance.kind === 'user' ? 'user' : provenance.plugin
  return JSON.stringify([lane, who, model, effort, thinking, verbose, extraSystemPrompt, cwd])
}
