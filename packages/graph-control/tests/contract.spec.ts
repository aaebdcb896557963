import { kvUnitLog, memoryLog } from 'dsh-durable-log'
import { memoryKvUnit } from 'dsh-durable-log/testing'
import { describe, it } from 'vitest'
import { GraphControlStore } from '../src/index.ts'
import { graphControlStoreContract, graphStoreOnLog } from '../src/testing/index.ts'

graphControlStoreContract(
  { describe, it },
  'memory',
  graphStoreOnLog(() => {
    const log = memoryLog()
    // The medium is the object itself; nothing of it survives the process.
    return { log, reopen: async () => log }
  }),
)

graphControlStoreContract(
  { describe, it },
  'a storage unit, left open as a crash leaves it',
  graphStoreOnLog(() => {
    const unit = memoryKvUnit()
    return { log: kvUnitLog(unit), reopen: async () => kvUnitLog(unit.reopen()) }
  }),
)

graphControlStoreContract({ describe, it }, 'opened on a storage unit itself', async () => {
  const unit = memoryKvUnit()
  return {
    store: await GraphControlStore.open(unit),
    reopen: async () => GraphControlStore.open(unit.reopen()),
  }
})
