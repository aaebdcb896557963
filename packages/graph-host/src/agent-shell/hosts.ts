/** The running hosts that a command can ask, the newest first; one that is silent is passed over. */
import { callHost, DoorRefusal, streamFromHost } from '../door/door-client.ts'
import type { RunningHost } from '../door/run-file.ts'
import { ShellError } from '../shell/shell-error.ts'
import { AGENT_EXIT, refusedBy } from './exits.ts'

export class AgentHosts {
  private readonly hosts: readonly RunningHost[]

  /** @param pid one of them only. */
  constructor(hosts: readonly RunningHost[], pid: number | undefined) {
    this.hosts = pid === undefined ? hosts : hosts.filter(({ process }) => process.pid === pid)
  }

  get areThere(): boolean {
    return this.hosts.length > 0
  }

  /**
   * @param waitMs how long the host may take beyond an ordinary answer.
   * @throws ShellError what a host refuses with, or that none answers.
   */
  async ask<T>(operation: string, args: object, waitMs = 0): Promise<T> {
    for (const host of this.hosts) {
      const answer = await callHost(host, operation, args, { waitMs }).catch(() => undefined)
      if (answer === undefined) continue
      if (answer.ok) return answer.value as T
      throw refusedBy(answer.error.code, answer.error.message)
    }
    throw nobody()
  }

  /** @throws as {@link ask}. */
  async *stream<T>(operation: string, args: object, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
    for (const host of this.hosts) {
      let hasBegun = false
      try {
        for await (const value of streamFromHost(host, operation, args, signal)) {
          hasBegun = true
          yield value as T
        }
        return
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof DoorRefusal) throw refusedBy(error.code, error.message)
        if (hasBegun) throw new ShellError(AGENT_EXIT.noHost, 'host-gone', 'the host has gone')
      }
    }
    throw nobody()
  }
}

function nobody(): ShellError {
  return new ShellError(
    AGENT_EXIT.noHost,
    'no-host',
    'no DSH with the agent-loop host answers on this home; start one, or name its --home',
  )
}
