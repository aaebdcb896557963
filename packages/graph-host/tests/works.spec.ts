import { describe, expect, it } from 'vitest'
import { SessionId } from '@deepseek-ai/dsh-session'
import { Host, inputsOf, repliesOf, settleDown, temporaryFolder, turnsOf, until, wakesOf } from './host.ts'

const GATED = (...names: string[]) =>
  names.map((name) => ({ workId: name, instruction: `stand at gate ${name}` }))

describe('works of a graph', () => {
  it('run side by side, and the one that joins them gets their results', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, ...GATED('a', 'b'), { workId: 'c', instruction: 'join', inputIds: ['a', 'b'] })
    await host.gates.reached('a')
    await host.gates.reached('b')
    expect(await host.work('c')).toMatchObject({ status: 'waiting', waitingFor: ['a', 'b'] })
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    expect((await host.work('c')).status).toBe('waiting')
    host.gates.open('b')
    await host.whenWork('c', 'completed')
    const [prompt] = inputsOf(await host.operatorOf('c'))
    const { records, works } = await host.graph()
    for (const input of ['a', 'b']) {
      const [recordId = ''] = works.get(input)?.recordIds ?? []
      expect(records.get(recordId)?.summary).toBe('passed the gate')
      expect(prompt?.text).toContain(
        `<input work="${input}" record="${recordId}">\npassed the gate\n</input>`,
      )
    }
    expect(host.warnings()).toEqual([])
  })

  it('are at most as many at once as the settings say', async () => {
    const host = await Host.boot({ config: { maxNewActivations: 2 } })
    const root = await host.root()
    await host.add(root, ...GATED('a', 'b', 'c'))
    await host.gates.reached('a')
    await host.gates.reached('b')
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a', 'b'])
    host.gates.open('b')
    await host.gates.reached('c')
    expect((await host.work('a')).status).toBe('running')
  })

  it('take no slot of the lane on which roots and persons run', async () => {
    const host = await Host.boot()
    const root = await host.root()
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    await host.add(root, ...GATED(...names))
    for (const name of names) await host.gates.reached(name)
    host.gates.open('a')
    await until(() => wakesOf(root).length === 1)
    const lanes = host.ctx.agentLoopHost.metrics().map(({ lane, started }) => [lane, started])
    expect(lanes).toEqual(
      expect.arrayContaining([
        ['main', 1],
        ['subagent', 8],
      ]),
    )
  })

  it('leave the whole conclusion to be read back', async () => {
    const host = await Host.boot()
    const root = await host.root()
    const words = 'long '.repeat(1_000).trim()
    await host.add(root, { workId: 'a', instruction: words })
    const { recordIds } = await host.whenWork('a', 'completed')
    const { graphId } = await host.graph()
    const page = await host.ctx.graphControl.readResult(graphId, recordIds[0] ?? '')
    expect(page.text).toBe(`result of "${words}"`)
  })

  it('of two roots know nothing of one another', async () => {
    const host = await Host.boot()
    const [one, two] = [await host.root('one'), await host.root('two')]
    await host.add(one, ...GATED('a'))
    await host.add(two, { workId: 'a', instruction: 'do it' })
    await host.whenWork('a', 'completed', 'two')
    await until(() => wakesOf(two).length === 1)
    expect((await host.work('a', 'one')).status).toBe('running')
    expect(await host.sessionOf('a', 'one')).not.toBe(await host.sessionOf('a', 'two'))
    expect(wakesOf(one)).toEqual([])
  })
})

describe('a work that fails', () => {
  it('keeps code and text of the failure of its model, and wakes the root once (scenario R4)', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'break down' }, ...GATED('b'))
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toBe('QUOTA: no money left')
    await until(() => turnsOf(root).join() === 'completed')
    expect(wakesOf(root)).toHaveLength(1)
    expect(wakesOf(root)[0]?.text).toContain('a failed: QUOTA: no money left')
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
    expect((await host.work('b')).status).toBe('running')
  })

  it('skips what waits for it', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(
      root,
      { workId: 'a', instruction: 'break down' },
      { workId: 'b', instruction: 'x', inputIds: ['a'] },
    )
    expect(await host.whenWork('b', 'skipped')).toMatchObject({ reason: 'input a failed' })
  })

  it('ends with run-timeout when its operator passes the deadline', async () => {
    const host = await Host.boot({ config: { operatorTimeoutMs: 1_000 } })
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'never answer' })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toBe('run-timeout: the run passed its deadline of 1000 ms')
    const operator = await host.operatorOf('a')
    await until(() => operator.status === 'idle')
    expect(turnsOf(operator)).toEqual(['aborted'])
    await until(() => wakesOf(root).length === 1)
  })
})

describe('a follow-up on an operator', () => {
  const followUp = async (host: Host, root: Awaited<ReturnType<Host['root']>>) => {
    await host.add(root, { workId: 'a', instruction: 'Note: the word is pear' })
    const { operatorId } = await host.whenWork('a', 'completed')
    return {
      sessionId: await host.sessionOf('a'),
      ask: (workId: string, instruction: string) =>
        host.add(root, { workId, instruction, targetKind: 'existing_operator', operatorId }),
    }
  }

  it('finds the session resumed with its history where sessions are kept', async () => {
    const host = await Host.boot({ folder: await temporaryFolder() })
    const root = await host.root()
    const { ask, sessionId } = await followUp(host, root)
    await until(() => !host.isLive(sessionId))
    await ask('b', 'recall the word')
    await host.whenWork('b', 'completed')
    expect(await host.sessionOf('b')).toBe(sessionId)
    const { records, works } = await host.graph()
    expect(records.get(works.get('b')?.recordIds[0] ?? '')?.summary).toBe('I recall pear')
    await until(() => !host.isLive(sessionId))
    expect(host.warnings()).toEqual([])
  })

  it('finds the session live with its history where sessions are not kept', async () => {
    const host = await Host.boot()
    const root = await host.root()
    const { ask, sessionId } = await followUp(host, root)
    await settleDown()
    const operator = host.ctx.agents.get(SessionId(sessionId))
    await ask('b', 'recall the word')
    await host.whenWork('b', 'completed')
    expect(host.ctx.agents.get(SessionId(sessionId))).toBe(operator)
    expect(operator && repliesOf(operator)).toEqual(['result of "Note: the word is pear"', 'I recall pear'])
  })

  it('keeps the kind of its operator', async () => {
    const host = await Host.boot({
      folder: await temporaryFolder(),
      config: { operators: { big: { description: '', provider: 'other', model: 'big-one', tools: [] } } },
    })
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'one', agentId: 'big' })
    const { operatorId } = await host.whenWork('a', 'completed')
    const sessionId = await host.sessionOf('a')
    await until(() => !host.isLive(sessionId))
    await host.add(root, { workId: 'b', instruction: 'two', targetKind: 'existing_operator', operatorId })
    await host.whenWork('b', 'completed')
    expect(host.model.of(sessionId)).toHaveLength(2)
    for (const request of host.model.of(sessionId))
      expect(request).toMatchObject({ provider: 'other', model: 'big-one' })
    expect(host.model.of(sessionId).map(({ tools }) => tools?.length ?? 0)).toEqual([0, 0])
  })

  it.each([
    ['where sessions are kept', true],
    ['where sessions are not kept', false],
  ])('runs after the work before it and never beside it, %s', async (_title, kept) => {
    const host = await Host.boot(kept ? { folder: await temporaryFolder(), fastLog: true } : {})
    const root = await host.root()
    await host.add(root, ...GATED('a'))
    await host.gates.reached('a')
    const { operatorId } = await host.work('a')
    for (const workId of ['b', 'c'])
      await host.add(root, {
        workId,
        instruction: `stand at gate ${workId}`,
        targetKind: 'existing_operator',
        operatorId,
      })
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a'])
    host.gates.open('a')
    await host.gates.reached('b')
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a', 'b'])
    host.gates.open('b')
    await host.gates.reached('c')
    const operator = await host.operatorOf('a')
    host.gates.open('c')
    await host.whenWork('c', 'completed')
    expect(turnsOf(operator)).toEqual(['completed', 'completed', 'completed'])
    expect([...(await host.graph()).claims.values()].map(({ attempt }) => attempt)).toEqual([1, 1, 1])
  })

  it('waits until the session is let go of after the work before it', async () => {
    const host = await Host.boot({ folder: await temporaryFolder(), fastLog: true })
    const root = await host.root()
    await host.add(root, ...GATED('a'))
    await host.gates.reached('a')
    const operator = await host.operatorOf('a')
    const held = Promise.withResolvers<void>()
    operator.ctx.effect(() => () => held.promise, 'takes its time')
    const { operatorId } = await host.work('a')
    await host.add(root, {
      workId: 'b',
      instruction: 'stand at gate b',
      targetKind: 'existing_operator',
      operatorId,
    })
    host.gates.open('a')
    await host.whenWork('b', 'running')
    await settleDown()
    expect(await host.runEntries(operator.id)).toEqual(['run/accepted', 'run/started', 'run/settled'])
    held.resolve()
    await host.gates.reached('b')
    expect(await host.operatorOf('b')).not.toBe(operator)
    host.gates.open('b')
    await host.whenWork('b', 'completed')
    expect([...(await host.graph()).claims.values()].map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  it.each([
    ['a slow log', false],
    ['a fast log', true],
  ])('right after a stop is not lost with the run before it, on %s', async (_title, fastLog) => {
    const host = await Host.boot({ folder: await temporaryFolder(), fastLog })
    const root = await host.root()
    await host.add(root, ...GATED('a'))
    await host.gates.reached('a')
    const { operatorId } = await host.work('a')
    const sessionId = await host.sessionOf('a')
    await host.add(root, {
      workId: 'b',
      instruction: 'stand at gate b',
      targetKind: 'existing_operator',
      operatorId,
    })
    await host.stop(root, 'a')
    await host.gates.reached('b')
    await settleDown()
    expect(await host.work('b')).toMatchObject({ status: 'running' })
    host.gates.open('b')
    await host.whenWork('b', 'completed')
    // Not lost and tried again.
    const claim = [...(await host.graph()).claims.values()].find(({ workId }) => workId === 'b')
    expect(claim?.attempt).toBe(1)
    await until(() => !host.isLive(sessionId))
  })
})
