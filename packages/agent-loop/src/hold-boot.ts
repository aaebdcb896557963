/**
 * Keeps the boot waiting until the host is there. A row is active without the durable log, and a headless
 * profile starts its only turn as soon as the rows are: hooks of plugins would come too late for it.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import type { Context } from '@deepseek-ai/cordis'

const LOG_ROW = 'dsh-durable-log'

/** The part of a row of the Cordis loader that tells when its first start is over. */
interface Row {
  readonly options: { readonly name: string }
  readonly _initTask?: Promise<unknown>
}
interface Rows {
  entries(): Iterable<Row>
}

/**
 * Resolves when the row of the durable log has started and what waited for it is mounted; at once where
 * no such row is starting. Never rejects: whoever fails reports it.
 *
 * @param mounting the mount of the host, once it has begun.
 */
export async function holdBoot(ctx: Context, mounting: () => Promise<unknown> | undefined): Promise<void> {
  const loader = ctx.get('loader') as Rows | undefined
  const starting = [...(loader?.entries() ?? [])].flatMap(({ options, _initTask }) =>
    options.name === LOG_ROW && _initTask !== undefined ? [_initTask] : [],
  )
  if (starting.length === 0 && mounting() === undefined) return
  await Promise.allSettled(starting)
  // The service is there now; what injects it begins in the next turn of the event loop.
  await turnOfEventLoop()
  await Promise.allSettled([mounting()])
  await turnOfEventLoop()
}
