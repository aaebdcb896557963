/**
 * Whether sessions supervise graphs, for pages that show it: whoever switched it, and for whatever reason.
 * Owns: listening, and what was told. Does not own: the switch.
 */
import type { Context } from '@deepseek-ai/cordis'

interface Watch {
  readonly sessionId: string
  readonly tell: (supervised: boolean | null) => void
  told: boolean | null
}

export class SupervisedSessions {
  private readonly of: (sessionId: string) => boolean | undefined
  private readonly watches = new Set<Watch>()
  private isDue = false

  /** @param of `undefined` for a session that is not open in this process, or a child. */
  constructor(ctx: Context, of: (sessionId: string) => boolean | undefined) {
    this.of = of
    const changed = () => this.changed()
    // A session supervises when it has the tools.
    ctx.on('tools/change', changed)
    ctx.on('agent/created', changed)
    ctx.on('agent/disposed', changed)
  }

  /** Tells what is so now, and whenever it is another. @returns the undo. */
  watch(sessionId: string, tell: (supervised: boolean | null) => void): () => void {
    const watch: Watch = { sessionId, tell, told: this.of(sessionId) ?? null }
    this.watches.add(watch)
    tell(watch.told)
    return () => void this.watches.delete(watch)
  }

  close(): void {
    this.watches.clear()
  }

  /** Once for all that happens in one go, and after it: in the middle of it nothing is as it will be. */
  private changed(): void {
    if (this.isDue || this.watches.size === 0) return
    this.isDue = true
    queueMicrotask(() => {
      this.isDue = false
      for (const watch of this.watches) this.look(watch)
    })
  }

  private look(watch: Watch): void {
    const supervised = this.of(watch.sessionId) ?? null
    if (supervised === watch.told) return
    watch.told = supervised
    watch.tell(supervised)
  }
}
