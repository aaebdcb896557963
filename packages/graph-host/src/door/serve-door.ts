/** Opens the door of a host and tells of it, for as long as the context lives. */
import type { Context } from '@deepseek-ai/cordis'
import { systemProcesses } from 'dsh-durable-log'
import { textOfError } from '../errors.ts'
import { openDoor, type DoorOperations } from './door-server.ts'
import { writeRunFile } from './run-file.ts'

export interface ServeDoorDeps {
  readonly ctx: Context
  readonly folder: string
  readonly version: string
  readonly operations: DoorOperations
}

/** Never fails: a host without a door is a host all the same, and says why. */
export function serveDoor(deps: ServeDoorDeps): void {
  const { ctx } = deps
  // The row need not wait for a port, but its end waits for what was begun.
  const serving = open(deps).catch((error: unknown) => {
    ctx.logger('dsh-graph-host').warn('%s', `dsh-graph cannot act through this host: ${textOfError(error)}`)
    return undefined
  })
  ctx.effect(() => async () => (await serving)?.(), 'door of the graph host')
}

/** @returns closes the door and takes its run file away. */
async function open({ folder, operations, version }: ServeDoorDeps): Promise<() => Promise<void>> {
  const door = await openDoor(operations)
  try {
    const { port, token } = door
    const { self } = systemProcesses()
    const remove = writeRunFile(folder, { process: self, port, token, startedAt: Date.now(), version })
    // A process may end without disposing of anything; its file goes all the same.
    process.once('exit', remove)
    return async () => {
      process.off('exit', remove)
      remove()
      await door.close()
    }
  } catch (error) {
    await door.close()
    throw error
  }
}
