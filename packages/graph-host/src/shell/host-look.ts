/** Looking at graphs through a running host, which may keep them where no file is. */
import { callHost } from '../door/door-client.ts'
import type { RunningHost } from '../door/run-file.ts'
import type { Look } from '../board/look.ts'
import type { ShellRequest } from './arguments.ts'
import type { Answer } from './read-commands.ts'
import { EXIT, refusalOf, ShellError } from './shell-error.ts'

/**
 * Asks the hosts one after the other, the newest first; one that does not have the graph, or is silent,
 * is passed over.
 *
 * @returns nothing where no host runs.
 * @throws ShellError what the last one refused with.
 */
export async function lookThroughHosts(
  hosts: readonly RunningHost[],
  { all, before, command, format, limit, open, root, words }: ShellRequest,
  look: Look,
): Promise<Answer | undefined> {
  const args = { command, words, all, open, root, format, before, limit, look }
  let refusal: ShellError | undefined
  for (const host of hosts) {
    try {
      const answer = await callHost(host, 'look', args)
      if (answer.ok) return answer.value as Answer
      refusal = refusalOf(answer.error.code, answer.error.message)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      refusal ??= new ShellError(
        EXIT.noHost,
        'host-silent',
        `host ${host.process.pid} does not answer: ${why}`,
      )
    }
  }
  if (refusal !== undefined) throw refusal
  return undefined
}
