/** The newest warnings and errors of this bundle's plugins, kept in memory for `/graph doctor`. */
import { format } from 'node:util'
import type { Context } from '@deepseek-ai/cordis'

export interface RecentError {
  /** Epoch milliseconds. */
  readonly at: number
  /** The package that said it. */
  readonly from: string
  readonly text: string
}

const KEPT = 20
const TEXT_CHARS = 500
const OURS = /^(?:dsh-graph|dsh-tool-graph|dsh-durable-log|dsh-agent-loop-host|graph-runtime)/u

export class RecentErrors {
  private readonly errors: RecentError[] = []

  /** Listens to the log until `ctx` is disposed. */
  constructor(ctx: Context) {
    ctx.logger.exporter({
      // Cordis ranks warnings below infos; without a level of its own an exporter misses them.
      levels: { default: 3 },
      export: ({ args, name, ts, type }) => {
        if ((type !== 'warn' && type !== 'error') || !OURS.test(name)) return
        this.errors.push({ at: ts, from: name, text: format(...(args as unknown[])).slice(0, TEXT_CHARS) })
        if (this.errors.length > KEPT) this.errors.shift()
      },
    })
  }

  /** Oldest first. */
  list(): readonly RecentError[] {
    return [...this.errors]
  }
}
