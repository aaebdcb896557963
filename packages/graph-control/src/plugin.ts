/**
 * The plugin row: one store on `ctx.durableLog`, provided as `ctx.graphControl`.
 */
import type { Context } from '@deepseek-ai/cordis'
import z from '@deepseek-ai/schemastery'
import { mountOnce, warnWhenMissing } from '@dsh-graph/plugin-mount'
import { GraphControlStore } from './store.ts'

const PACKAGE = 'dsh-graph-control'

export const name = 'graph-control'

export const inject: readonly string[] = []

/** Nothing to configure: where graphs are kept is the durable log's to say. */
export type Config = Record<string, never>
export const Config = z.object({})

export async function apply(ctx: Context): Promise<void> {
  warnWhenMissing(ctx, PACKAGE, ['durableLog'], 'agent graphs are not kept; add the row dsh-durable-log')
  await mountOnce(ctx, PACKAGE, ['durableLog'], (live) => provideStore(live))
}

/** Undone in reverse: the service is withdrawn, then the store finishes what is under way. */
async function* provideStore(ctx: Context): AsyncGenerator<() => unknown> {
  const logger = ctx.logger(PACKAGE)
  const store = await GraphControlStore.open(ctx.durableLog, {
    report: (error) => logger.warn(error instanceof Error ? error.message : String(error)),
  })
  yield () => store.close()
  yield ctx.provide('graphControl', store)
}
