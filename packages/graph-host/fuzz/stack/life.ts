/**
 * The life of one simulated process. Whatever outlives processes is reached through its life: once it
 * is over nothing answers any more, as nothing does for a process that was killed.
 */

/** Where in the life of a process it is to die: at its n-th write, before or after that is stored. */
export interface Death {
  readonly atWrite: number
  readonly isStored: boolean
}

export class Life {
  private readonly death: Death | undefined
  private writes = 0
  private over = false

  constructor(death?: Death) {
    this.death = death
  }

  get isOver(): boolean {
    return this.over
  }

  /** The process is killed here and now. */
  end(): void {
    this.over = true
  }

  /** Does it while the process lives; otherwise never settles. */
  async during<T>(operate: () => Promise<T>): Promise<T> {
    if (this.over) return never()
    const result = await operate()
    return this.over ? never() : result
  }

  /** As {@link during}, for what is stored: here processes die. */
  async write<T>(store: () => Promise<T>): Promise<T> {
    if (this.over) return never()
    this.writes += 1
    const isLast = this.writes === this.death?.atWrite
    if (isLast && this.death?.isStored !== true) {
      this.over = true
      return never()
    }
    const stored = store()
    if (isLast) this.over = true
    const result = await stored
    return this.over ? never() : result
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined)
}
