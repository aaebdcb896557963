/** The DSH core of `core.ts` for a test: everything is taken down after it. */
import type { Context } from '@deepseek-ai/cordis'
import { memoryLog, type DurableLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { afterEach } from 'vitest'
import {
  createAgentGraphController,
  type ControllerOptions,
  type DrivingAgentGraphController,
} from '../src/index.ts'
import { bootCore } from './core.ts'

export * from './core.ts'

const cleanups: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

/** Runs after the test, in reverse order. */
export function onEnd(cleanup: () => Promise<unknown>): void {
  cleanups.push(cleanup)
}

export async function bootDsh(): Promise<Context> {
  const ctx = await bootCore()
  onEnd(() => ctx.root.fiber.dispose())
  return ctx
}

export interface Rig {
  readonly log: DurableLog
  readonly store: GraphControlStore
  readonly controller: DrivingAgentGraphController
}

/** A controller over a real store; `log` given: on what an earlier one left. */
export async function makeController(
  rootSessionId: string,
  options: ControllerOptions,
  log: DurableLog = memoryLog(),
): Promise<Rig> {
  const store = await GraphControlStore.open(log)
  const controller = createAgentGraphController({
    store,
    rootSessionId,
    options: { wakeDelayMs: 0, wakeBackoffMs: 1, ...options },
  })
  onEnd(async () => {
    await controller.dispose()
    await store.close()
  })
  return { log, store, controller }
}
