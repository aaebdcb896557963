/** Situations of a driven graph; the table of all of them is with the tests of dsh-graph-host. */
import { DurableLogError, memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { HandExecutor, until } from './host.ts'
import { openRig, work } from './rig.ts'

const done = (conclusion: string) => ({ outcome: 'completed', conclusion }) as const

describe('the works of a graph', () => {
  it('that follow up on an operator run while new ones still wait (scenario R1)', async () => {
    const rig = await openRig()
    await rig.say('update', { addWork: [work('a'), work('slow')] })
    await until(() => rig.executor.started.length === 2)
    await rig.end('a', done('x'))
    await until(async () => (await rig.status('a')) === 'completed')
    await rig.say('update', {
      addWork: [work('next', { operatorId: 'a' }), work('new', { inputIds: ['slow'] })],
    })
    await until(() => rig.executor.started.includes('next#1'))
    expect(await rig.status('new')).toBe('waiting')
    const { operators } = await rig.state()
    expect([...operators.values()].map(({ workId }) => workId)).toEqual(['a', 'slow'])
  })

  it('that are new get an operator, and then the run that was reserved with it (scenario R2)', async () => {
    const rig = await openRig()
    await rig.say('update', { addWork: [work('a')] })
    await until(() => rig.executor.started.length === 1)
    const { claims, graphId, operators } = await rig.state()
    const [operator] = operators.values()
    const [claim] = claims.values()
    expect(claim).toMatchObject({
      targetSessionId: operator?.targetSessionId,
      targetTurnId: operator?.initialTurnId,
      targetRunId: operator?.initialRunId,
    })
    const types = (await rig.log.read(`graph/${graphId}`)).map(({ type }) => type)
    expect(types.filter((type) => ['provision', 'claim', 'begin'].includes(type))).toEqual([
      'provision',
      'claim',
      'begin',
    ])
  })

  it('cannot be stopped or replaced where they are not there, and nothing is written (scenario R3)', async () => {
    const rig = await openRig()
    await rig.say('update', { addWork: [work('alpha')] })
    await until(() => rig.executor.started.length === 1)
    const before = await rig.entries()
    for (const args of [
      { stop: [{ targetId: 'alhpa', reason: 'x' }] },
      { addWork: [work('b', { replaces: 'alhpa' })] },
      {
        stop: [
          { targetId: 'alpha', reason: 'x' },
          { targetId: 'nobody', reason: 'x' },
        ],
      },
    ])
      expect((await rig.refusal('update', args)).text).toMatch(/alhpa|nobody/u)
    expect(await rig.entries()).toBe(before)
    expect(await rig.status('alpha')).toBe('running')
  })

  it('are all stopped with their graph, although the stop of one fails (scenario R9)', async () => {
    class Stubborn extends HandExecutor {
      failures = 1
      override async cancel(...request: Parameters<HandExecutor['cancel']>): Promise<void> {
        if (request[0].work.workId === 'a' && this.failures-- > 0) throw new Error('it does not answer')
        return super.cancel(...request)
      }
    }
    const told: string[] = []
    const executor = new Stubborn()
    const rig = await openRig('memory', {
      executor,
      onError: (error, doing) => told.push(`${doing}: ${error}`),
    })
    await rig.say('update', { addWork: ['a', 'b', 'c'].map((id) => work(id)) })
    await until(() => executor.started.length === 3)
    await rig.say('update', { stop: [{ targetId: 'graph', reason: 'enough' }] })
    await until(() => ['b', 'c'].every((id) => executor.cancelled.includes(id)))
    expect(told).toEqual([expect.stringContaining('it does not answer')])
    // And that one is tried again.
    await until(() => executor.cancelled.includes('a'))
    await until(async () => (await rig.state()).live.claims.size === 0)
  })
})

describe('the inputs of a work', () => {
  /** A log that loses the text of whatever a work concluded. */
  function forgetful() {
    const log = memoryLog()
    const lost = new Set<string>()
    const read = log.read.bind(log)
    log.read = async (stream, options) => {
      if ([...lost].some((id) => stream.includes(id)))
        throw new DurableLogError('corrupt', `entry 1 of ${stream} is damaged`)
      return read(stream, options)
    }
    return { log, lost }
  }

  it('fail it alone when they cannot be read (scenarios R5, H3)', async () => {
    const { log, lost } = forgetful()
    const rig = await openRig(log, { maxAttempts: 1, onError: () => undefined })
    await rig.say('update', { addWork: [work('a'), work('b')] })
    await until(() => rig.executor.started.length === 2)
    await rig.end('a', done('text of a'))
    await rig.end('b', done('text of b'))
    await until(async () => (await rig.state()).counts.pending === 0)
    for (const id of (await rig.work('a')).recordIds) lost.add(id)
    await rig.say('update', {
      addWork: [work('of a', { inputIds: ['a'] }), work('of b', { inputIds: ['b'] }), work('of none')],
    })
    await until(async () => (await rig.status('of a')) === 'failed')
    await until(() => rig.executor.started.includes('of none#1'))
    await until(() => rig.executor.started.includes('of b#1'))
    expect(rig.executor.started).not.toContain('of a#1')
    expect((await rig.work('of a')).reason).toContain('damaged')
    expect(rig.executor.prompts.get('of b')).toContain('text of b')
    expect(rig.executor.prompts.get('of b')).not.toContain('text of a')
  })

  it('are 48 KiB together at the most, the first ones first (scenario H2)', async () => {
    const rig = await openRig('memory', {
      executor: new HandExecutor(({ work: { workId } }) =>
        workId === 'join' ? undefined : done(`${workId} `.repeat(20_000)),
      ),
    })
    const ids = ['a', 'b', 'c', 'd']
    await rig.say('update', { addWork: [...ids.map((id) => work(id)), work('join', { inputIds: ids })] })
    await until(() => rig.executor.started.includes('join#1'))
    const prompt = rig.executor.prompts.get('join') ?? ''
    const sizes = ids.map((id) => {
      const [, text = ''] =
        new RegExp(`<input work="${id}"[^>]*>\\n([\\s\\S]*?)\\n</input>`, 'u').exec(prompt) ?? []
      return Buffer.byteLength(text)
    })
    expect(sizes.slice(0, 3).every((size) => size > 16_000 && size <= 16 * 1024)).toBe(true)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(48 * 1024)
    expect(prompt.match(/truncated="true"/gu)).toHaveLength(4)
  })
})
