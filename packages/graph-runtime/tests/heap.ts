/** The heap of the test process, after everything that nothing holds is gone. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/**
 * From here on code is not compiled anew once it is hot. Compiled code lies on the heap too, some 400 KiB
 * for each thousand graph runs until all of it is compiled, and would pass for something retained.
 */
export function stopOptimizing(): void {
  for (const tier of ['sparkplug', 'maglev', 'opt']) setFlagsFromString(`--no-${tier}`)
}

const collect = runInNewContext('gc') as () => void

async function settle(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    // Weak references hold on until the end of the turn of the event loop that made or read them.
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
}

/** Bytes in use. */
export async function heapAfterGc(): Promise<number> {
  await settle()
  return process.memoryUsage().heapUsed
}

/** How many of the objects are still there. */
export async function aliveAfterGc(objects: readonly WeakRef<object>[]): Promise<number> {
  await settle()
  return objects.filter((object) => object.deref() !== undefined).length
}
