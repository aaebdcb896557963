import type { Agent } from '@deepseek-ai/dsh-agent'
import { describe, expect, it } from 'vitest'
import { Host, inputsOf, repliesOf, settleDown, temporaryFolder, turnsOf, until, wakesOf } from './host.ts'

/** Three works: one that has ended, one under way, one that takes the results of both. */
async function midway(folder: string) {
  const host = await Host.boot({ folder })
  const root = await host.root()
  await host.add(
    root,
    { workId: 'done', instruction: 'the word is pear' },
    { workId: 'open', instruction: 'stand at gate open' },
    { workId: 'join', instruction: 'join', inputIds: ['done', 'open'] },
  )
  await host.whenWork('done', 'completed')
  await host.gates.reached('open')
  await host.ctx.sessions.flush((await host.operatorOf('open')).session)
  // The wake that tells of the first work is out of the way.
  await until(() => wakesOf(root).length === 1 && root.status === 'idle')
  await until(async () =>
    [...(await host.graph()).wakes.values()].every(({ status }) => status === 'delivered'),
  )
  return { host, root }
}

async function isFinishedBy(host: Host) {
  const root = await host.root('root', { resume: true })
  await host.gates.reached('open')
  host.gates.open('open')
  await host.whenWork('join', 'completed')
  await host.controller(root).whenQuiet()
  await until(() => root.status === 'idle')
  return root
}

/** Works that wakes told of, in order. */
function toldBy(root: Agent) {
  return wakesOf(root).flatMap(({ text }) => [...text.matchAll(/^- (\w+) completed$/gmu)].map(([, id]) => id))
}

/** Each work has one end, each accepted run has one end, each work was begun once. */
async function ledgerOf(host: Host) {
  const { graphId } = await host.graph()
  const graph = (await host.entries(`graph/${graphId}`)).map(({ type }) => type)
  const runs = (await host.ctx.durableLog.list({ prefix: 'run/', limit: 100 })).streams
  const entries = (await Promise.all(runs.map(({ stream }) => host.entries(stream)))).flat()
  const idsOf = (kind: string) =>
    entries.filter(({ type }) => type === kind).map(({ data }) => (data as { runId: string }).runId)
  return {
    begun: graph.filter((type) => type === 'begin').length,
    settled: graph.filter((type) => type === 'settle').length,
    retried: graph.filter((type) => type === 'retry').length,
    accepted: idsOf('run/accepted').toSorted(),
    ended: idsOf('run/settled').toSorted(),
  }
}

describe('a restart', () => {
  it.each([
    [
      'after a shutdown',
      async (host: Host, folder: string) => {
        await host.dispose()
        return folder
      },
    ],
    ['after a crash', (host: Host) => host.remains()],
  ])(
    '%s repeats no finished work, takes up the one under way, and delivers the wake',
    async (_title, end) => {
      const folder = await temporaryFolder()
      const first = await midway(folder)
      const operator = await first.host.sessionOf('open')
      const host = await Host.boot({ folder: await end(first.host, folder) })
      expect((await host.graph()).counts).toMatchObject({ pending: 2, terminal: 1 })
      const root = await isFinishedBy(host)
      // Two works that end close together may share a wake; each is told once.
      expect(repliesOf(root)).toEqual(wakesOf(root).map(() => 'noted the wake'))
      expect(toldBy(root)).toEqual(['done', 'open', 'join'])
      expect(host.model.of(await host.sessionOf('done'))).toEqual([])
      expect(await host.sessionOf('open')).toBe(operator)
      const { accepted, ended, ...counts } = await ledgerOf(host)
      expect(counts).toEqual({ begun: 3, settled: 3, retried: 1 })
      expect(new Set(accepted).size).toBe(accepted.length)
      expect(ended).toEqual(accepted)
      expect(host.warnings()).toEqual([])
    },
  )

  it('after a crash before the session of an operator was written makes it again under its id (scenario R6)', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder })
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await before.gates.reached('a')
    const sessionId = await before.sessionOf('a')
    // DSH writes sessions behind: nothing of the operator has reached the medium yet.
    const host = await Host.boot({ folder: await before.remains() })
    await host.root('root', { resume: true })
    await host.gates.reached('a')
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    expect(await host.sessionOf('a')).toBe(sessionId)
  })

  it('keeps what failed as it was, with its reason, and does not try it again (scenario R8)', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder })
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'break down' })
    await before.whenWork('a', 'failed')
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    const host = await Host.boot({ folder: await before.remains() })
    const again = await host.root('root', { resume: true })
    await host.controller(again).whenQuiet()
    await settleDown()
    expect(await host.work('a')).toMatchObject({ status: 'failed', reason: 'QUOTA: no money left' })
    expect(host.model.of(await host.sessionOf('a'))).toEqual([])
  })

  it('tells what ended before it to a root that was not told', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder, config: { wakeDelayMs: 60_000 } })
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'do it' })
    await before.whenWork('a', 'completed')
    await before.dispose()
    expect(wakesOf(root)).toEqual([])
    const host = await Host.boot({ folder })
    const again = await host.root('root', { resume: true })
    await until(() => turnsOf(again).join() === 'completed,completed')
    expect(wakesOf(again)).toHaveLength(1)
  })

  it('in the turn that a wake made wakes once more, for the turn that was cut off (scenario W7)', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder })
    const root = await before.root()
    await before.add(root, { workId: 'slow', instruction: 'do it' })
    await before.gates.reached('wake')
    await before.ctx.sessions.flush(root.session)
    const host = await Host.boot({ folder: await before.remains() })
    const again = await host.root('root', { resume: true })
    host.gates.open('wake')
    await until(async () => [...(await host.graph()).wakes.values()].at(-1)?.status === 'delivered')
    await settleDown()
    expect(turnsOf(again)).toEqual(['interrupted', 'completed'])
    expect(wakesOf(again)).toHaveLength(2)
    expect([...(await host.graph()).wakes.values()]).toMatchObject([{ attempts: 2 }])
  })

  it('finds the operator of an old work for a follow-up', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({
      folder,
      config: { operators: { big: { description: '', provider: 'other', model: 'big-one' } } },
    })
    const root = await before.root()
    await before.add(root, { workId: 'a', instruction: 'Note: the word is pear', agentId: 'big' })
    const { operatorId } = await before.whenWork('a', 'completed')
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    await before.dispose()

    const host = await Host.boot({
      folder,
      config: { operators: { big: { description: '', provider: 'other', model: 'bigger' } } },
    })
    const again = await host.root('root', { resume: true })
    await host.add(again, {
      workId: 'b',
      instruction: 'recall the word',
      targetKind: 'existing_operator',
      operatorId,
    })
    await host.whenWork('b', 'completed')
    const { records, works } = await host.graph()
    expect(records.get(works.get('b')?.recordIds[0] ?? '')?.summary).toBe('I recall pear')
    expect(host.model.of(await host.sessionOf('b'))[0]).toMatchObject({ provider: 'other', model: 'bigger' })
  })

  it('fails a work whose kind is gone, with its name', async () => {
    const folder = await temporaryFolder()
    const config = { operators: { big: { description: '' } } }
    const before = await Host.boot({ folder, config })
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'stand at gate a', agentId: 'big' })
    await before.gates.reached('a')
    await before.dispose()
    const host = await Host.boot({ folder })
    await host.root('root', { resume: true })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toContain('"big"')
  })

  it('runs nothing for a root that does not come back', async () => {
    const folder = await temporaryFolder()
    const first = await midway(folder)
    await first.host.dispose()
    const host = await Host.boot({ folder })
    await host.root('somebody else')
    await settleDown()
    expect(host.gates.arrivals).toEqual([])
    expect(host.model.requests).toEqual([])
    expect(inputsOf(first.root).length).toBe(1)
  })

  it('ends a work that was stopped while its run was under way', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder })
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await before.gates.reached('a')
    const { graphId } = await before.graph()
    const sessionId = await before.sessionOf('a')
    await before.unmount('graph-host')
    // Committed when nobody drives: the crash comes before the run is cancelled.
    await before.ctx.graphControl.commitScheduleUpdate({
      schemaVersion: 1,
      updateId: 'graph_update_stop',
      updateFingerprint: 'stop',
      graphId,
      source: { sessionId: root.id, runId: 'graph_run_9', turnId: 'graph_turn_9', toolCallId: 'c' },
      addWork: [],
      stop: [{ targetId: 'a', reason: 'too late' }],
    })
    const host = await Host.boot({ folder: await before.remains() })
    const again = await host.root('root', { resume: true })
    await until(async () => (await host.graph()).live.claims.size === 0)
    await until(async () => (await host.runEntries(sessionId)).at(-1) === 'run/settled')
    expect((await host.entries(`run/${sessionId}`)).at(-1)?.data).toMatchObject({ state: 'aborted' })
    expect(host.gates.arrivals).toEqual([])
    await until(() => wakesOf(again).length === 1)
  })

  it('begins no work anew that somebody has to confirm, however fast the crash came', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder })
    const root = await before.keptRoot()
    await before.add(root, { workId: 'a', instruction: 'stand at gate a', replay: 'confirm' })
    await before.gates.reached('a')
    const sessionId = await before.sessionOf('a')
    const host = await Host.boot({ folder: await before.remains() })
    await host.root('root', { resume: true })
    await until(async () => (await host.graph()).live.claims.size === 1)
    await until(async () => [...(await host.graph()).claims.values()][0]?.hold !== undefined)
    expect(host.model.of(sessionId)).toEqual([])
    expect(host.gates.arrivals).toEqual([])
  })
})
