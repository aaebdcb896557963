import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Subscriptions } from '../src/subscriptions.ts'

const nextMacrotask = () => new Promise((resolve) => setImmediate(resolve))

describe('Subscriptions', () => {
  it('tells only the newest head of a stream, after the current task', async () => {
    const subscriptions = new Subscriptions()
    const told: unknown[] = []
    subscriptions.add('a', (head) => told.push(head))
    subscriptions.announce('a/1', 1)
    subscriptions.announce('a/1', 3)
    subscriptions.announce('a/1', 2)
    subscriptions.announce('b', 1)
    expect(told).toEqual([])
    await nextMacrotask()
    expect(told).toEqual([{ stream: 'a/1', seq: 3 }])
  })

  it('tells a removal before the newest head that followed it, and nothing of what it removed', async () => {
    const subscriptions = new Subscriptions()
    const told: unknown[] = []
    subscriptions.add('', (head) => told.push(head))
    for (const seq of [7, 0, 2, 3]) subscriptions.announce('a', seq)
    for (const seq of [4, 0]) subscriptions.announce('b', seq)
    await nextMacrotask()
    expect(told).toEqual([
      { stream: 'a', seq: 0 },
      { stream: 'a', seq: 3 },
      { stream: 'b', seq: 0 },
    ])
  })

  it('contains a listener that throws or rejects and warns about it', async () => {
    const subscriptions = new Subscriptions()
    const told: number[] = []
    const warnings: string[] = []
    const collect = (warning: Error) => void warnings.push(`${warning.name}: ${warning.message}`)
    process.on('warning', collect)
    subscriptions.add('a', () => {
      throw new Error('thrown')
    })
    subscriptions.add('', async () => {
      throw new Error('rejected')
    })
    subscriptions.add('', ({ seq }) => told.push(seq))
    subscriptions.announce('a', 1)
    await once(process, 'warning')
    while (warnings.length < 2) await nextMacrotask()
    process.off('warning', collect)
    expect(told).toEqual([1])
    expect(warnings.toSorted()).toEqual([
      'DurableLogWarning: a listener of "" failed: Error: rejected',
      'DurableLogWarning: a listener of "a" failed: Error: thrown',
    ])
  })

  it('does not call a listener that another one removed', async () => {
    const subscriptions = new Subscriptions()
    const told: string[] = []
    subscriptions.add('', () => removeSecond())
    const removeSecond = subscriptions.add('', () => told.push('second'))
    subscriptions.announce('a', 1)
    await nextMacrotask()
    expect(told).toEqual([])
  })

  it('tells what is known when it closes, and nothing later', async () => {
    const subscriptions = new Subscriptions()
    const told: number[] = []
    subscriptions.add('', ({ seq }) => told.push(seq))
    subscriptions.announce('a', 1)
    subscriptions.close()
    expect(told).toEqual([1])
    subscriptions.announce('a', 2)
    await nextMacrotask()
    expect(told).toEqual([1])
  })
})
