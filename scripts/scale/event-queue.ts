/** Events of a simulation in the order of their times; of equal times, in the order in which they were put. */
export class EventQueue {
  private times = new Float64Array(1024)
  private orders = new Float64Array(1024)
  private codes = new Float64Array(1024)
  private count = 0
  private puts = 0

  get isEmpty(): boolean {
    return this.count === 0
  }

  /** When the next event is; `Infinity` without one. */
  get nextAt(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : (this.times[0] as number)
  }

  /** @param code what happens, a whole number below 2^53. */
  put(time: number, code: number): void {
    if (this.count === this.times.length) this.grow()
    const { codes, orders, times } = this
    const order = (this.puts += 1)
    let at = this.count
    this.count += 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const parentTime = times[parent] as number
      if (parentTime < time || (parentTime === time && (orders[parent] as number) < order)) break
      times[at] = parentTime
      orders[at] = orders[parent] as number
      codes[at] = codes[parent] as number
      at = parent
    }
    times[at] = time
    orders[at] = order
    codes[at] = code
  }

  /** Takes the next event out. @returns its code; -1 without one. */
  take(): number {
    if (this.count === 0) return -1
    const { codes, orders, times } = this
    const taken = codes[0] as number
    this.count -= 1
    const last = this.count
    const [time, order, code] = [times[last] as number, orders[last] as number, codes[last] as number]
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= last) break
      if (child + 1 < last && this.isBefore(child + 1, child)) child += 1
      const childTime = times[child] as number
      if (time < childTime || (time === childTime && order < (orders[child] as number))) break
      times[at] = childTime
      orders[at] = orders[child] as number
      codes[at] = codes[child] as number
      at = child
    }
    times[at] = time
    orders[at] = order
    codes[at] = code
    return taken
  }

  private isBefore(left: number, right: number): boolean {
    const [a, b] = [this.times[left] as number, this.times[right] as number]
    return a < b || (a === b && (this.orders[left] as number) < (this.orders[right] as number))
  }

  private grow(): void {
    const grown = (old: Float64Array<ArrayBuffer>) => {
      const bigger = new Float64Array(old.length * 2)
      bigger.set(old)
      return bigger
    }
    this.times = grown(this.times)
    this.orders = grown(this.orders)
    this.codes = grown(this.codes)
  }
}

/** Whole numbers, first in, first out. */
export class Line {
  private items = new Float64Array(8)
  private first = 0
  length = 0

  push(item: number): void {
    const { items, length } = this
    if (length === items.length) {
      const bigger = new Float64Array(length * 2)
      for (let at = 0; at < length; at += 1) bigger[at] = items[(this.first + at) % length] as number
      this.items = bigger
      this.first = 0
    }
    this.items[(this.first + this.length) % this.items.length] = item
    this.length += 1
  }

  /** -1 when nothing waits. */
  shift(): number {
    if (this.length === 0) return -1
    const item = this.items[this.first] as number
    this.first = (this.first + 1) % this.items.length
    this.length -= 1
    return item
  }
}
