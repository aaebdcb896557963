import { describe, expect, it } from 'vitest'
import {
  type DurableLog,
  type DurableLogError,
  type Lease,
  leaseStore,
  memoryLog,
  type Processes,
  type ProcessIdentity,
  type ProcessState,
} from '../src/index.ts'
import { faultyLog, type FaultPlan } from '../src/testing/index.ts'

const TTL_MS = 60_000
const ROOT = 'root-1'
const STREAM = `lease/${ROOT}`

const identity = (pid: number): ProcessIdentity => ({
  pid,
  startedAt: String(pid * 100),
  bootId: 'boot',
  machineId: 'machine',
  pidSpace: 'space',
})

/** Two clocks that tests move. */
function scriptedClock() {
  const time = { now: 1_000_000_000_000, monotonic: 5_000 }
  return {
    time,
    clock: { now: () => time.now, monotonic: () => time.monotonic },
    advance: (ms: number) => {
      time.now += ms
      time.monotonic += ms
    },
  }
}

/** One log, one clock, and any number of processes on it. */
function setUp(plan: FaultPlan = []) {
  const inner = memoryLog()
  const log: DurableLog = faultyLog(inner, plan)
  const { time, clock, advance } = scriptedClock()
  const states = new Map<number, ProcessState>()
  const processesOf = (pid: number): Processes => ({
    self: identity(pid),
    stateOf: (process) => states.get(process.pid) ?? 'alive',
  })
  const storeOf = (holderId: string, pid: number, own = log) =>
    leaseStore({ log: own, holderId, ttlMs: TTL_MS, clock, processes: processesOf(pid) })
  return {
    inner,
    log,
    time,
    advance,
    states,
    storeOf,
    first: storeOf('first', 1),
    second: storeOf('second', 2),
  }
}

function expectLost(lease: Lease): void {
  expect(lease.isHeld()).toBe(false)
  expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'lease-lost' }))
}

describe('acquiring a lease', () => {
  it('is granted when nobody holds it, and recorded with holder, process and epoch', async () => {
    const { log, first, time } = setUp()
    const lease = await first.acquire(ROOT)
    expect(lease.isHeld()).toBe(true)
    expect(lease.assertHeld()).toEqual({ rootSessionId: ROOT, epoch: 1, holderId: 'first' })
    expect(lease.deadlineAt).toBe(time.now + TTL_MS)
    const [entry] = await log.read(STREAM)
    expect(entry).toMatchObject({
      type: 'lease/acquired',
      data: { format: 1, epoch: 1, holderId: 'first', process: identity(1), acquiredAt: time.now },
    })
  })

  it('is refused to a second live holder, naming the first one', async () => {
    const { first, second } = setUp()
    await first.acquire(ROOT)
    await expect(second.acquire(ROOT)).rejects.toMatchObject({
      code: 'lease-held',
      stream: STREAM,
      holder: { holderId: 'first', process: identity(1) },
      message: expect.stringMatching(/first \(process 1\)/) as string,
    })
    expect((await second.acquire('root-2')).epoch).toBe(1)
  })

  it('is granted to exactly one of many at once', async () => {
    const { storeOf } = setUp()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => storeOf(`h${index}`, index + 1).acquire(ROOT)),
    )
    const codes = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? 'held' : (outcome.reason as DurableLogError).code,
    )
    expect(codes.toSorted()).toEqual(['held', ...Array.from({ length: 9 }, () => 'lease-held')])
  })

  it('passes on after a release, with the next epoch', async () => {
    const { first, second } = setUp()
    const lease = await first.acquire(ROOT)
    await lease.release()
    await lease.release()
    expectLost(lease)
    expect(await second.read(ROOT)).toBeUndefined()
    expect((await second.acquire(ROOT)).epoch).toBe(2)
    await lease.release()
    expect(await first.read(ROOT)).toMatchObject({ epoch: 2, holderId: 'second' })
  })

  it('passes on at once when the process of the holder is dead', async () => {
    const { first, second, states } = setUp()
    const lease = await first.acquire(ROOT)
    states.set(1, 'dead')
    expect(await second.read(ROOT)).toBeUndefined()
    expect((await second.acquire(ROOT)).epoch).toBe(2)
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease-lost', holder: { holderId: 'second' } })
    expectLost(lease)
  })

  it('passes on when the deadline of a live holder has passed, who stops believing in it then', async () => {
    const { first, second, advance } = setUp()
    const lease = await first.acquire(ROOT)
    advance(TTL_MS - 1)
    expect(lease.isHeld()).toBe(true)
    await expect(second.acquire(ROOT)).rejects.toMatchObject({ code: 'lease-held' })
    advance(1)
    expectLost(lease)
    expect((await second.acquire(ROOT)).epoch).toBe(2)
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease-lost' })
  })

  it('waits a little longer for a holder on another machine, whose clock may differ', async () => {
    const { first, second, advance, states } = setUp()
    await first.acquire(ROOT)
    states.set(1, 'unknown')
    advance(TTL_MS)
    await expect(second.acquire(ROOT)).rejects.toMatchObject({ code: 'lease-held' })
    advance(5_000)
    expect((await second.acquire(ROOT)).epoch).toBe(2)
  })

  it('is granted again to the same holder in the same process, and its older handle is lost', async () => {
    const { first, storeOf } = setUp()
    const older = await first.acquire(ROOT)
    const newer = await first.acquire(ROOT)
    expectLost(older)
    expect(newer.epoch).toBe(2)
    await older.release()
    expect(newer.isHeld()).toBe(true)
    expect((await storeOf('first', 1).acquire(ROOT)).epoch).toBe(3)
    await expect(storeOf('first', 2).acquire(ROOT)).rejects.toMatchObject({ code: 'lease-held' })
  })

  it.each(['', 'a\nb', '\ud800', 'x'.repeat(501), undefined, 7])(
    'refuses the root session id %o',
    async (id) => {
      const { first, log } = setUp()
      await expect(first.acquire(id as string)).rejects.toMatchObject({ code: 'invalid' })
      expect(await log.list()).toEqual({ streams: [] })
    },
  )

  it.each([{ holderId: '' }, { holderId: 'x'.repeat(201) }, { ttlMs: 0 }, { ttlMs: 0.5 }])(
    'refuses the options %o',
    (options) => {
      expect(() => leaseStore({ log: memoryLog(), ...options })).toThrow(
        expect.objectContaining({ code: 'invalid' }),
      )
    },
  )
})

describe('holding a lease', () => {
  it('moves the deadline with each renewal', async () => {
    const { first, second, advance, time } = setUp()
    const lease = await first.acquire(ROOT)
    for (let n = 0; n < 5; n += 1) {
      advance(TTL_MS - 1)
      await lease.renew()
      expect(lease.deadlineAt).toBe(time.now + TTL_MS)
    }
    expect(lease.assertHeld().epoch).toBe(1)
    await expect(second.acquire(ROOT)).rejects.toMatchObject({ code: 'lease-held' })
  })

  it('is renewed after the deadline while nobody else took it', async () => {
    const { first, advance } = setUp()
    const lease = await first.acquire(ROOT)
    advance(TTL_MS * 2)
    expectLost(lease)
    await lease.renew()
    expect(lease.assertHeld().epoch).toBe(1)
  })

  it('ends for the holder when the system clock is set back, by the clock that cannot be', async () => {
    const { first, time } = setUp()
    const lease = await first.acquire(ROOT)
    time.now -= 3_600_000
    time.monotonic += TTL_MS - 1
    expect(lease.isHeld()).toBe(true)
    time.monotonic += 1
    expectLost(lease)
  })

  it('counts from before the write, however long that took', async () => {
    const { advance, storeOf, inner } = setUp()
    const slow = faultyLog(inner, [{ at: 'before-append', fault: 'call', call: () => advance(TTL_MS) }])
    const lease = await storeOf('slow', 3, slow).acquire(ROOT)
    expect(lease.isHeld()).toBe(false)
  })

  it('goes on after a renewal whose answer was lost', async () => {
    const { first, inner } = setUp([{ at: 'after-append', when: 2, fault: 'fail' }])
    const lease = await first.acquire(ROOT)
    await expect(lease.renew()).rejects.toMatchObject({ code: 'unavailable' })
    expect(lease.isHeld()).toBe(true)
    await lease.renew()
    await lease.release()
    expect((await inner.read(STREAM)).map(({ type }) => type)).toEqual([
      'lease/acquired',
      'lease/renewed',
      'lease/renewed',
      'lease/released',
    ])
  })

  it('keeps the old deadline when a renewal fails', async () => {
    const { first, advance } = setUp([{ at: 'before-append', when: 2, fault: 'fail' }])
    const lease = await first.acquire(ROOT)
    advance(TTL_MS - 1)
    await expect(lease.renew()).rejects.toMatchObject({ code: 'unavailable' })
    expect(lease.isHeld()).toBe(true)
    advance(1)
    expectLost(lease)
  })

  it('takes its own acquisition over when the answer to it was lost', async () => {
    const { first } = setUp([{ at: 'after-append', when: 1, fault: 'fail' }])
    await expect(first.acquire(ROOT)).rejects.toMatchObject({ code: 'unavailable' })
    expect((await first.acquire(ROOT)).epoch).toBe(2)
  })

  it.each(['before-append', 'after-append'] as const)(
    'gives the lease back in a second try when the release failed %s',
    async (at) => {
      const { first, second } = setUp([{ at, when: 2, fault: 'fail' }])
      const lease = await first.acquire(ROOT)
      await expect(lease.release()).rejects.toMatchObject({ code: 'unavailable' })
      expectLost(lease)
      await lease.release()
      expect((await second.acquire(ROOT)).epoch).toBe(2)
    },
  )

  it('ends at once for the holder with the call of release, before any renewal that waits', async () => {
    const { first, inner } = setUp()
    const lease = await first.acquire(ROOT)
    const renewals = Promise.allSettled([lease.renew(), lease.renew()])
    const release = lease.release()
    expectLost(lease)
    await release
    await renewals
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease-lost' })
    expect((await inner.read(STREAM)).at(-1)?.type).toBe('lease/released')
  })
})

describe('lease stream', () => {
  it('is read from its newest snapshot on', async () => {
    const { first, second, inner } = setUp()
    const lease = await first.acquire(ROOT)
    for (let n = 0; n < 70; n += 1) await lease.renew()
    expect((await inner.loadSnapshot(STREAM))?.seq).toBe(64)
    await expect(second.acquire(ROOT)).rejects.toMatchObject({ holder: { holderId: 'first' } })
    await lease.release()
    expect((await second.acquire(ROOT)).epoch).toBe(2)
  })

  it('is read from its beginning when the snapshot cannot be used', async () => {
    const { first, second, inner } = setUp()
    const lease = await first.acquire(ROOT)
    for (let n = 0; n < 40; n += 1) await lease.renew()
    await inner.saveSnapshot(STREAM, 40, { epoch: 'x' })
    await expect(second.acquire(ROOT)).rejects.toMatchObject({ holder: { holderId: 'first' } })
  })

  it.each([
    { type: 'lease/stolen', data: { format: 1, epoch: 1 } },
    { type: 'lease/acquired', data: { format: 2, epoch: 1 } },
    { type: 'lease/acquired', data: { format: 1, epoch: 2, holderId: 'x', process: { ...identity(1) } } },
    { type: 'lease/acquired', data: { format: 1, epoch: 1, holderId: 'x', process: { pid: -1 } } },
    { type: 'lease/renewed', data: { format: 1, epoch: 0, deadlineAt: 9 } },
    { type: 'lease/released', data: null },
  ])('is refused as corrupt when it begins with %o', async (entry) => {
    const { first, inner } = setUp()
    await inner.append(STREAM, 0, [entry])
    await expect(first.acquire(ROOT)).rejects.toMatchObject({ code: 'corrupt', stream: STREAM, seq: 1 })
    expect(await inner.read(STREAM)).toHaveLength(1)
  })

  it('takes a deadline that is no time for one that has passed', async () => {
    const { first, inner } = setUp()
    await inner.append(STREAM, 0, [
      {
        type: 'lease/acquired',
        data: { format: 1, epoch: 1, holderId: 'x', process: { ...identity(9) }, deadlineAt: 1e300 },
      },
    ])
    expect((await first.acquire(ROOT)).epoch).toBe(2)
  })
})
