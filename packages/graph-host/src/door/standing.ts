/**
 * What only the process that drives graphs knows of their works: how many may be under way, and which runs
 * wait for a slot of the lane that all operators share. For those who read the graphs elsewhere.
 */
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { WaitOptions } from '../board/waits.ts'
import { laneWaits, laneWaitText } from '../lane-wait.ts'
import { callHost } from './door-client.ts'
import type { RunningHost } from './run-file.ts'

/** Sessions that are told of. */
const SESSIONS = 10_000
/** Whoever wants to see graphs does not wait long for what may be added to them. */
const PATIENCE_MS = 2_000

export interface Standing {
  readonly slots: number
  /** By session, in words. */
  readonly runWaits: Readonly<Record<string, string>>
}

export function standingOf(loop: Pick<AgentLoopHost, 'lanes' | 'metrics'>, slots: number): Standing {
  const waitOf = laneWaits(loop)
  const waits = loop
    .lanes()
    .slice(0, SESSIONS)
    .flatMap(({ sessionId }) => {
      const wait = waitOf(sessionId)
      return wait === undefined ? [] : [[sessionId, laneWaitText(wait)] as const]
    })
  return { slots, runWaits: Object.fromEntries(waits) }
}

/** Of the hosts that answer, all together; nothing where none does. */
export async function standingThrough(
  hosts: readonly RunningHost[],
): Promise<Pick<WaitOptions, 'slots' | 'runWait'>> {
  const told = await Promise.all(hosts.map(ask))
  const known = told.filter((standing) => standing !== undefined)
  if (known.length === 0) return {}
  const waits = new Map(known.flatMap(({ runWaits }) => Object.entries(runWaits)))
  return { slots: known[0]?.slots, runWait: (sessionId) => waits.get(sessionId) }
}

/** `undefined` for a host that is silent, or of a version that does not know the question. */
async function ask(host: RunningHost): Promise<Standing | undefined> {
  try {
    const answer = await callHost(host, 'standing', {}, { patienceMs: PATIENCE_MS })
    return answer.ok ? checked(answer.value) : undefined
  } catch {
    // What is known without it is shown all the same.
    return undefined
  }
}

function checked(value: unknown): Standing | undefined {
  const { runWaits, slots } = (value ?? {}) as Partial<Record<keyof Standing, unknown>>
  if (!Number.isSafeInteger(slots) || typeof runWaits !== 'object' || runWaits === null) return undefined
  const texts = Object.entries(runWaits).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { slots: Number(slots), runWaits: Object.fromEntries(texts) }
}
