import { describe, expect, it } from 'vitest'
import { type CheckedAppend, checkAppend } from '../src/checks.ts'
import { WriteBatches } from '../src/write-batches.ts'

/** A medium that notes each trip and keeps it until it is let go. */
function scripted() {
  const trips: string[] = []
  const waiting: (() => void)[] = []
  const batches = new WriteBatches(async (requests) => {
    trips.push(requests.map(({ stream }) => stream).join(' '))
    await new Promise<void>((resolve) => waiting.push(resolve))
    return requests.map((_, index) => index + 1)
  })
  const alone = (name: string) =>
    batches.alone(async () => {
      trips.push(`alone ${name}`)
    })
  const letGo = async () => {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve))
    waiting.shift()?.()
  }
  return { trips, batches, alone, letGo }
}

function request(stream: string, data: string, signal?: AbortSignal): CheckedAppend {
  return checkAppend(stream, 'any', [{ type: 'x', data }], signal === undefined ? {} : { signal })
}

describe('WriteBatches', () => {
  it('carries appends of one task together, and those that come meanwhile in the next trip', async () => {
    const { trips, batches, letGo } = scripted()
    const first = [batches.append(request('a', '')), batches.append(request('b', ''))]
    await letGo()
    const second = [batches.append(request('c', '')), batches.append(request('d', ''))]
    expect(await Promise.all(first)).toEqual([1, 2])
    await letGo()
    await Promise.all(second)
    expect(trips).toEqual(['a b', 'c d'])
    await batches.idle()
  })

  it('keeps the order of the calls around writes that go alone', async () => {
    const { trips, batches, alone, letGo } = scripted()
    const writes = [
      batches.append(request('a', '')),
      alone('x'),
      alone('y'),
      batches.append(request('b', '')),
      batches.append(request('c', '')),
    ]
    await letGo()
    await letGo()
    await Promise.all(writes)
    expect(trips).toEqual(['a', 'alone x', 'alone y', 'b c'])
  })

  it('bounds a trip by its length, which one append may exceed', async () => {
    const { trips, batches, letGo } = scripted()
    const writes = [
      batches.append(request('small', '')),
      batches.append(request('large', 'x'.repeat(2 ** 20))),
      batches.append(request('half', 'x'.repeat(2 ** 19 - 1000))),
      batches.append(request('other', 'x'.repeat(2 ** 19 - 1000))),
      ...Array.from({ length: 300 }, () => batches.append(request('s', ''))),
    ]
    for (let trip = 0; trip < 4; trip += 1) await letGo()
    await Promise.all(writes)
    expect(trips.map((trip) => trip.split(' ').length)).toEqual([1, 1, 256, 46])
  })

  it('takes a waiting append out when its signal fires, and lets one under way go on', async () => {
    const { trips, batches, letGo } = scripted()
    const underWay = new AbortController()
    const waiting = new AbortController()
    const first = batches.append(request('a', '', underWay.signal))
    await new Promise((resolve) => setImmediate(resolve))
    const second = batches.append(request('b', '', waiting.signal))
    const third = batches.append(request('c', ''))
    underWay.abort()
    waiting.abort('enough')
    await expect(second).rejects.toMatchObject({ code: 'aborted', cause: 'enough' })
    await letGo()
    await letGo()
    expect(await first).toBe(1)
    await third
    expect(trips).toEqual(['a', 'c'])
  })

  it('rejects every append of a trip that failed, and goes on with the next one', async () => {
    let isBroken = true
    const batches = new WriteBatches(async (requests) => {
      if (isBroken) throw new Error('broken')
      return requests.map(() => 7)
    })
    const outcomes = await Promise.allSettled([
      batches.append(request('a', '')),
      batches.append(request('b', '')),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    isBroken = false
    expect(await batches.append(request('c', ''))).toBe(7)
  })
})
