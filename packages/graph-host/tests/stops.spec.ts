import { describe, expect, it } from 'vitest'
import { Host, settleDown, temporaryFolder, turnsOf, until, wakesOf } from './host.ts'

async function twoAtWork() {
  const host = await Host.boot()
  const root = await host.root()
  await host.add(
    root,
    { workId: 'a', instruction: 'stand at gate a' },
    { workId: 'b', instruction: 'stand at gate b' },
  )
  await host.gates.reached('a')
  await host.gates.reached('b')
  return { host, root, a: await host.operatorOf('a'), b: await host.operatorOf('b') }
}

describe('a stop', () => {
  it('ends the turn of the operator as aborted, and nothing else', async () => {
    const { host, root, a, b } = await twoAtWork()
    await host.stop(root, 'a', 'changed my mind')
    expect(await host.work('a')).toMatchObject({ status: 'stopped', reason: 'changed my mind' })
    await until(() => a.status === 'idle')
    expect(turnsOf(a)).toEqual(['aborted'])
    expect(host.gates.cancelled).toEqual(['a'])
    const sessionId = await host.sessionOf('a')
    await until(async () => (await host.runEntries(sessionId)).includes('run/settled'))
    const settled = (await host.entries(`run/${sessionId}`)).at(-1)
    expect(settled?.data).toMatchObject({ state: 'aborted', error: { message: 'changed my mind' } })
    expect({ b: turnsOf(b), live: b.status }).toEqual({ b: ['open'], live: 'running' })
    host.gates.open('b')
    await host.whenWork('b', 'completed')
    expect(turnsOf(root)).not.toContain('aborted')
    expect(host.warnings()).toEqual([])
  })

  it('ends the claim after the run, so that a crash between the two leaves something to stop', async () => {
    const { host, root } = await twoAtWork()
    const sessionId = await host.sessionOf('a')
    const entries = new Promise<readonly string[]>((resolve) => {
      host.ctx.graphControl.onCommitted((state) => {
        if (state.live.claims.size === 1) resolve(host.runEntries(sessionId))
      })
    })
    await host.stop(root, 'a')
    expect((await entries).at(-1)).toBe('run/settled')
  })

  it('of the graph ends every operator', async () => {
    const { host, root, a, b } = await twoAtWork()
    const { graphId } = await host.graph()
    await host.stop(root, graphId)
    await until(() => a.status === 'idle' && b.status === 'idle')
    expect([turnsOf(a), turnsOf(b)]).toEqual([['aborted'], ['aborted']])
    expect(host.gates.cancelled.toSorted()).toEqual(['a', 'b'])
    expect((await host.graph()).counts).toEqual({ works: 2, pending: 0, terminal: 2 })
  })

  it('of an operator ends the work that it does', async () => {
    const { host, root, a } = await twoAtWork()
    await host.stop(root, (await host.work('a')).operatorId ?? '')
    await until(() => a.status === 'idle')
    expect(turnsOf(a)).toEqual(['aborted'])
    expect((await host.work('a')).status).toBe('stopped')
    expect((await host.work('b')).status).toBe('running')
  })

  it('with the longest reason that there is acts all the same', async () => {
    const { host, root, a } = await twoAtWork()
    await host.stop(root, 'a', 'x'.repeat(4_000))
    await until(() => a.status === 'idle')
    expect(turnsOf(a)).toEqual(['aborted'])
    expect(host.warnings()).toEqual([])
  })

  it.each([0, 1, 2, 3, 5, 8])(
    'that comes %i rounds after the work began leaves nothing running',
    async (rounds) => {
      const host = await Host.boot({ folder: await temporaryFolder() })
      const root = await host.root()
      // A long input, so that there is time between the beginning of the work and its run.
      await host.add(root, { workId: 'input', instruction: 'long '.repeat(10_000) })
      await host.whenWork('input', 'completed')
      const begun = new Promise<void>((resolve) => {
        host.ctx.graphControl.onCommitted(({ works }) => {
          if (works.get('w')?.status === 'running') resolve()
        })
      })
      await host.add(root, { workId: 'w', instruction: 'stand at gate w', inputIds: ['input'] })
      await begun
      for (let round = 0; round < rounds; round += 1) await new Promise((resolve) => setImmediate(resolve))
      await host.stop(root, 'w')
      const sessionId = await host.sessionOf('w')
      await until(async () => (await host.graph()).live.claims.size === 0)
      await settleDown()
      await until(() => host.ctx.agentLoopHost.lanes().every((lane) => lane.sessionId !== sessionId))
      await until(() => !host.isLive(sessionId))
      expect(host.gates.cancelled).toEqual(host.gates.arrivals)
      expect(host.warnings()).toEqual([])
    },
  )

  it('is told to the root in one wake', async () => {
    const { host, root } = await twoAtWork()
    await host.stop(root, (await host.graph()).graphId, 'enough')
    await until(() => turnsOf(root).join() === 'completed')
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
    expect(wakesOf(root)[0]?.text).toContain('a stopped: enough')
  })

  it('of a work that waits leaves its operator unborn', async () => {
    const { host, root } = await twoAtWork()
    await host.add(root, { workId: 'c', instruction: 'x', inputIds: ['a'] })
    await host.stop(root, 'c')
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    await settleDown()
    expect(await host.work('c')).toMatchObject({ status: 'stopped' })
    expect((await host.graph()).operators.size).toBe(2)
  })
})

describe('a replacement', () => {
  it('ends the turn of what it replaces and runs in its place', async () => {
    const { host, root, a } = await twoAtWork()
    await host.add(root, { workId: 'a2', instruction: 'do it better', replaces: 'a' })
    await host.whenWork('a2', 'completed')
    expect((await host.work('a')).status).toBe('superseded')
    await until(() => a.status === 'idle')
    expect(turnsOf(a)).toEqual(['aborted'])
  })
})
