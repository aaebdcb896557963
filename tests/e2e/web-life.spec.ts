/** The web profile: add, boot, a supervised session over HTTP, restart, remove. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WireRequest } from '../support/chat-wire.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { answersIn, DshWeb } from '../support/dsh-web.ts'
import { gatedModel } from '../support/gated-model.ts'
import { readLog, type LoggedEntry } from '../support/graph-log.ts'
import { pathsUnder, profileFiles } from '../support/profile-files.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { speakerOf, supervisingModel } from '../support/supervising-model.ts'

const TOOLS = ['update_agent_graph', 'view_agent_graph', 'yield_agent_graph']
const SECTION = 'You can supervise an agent graph'
const CHAT = 'How is it going?'
const STOP = 'Stop all of it.'

let stage: Stage
let bench: DshBench
let profile: string

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  profile = bench.profileDir('web')
})

afterAll(() => stage?.[Symbol.asyncDispose]())

function graphToolsOf(request: WireRequest): string[] {
  return request.toolNames.filter((name) => name.endsWith('_agent_graph')).sort()
}

function log(): readonly LoggedEntry[] {
  return readLog(join(bench.home, 'graph', 'log.sqlite'))
}

/** Prompts a session and waits for the answer that carries the model's nonce. */
async function supervise(web: DshWeb, sessionId: string): Promise<string> {
  const model = supervisingModel()
  stage.llm.play(model.respond)
  await web.prompt(sessionId, 'Gather both halves and join them.')
  await web.historyWhere(sessionId, (events) => {
    if (stage.llm.failures.length > 0) throw new Error(stage.llm.failures.join('\n'))
    const nonce = model.nonce()
    return nonce !== undefined && (answersIn(events).at(-1) ?? '').includes(nonce)
  })
  return model.nonce() ?? ''
}

function finishedGraphs(sessionId: string): number {
  return graphEntriesOf(sessionId, 'update').filter(({ update }) => 'finish' in (update as object)).length
}

/** DSH writes sessions behind: what a kill finds of this one is enough to resume it. */
async function flushed(sessionId: string): Promise<void> {
  const sessions = join(bench.home, 'sessions')
  await until(
    () => pathsUnder(sessions).some((path) => path.includes(sessionId)),
    `${sessionId} is written down`,
  )
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const latest = Date.now() + 60_000
  while (!condition()) {
    if (Date.now() > latest) throw new Error(`did not come true: ${what}`)
    await pause(50)
  }
}

/** Entries of all graphs of a session. */
function graphEntriesOf(sessionId: string, type: string): readonly LoggedEntry['data'][] {
  const entries = log()
  const graphs = new Set(
    entries.flatMap(({ stream, type: kind, data }) =>
      stream === `root/${sessionId}` && kind === 'epoch' ? [`graph/${String(data['graphId'])}`] : [],
    ),
  )
  return entries.flatMap((entry) => (graphs.has(entry.stream) && entry.type === type ? [entry.data] : []))
}

function operatorsOf(sessionId: string): readonly string[] {
  return graphEntriesOf(sessionId, 'provision').map(({ provision }) =>
    String((provision as Record<string, unknown>)['targetSessionId']),
  )
}

function outcomesOf(sessionId: string): readonly unknown[] {
  return graphEntriesOf(sessionId, 'settle').map(({ outcome }) => outcome)
}

function requestsOf(...speakers: string[]): readonly WireRequest[] {
  return stage.llm.requests.filter((request) => speakers.includes(speakerOf(request)))
}

/** A preset of the person's own that brings the tools itself, beside the bundle's host row. */
function writePreset(): void {
  const dir = join(bench.home, '.agent-presets', 'supervisor')
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'preset.yml'),
    'name: Supervisor\ndescription: Brings the graph tools itself.\norder: 9\n',
  )
  writeFileSync(
    join(dir, 'agent.cordis.yml'),
    [
      '- id: persona',
      "  name: '@deepseek-ai/dsh-persona'",
      '  config:',
      '    text: You are a supervisor.',
      '- id: graph-tools',
      '  name: dsh-tool-graph',
      '',
    ].join('\n'),
  )
}

describe('a web profile with the bundle', () => {
  let before: Readonly<Record<string, string>>
  let web: DshWeb
  let sessionId: string
  let nonce: string

  beforeAll(async () => {
    await bench.plugin('web', 'add', 'yaml')
    before = profileFiles(profile)
    writePreset()
    await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
    web = await DshWeb.boot(bench)
  })

  it('has no copy of a host package', () => {
    expect(pathsUnder(profile).filter((path) => path.includes('@deepseek-ai'))).toEqual([])
    expect(stage.registry.refused).toEqual([])
  })

  it('supervises a graph in a session', async () => {
    sessionId = await web.createSession({ cwd: bench.workspace })
    nonce = await supervise(web, sessionId)
    expect(stage.llm.failures).toEqual([])
    expect(nonce).toMatch(/^[0-9a-f]{24}$/u)
    const roots = requestsOf('root')
    expect(roots.map(graphToolsOf)).toEqual(roots.map(() => TOOLS))
    expect(roots.filter(({ system }) => !system.includes(SECTION))).toEqual([])
  })

  it('keeps tools and section from the operators', () => {
    const operators = requestsOf('alpha', 'beta', 'gamma')
    expect(operators).toHaveLength(3)
    expect(operators.flatMap(graphToolsOf)).toEqual([])
    expect(operators.filter(({ system }) => system.includes(SECTION))).toEqual([])
  })

  it('answers a person while a graph runs, opens its operators, and stops them when it is told to', async () => {
    const busy = await web.createSession({ cwd: bench.workspace })
    const model = gatedModel('alpha', 'beta')
    stage.llm.play((request) => {
      const { answeredCall, lastSaid } = request
      if (speakerOf(request) !== 'root' || answeredCall?.name === 'yield_agent_graph')
        return model.respond(request)
      if (lastSaid === CHAT) return { text: 'Both halves are at work.' }
      if (lastSaid !== STOP) return model.respond(request)
      const reason = 'the person changed their mind'
      const update = (args: object) => ({ toolCalls: [{ name: 'update_agent_graph', arguments: args }] })
      if (answeredCall === undefined) return update({ stop: [{ targetId: 'graph', reason }] })
      // Nothing of it is left to wake anybody.
      if (!answeredCall.result.includes(' finished, ')) return update({ finish: { resultIds: [], reason } })
      return { text: 'All of it is stopped.' }
    })
    await web.prompt(busy, 'Gather both halves and join them.')
    await until(() => requestsOf('alpha', 'beta').length === 2, 'both halves are at work')
    await web.prompt(busy, CHAT)
    await web.historyWhere(busy, (events) => answersIn(events).includes('Both halves are at work.'))
    const operators = operatorsOf(busy)
    expect(operators).toHaveLength(2)
    for (const operator of operators) {
      const history = await web.history(operator)
      expect(JSON.stringify(history)).toContain('Operator ')
      expect(history.filter(({ type }) => type === 'turn/end')).toEqual([])
    }
    await web.prompt(busy, STOP)
    await web.historyWhere(busy, (events) => answersIn(events).includes('All of it is stopped.'))
    for (const operator of operators)
      await web.historyWhere(operator, (events) => events.at(-1)?.type === 'turn/end')
    // Their model never answered.
    expect(outcomesOf(busy)).toEqual(['cancelled', 'cancelled'])
    expect(stage.llm.failures).toEqual([])
    model.releaseAll()
  })

  it('offers the tools once where a preset brings them, too', async () => {
    const supervised = await web.createSession({ cwd: bench.workspace, agentPreset: 'supervisor' })
    await supervise(web, supervised)
    expect(stage.llm.failures).toEqual([])
    const roots = requestsOf('root')
    expect(roots.map(graphToolsOf)).toEqual(roots.map(() => TOOLS))
    for (const { system } of roots) expect(system.split(SECTION)).toHaveLength(2)
  })

  it('keeps them from operators that join this preset', () => {
    const operators = requestsOf('alpha', 'beta', 'gamma')
    expect(operators).toHaveLength(3)
    expect(operators.flatMap(graphToolsOf)).toEqual([])
    expect(operators.filter(({ system }) => system.includes(SECTION))).toEqual([])
  })

  it('ends with code 0 when it is told to', async () => {
    expect(await web.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  it('shows the session after a restart', async () => {
    const kept = log()
    web = await DshWeb.boot(bench)
    const history = await web.history(sessionId)
    expect(answersIn(history).at(-1)).toContain(nonce)
    const header = history.find(({ type }) => type === 'request/header')
    expect(JSON.stringify(header?.data)).toContain('update_agent_graph')
    expect(log()).toEqual(kept)
  })

  it('opens a second graph in the session that was restarted', async () => {
    const again = await supervise(web, sessionId)
    expect(stage.llm.failures).toEqual([])
    expect(again).not.toBe(nonce)
    const epochs = log().filter(({ stream, type }) => stream === `root/${sessionId}` && type === 'epoch')
    expect(epochs.map(({ data }) => data['epoch'])).toEqual([1, 2])
    expect((await web.stop()).code).toBe(0)
  })

  it('goes on with a graph after a kill, without anybody opening its session', async () => {
    web = await DshWeb.boot(bench)
    const killed = await web.createSession({ cwd: bench.workspace })
    const model = supervisingModel()
    const reached = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    let isKilled = false
    stage.llm.play(async (request) => {
      if (!isKilled && speakerOf(request) === 'gamma') {
        reached.resolve()
        await release.promise
      }
      return model.respond(request)
    })
    await web.prompt(killed, 'Gather both halves and join them.')
    await reached.promise
    await flushed(killed)
    await web.kill()
    isKilled = true
    release.resolve()
    const asked = requestsOf('alpha', 'beta').length
    web = await DshWeb.boot(bench)
    await until(() => finishedGraphs(killed) === 1, 'the graph is finished')
    await web.historyWhere(killed, (events) =>
      (answersIn(events).at(-1) ?? '').includes(model.nonce() ?? '-'),
    )
    expect(stage.llm.failures).toEqual([])
    expect(requestsOf('alpha', 'beta')).toHaveLength(asked)
    expect((await web.stop()).code).toBe(0)
  })

  it('is as before when the bundle is removed, and the data stays', async () => {
    await bench.plugin('web', 'remove', 'dsh-graph')
    expect(profileFiles(profile)).toEqual(before)
    expect(existsSync(join(bench.home, 'graph', 'log.sqlite'))).toBe(true)
  })
})
