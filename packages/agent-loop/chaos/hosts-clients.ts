/**
 * Who asks a fleet for runs: each request is sent until some host has acknowledged it, as a client does
 * that a host does not answer. Knows what was acknowledged, and that is all it knows.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { RunRequest } from '../src/index.ts'
import { type Host, HostRefusal } from './host-fleet.ts'
import { PROVIDER } from './host-process.ts'
import type { Abort, Ask } from './hosts-plan.ts'

/** A request that was acknowledged. */
export interface Acknowledged {
  readonly ask: Ask
  /** What each acknowledgement said; they must all be the same. */
  readonly runIds: ReadonlySet<string>
}

/** A host that does not answer for so long is left to itself. */
const PATIENCE_MS = 4_000
const RETRY_MS = 200
/** Refusals that pass. */
const PASSING: ReadonlySet<string> = new Set(['busy', 'unavailable', 'closed', 'draining', ''])

export function textOf({ index, takesMs }: Ask): string {
  return `number ${index} takes ${takesMs}`
}

export function sessionKeyOf(session: number): string {
  return `session ${session}`
}

export function requestOf(ask: Ask, folder: string): RunRequest {
  return {
    sessionKey: sessionKeyOf(ask.session),
    message: textOf(ask),
    idempotencyKey: `key ${ask.index}`,
    queueMode: ask.mode,
    lane: ask.lane,
    model: { provider: PROVIDER, model: 'm' },
    cwd: folder,
  }
}

export class Clients {
  readonly acknowledged: Acknowledged[] = []
  /** Refusals that must not be. */
  readonly problems: string[] = []
  private readonly hosts: readonly Host[]
  private readonly folder: string

  constructor(hosts: readonly Host[], folder: string) {
    this.hosts = hosts
    this.folder = folder
  }

  /** Resolves when the request is acknowledged. */
  async ask(ask: Ask, signal: AbortSignal): Promise<void> {
    const [first = 0, second = 0] = ask.hosts
    const ways = ask.twice ? [first, second] : [first]
    const runIds = await Promise.all(ways.map((host) => this.askUntilHeard(ask, host, signal)))
    this.acknowledged.push({ ask, runIds: new Set(runIds) })
  }

  /** Once, at one host; what comes of it is the host's to say. */
  async abort({ index, host }: Abort): Promise<void> {
    const [runId] = this.acknowledged.find(({ ask }) => ask.index === index)?.runIds ?? []
    if (runId === undefined) return
    const order = this.hosts[host]?.order({ kind: 'abort', runId })
    await Promise.race([order?.catch(() => undefined), pause(PATIENCE_MS, undefined, { ref: false })])
  }

  private async askUntilHeard(ask: Ask, from: number, signal: AbortSignal): Promise<string> {
    for (let turn = from; ; turn += 1) {
      signal.throwIfAborted()
      const host = this.hosts[turn % this.hosts.length]
      const request = requestOf(ask, this.folder)
      try {
        const answer = await Promise.race([
          host?.order({ kind: 'accept', request }),
          pause(PATIENCE_MS, undefined, { ref: false }),
        ])
        if (answer?.runId !== undefined) return answer.runId
      } catch (error) {
        const code = error instanceof HostRefusal ? error.code : ''
        if (!PASSING.has(code)) {
          this.problems.push(`request ${ask.index} was refused as ${code}: ${(error as Error).message}`)
        }
        await pause(RETRY_MS)
      }
    }
  }
}
