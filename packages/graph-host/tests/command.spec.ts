import type { Agent } from '@deepseek-ai/dsh-agent'
import CommandRuntime from '@deepseek-ai/dsh-commands'
import { supervises } from 'dsh-tool-graph'
import { describe, expect, it } from 'vitest'
import { settleDown, Host, temporaryFolder, until, wakesOf, type HostOptions } from './host.ts'
import { addWorks, claimWork } from './graph-deeds.ts'

/** A host with DSH's own registry of commands, and what a person types into a session. */
async function commanded(options: HostOptions = {}) {
  const host = await Host.boot({
    ...options,
    prepare: async (ctx) => void (await ctx.plugin(CommandRuntime as never, undefined as never)),
  })
  const registry = () => host.ctx.get('commands') as unknown as CommandRuntime
  const type = async (agent: Agent, line: string): Promise<{ kind: string; text: string }> => {
    const executed = await registry().execute(agent, line, [], new AbortController().signal)
    if (executed === undefined) throw new Error(`there is no command for ${line}`)
    return { kind: executed.result.kind, text: executed.result.text ?? '' }
  }
  const root = await host.root()
  await until(() => registry().find(root, 'graph') !== undefined)
  return { host, root, type, registry }
}

describe('/graph', () => {
  it('shows the graph of the session on one screen, with what each work waits for', async () => {
    const { host, root, type } = await commanded()
    expect(await type(root, '/graph')).toEqual({
      kind: 'success',
      text: 'No graph yet. Supervision is on in this session.',
    })
    await host.add(
      root,
      { workId: 'a', title: '测量', instruction: 'stand at gate a' },
      { workId: 'b', instruction: 'then', inputIds: ['a'] },
    )
    await host.gates.reached('a')
    const { text } = await type(root, '/graph status')
    expect(text).toContain('2 works: 1 running, 1 waiting')
    expect(text).toMatch(/a 测量 +running .*waits for its operator/u)
    expect(text).toMatch(/b +waiting +waits for a/u)
  })

  it('tells the history page by page', async () => {
    const { host, root, type } = await commanded()
    await host.add(
      root,
      ...Array.from({ length: 8 }, (_, at) => ({ workId: `w${at}`, instruction: 'do it' })),
    )
    await host.whenWork('w7', 'completed')
    await host.controller(root).whenQuiet()
    const pages: string[] = []
    let line = '/graph history'
    for (let page = 0; page < 20; page += 1) {
      const { text } = await type(root, line)
      pages.push(text)
      const next = /history before (\d+)$/u.exec(text)
      if (next === null) break
      line = `/graph history before ${next[1]}`
    }
    expect(pages.length).toBeGreaterThan(1)
    const seqs =
      pages
        .join('\n')
        .match(/^ +\d+(?= )/gmu)
        ?.map(Number) ?? []
    expect(seqs).toEqual(Array.from({ length: (await host.graph()).seq }, (_, at) => at + 1).toReversed())
    expect(await type(root, '/graph history before soon')).toMatchObject({ kind: 'error' })
  })

  it('stops one work with a reason, and tells the root', async () => {
    const { host, root, type } = await commanded()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    expect(await type(root, '/graph stop a it is too late')).toEqual({
      kind: 'success',
      text: 'work a is stopped',
    })
    expect(await host.work('a')).toMatchObject({ status: 'stopped', reason: 'it is too late' })
    await until(() => host.gates.cancelled.includes('a'))
    await until(() => wakesOf(root).length === 1)
  })

  it('stops everything, and wakes nobody for it', async () => {
    const { host, root, type } = await commanded()
    await host.add(
      root,
      { workId: 'a', instruction: 'stand at gate a' },
      { workId: 'b', instruction: 'stand at gate b' },
      { workId: 'c', instruction: 'then', inputIds: ['a', 'b'] },
    )
    await host.gates.reached('a')
    await host.gates.reached('b')
    expect((await type(root, '/graph stop all')).text).toContain('3 works')
    await until(() => host.gates.cancelled.length === 2)
    await host.controller(root).whenQuiet()
    await settleDown()
    expect((await host.graph()).counts.pending).toBe(0)
    expect(host.controller(root).expectsWake()).toBe(false)
    expect(wakesOf(root)).toEqual([])
    expect((await type(root, '/graph stop all')).text).toContain('nothing')
  })

  it('retries a work that was stopped', async () => {
    const { host, root, type } = await commanded()
    await host.add(root, { workId: 'a b', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    await type(root, '/graph stop "a b"')
    await until(() => host.gates.cancelled.length === 1)
    await host.controller(root).whenQuiet()
    host.gates.open('a')
    expect(await type(root, '/graph retry "a b" now it may')).toMatchObject({ kind: 'success' })
    await host.whenWork('a b', 'completed')
    expect((await host.work('a b')).retries).toBe(1)
  })

  it('lets a held work go on, once', async () => {
    const { host, root, type } = await commanded()
    const store = host.ctx.graphControl
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    expect(await type(root, '/graph confirm a')).toMatchObject({ kind: 'error' })
    const { claimId = '' } = await host.work('a')
    const { graphId } = await host.graph()
    await store.holdActivation({ graphId, claimId, attempt: 1, kind: 'person', reason: 'it may have sold' })
    expect((await type(root, '/graph')).text).toContain('needs a person to confirm: it may have sold')
    host.gates.open('a')
    expect(await type(root, '/graph confirm a')).toEqual({
      kind: 'success',
      text: 'work a goes on with attempt 2',
    })
    await host.whenWork('a', 'completed')
    expect(await type(root, '/graph confirm a')).toMatchObject({ kind: 'error' })
  })

  it('switches supervision off and on in the live session', async () => {
    const { host, root, type } = await commanded()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    const { text } = await type(root, '/graph off')
    expect(text).toBe('Supervision is off in this session. 1 works go on; /graph stop all ends them.')
    expect(supervises(root)).toBe(false)
    expect((await type(root, '/graph')).text).toContain('supervision is off')
    expect((await type(root, '/graph on')).text).toBe('Supervision is on in this session.')
    expect(supervises(root)).toBe(true)
  })

  it('lists the graphs of the session and no other, and shows an earlier one', async () => {
    const { host, root, type } = await commanded()
    const store = host.ctx.graphControl
    const first = await addWorks(store, 'root', [])
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await host.whenWork('a', 'completed')
    const { recordIds } = await host.work('a')
    await host.call(root, 'update_agent_graph', { finish: { resultIds: recordIds, reason: 'enough' } })
    await host.add(root, { workId: 'z', instruction: 'stand at gate z' })
    await addWorks(store, 'stranger', [{ workId: 'secret' }])
    const { text } = await type(root, '/graph epochs')
    expect(text.split('\n')).toHaveLength(2)
    expect(text).toContain(first)
    expect((await type(root, '/graph status @1')).text).toContain('finished: enough')
    expect((await type(root, '/graph status @7')).kind).toBe('error')
    expect((await type(root, '/graph')).text).toContain('z')
  })

  it('tells numbers, and a report that is safe to show', async () => {
    const { host, root, type } = await commanded()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await host.whenWork('a', 'completed')
    await until(() => wakesOf(root).length === 1)
    host.ctx.logger('dsh-graph-host').warn('%s', 'refused: token=hunter2hunter2')
    const metrics = (await type(root, '/graph metrics')).text
    expect(metrics).toContain('1 completed')
    expect(metrics).toMatch(/run time +p50 .*\(1\)/u)
    expect(metrics).toMatch(/wake latency +p50 .*\(1\)/u)
    const report = (await type(root, '/graph doctor')).text
    expect(report).toMatch(/durableLog +found/u)
    expect(report).toMatch(/maxNewActivations +8/u)
    expect(report).toMatch(/supervision +on\n +graphs +1\n +newest +agent_graph_\w+, open, 1 work/u)
    expect(report).toMatch(/dsh-graph-host +\d+\.\d+\.\d+/u)
    expect(report).toContain('refused: token=***')
    expect(report).not.toContain('hunter2')
  })

  it('refuses what is not there, with what is', async () => {
    const { host, root, type } = await commanded()
    expect(await type(root, '/graph stop all')).toMatchObject({
      kind: 'error',
      text: expect.stringContaining('no graph'),
    })
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    expect(await type(root, '/graph stop nothing')).toMatchObject({
      kind: 'error',
      text: expect.stringContaining('there is a'),
    })
    expect(await type(root, '/graph retry')).toMatchObject({ kind: 'error' })
    expect((await type(root, '/graph dance')).text).toContain('/graph history')
  })

  it('is not for the operators of a graph', async () => {
    const { host, root, type } = await commanded()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    const operator = await host.operatorOf('a')
    for (const line of ['/graph', '/graph stop all', '/graph on', '/graph doctor'])
      expect(await type(operator, line)).toMatchObject({ kind: 'error' })
    expect(supervises(operator)).toBe(false)
    expect((await host.work('a')).status).toBe('running')
  })

  it('comes and goes with the row', async () => {
    const { host, root, registry } = await commanded()
    await host.unmount('graph-host')
    expect(registry().find(root, 'graph')).toBeUndefined()
    await host.mount('graph-host')
    await until(() => registry().find(root, 'graph') !== undefined)
  })
})

it('keeps the choice of a person over a restart', async () => {
  const folder = await temporaryFolder()
  const before = await Host.boot({
    folder,
    prepare: async (ctx) => void (await ctx.plugin(CommandRuntime as never, undefined as never)),
  })
  const root = await before.keptRoot()
  const runtime = before.ctx.get('commands') as unknown as CommandRuntime
  await until(() => runtime.find(root, 'graph') !== undefined)
  await runtime.execute(root, '/graph off', [], new AbortController().signal)
  await before.dispose()
  const after = await Host.boot({ folder })
  expect(supervises(await after.root('root', { resume: true }))).toBe(false)
  expect(supervises(await after.root('other'))).toBe(true)
})

it('works on graphs that nobody drives here', async () => {
  const { host, root, type } = await commanded({
    rows: ['durable-log', 'graph-control', 'agent-loop-host', 'tool-graph', 'graph-host'],
  })
  const graphId = await addWorks(host.ctx.graphControl, 'stranger', [{ workId: 'a' }])
  await claimWork(host.ctx.graphControl, graphId, 'a')
  expect((await type(root, '/graph')).text).toContain('No graph yet')
})
