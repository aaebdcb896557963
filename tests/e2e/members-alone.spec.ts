/**
 * Each package by itself, in a headless and in a web profile: its row is active without any
 * configuration, a turn works, and it leaves as it came. Then the meta bundle beside members of it.
 */
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishedManifests } from '../../scripts/manifests.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { manifestOf } from '../support/dependency-closure.ts'
import { answersIn, DshWeb } from '../support/dsh-web.ts'
import { pathsUnder, profileFiles, tracesOf } from '../support/profile-files.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { supervisingModel } from '../support/supervising-model.ts'

const META = 'dsh-graph'
const members = publishedManifests()
  .map((file) => manifestOf(dirname(file)).name)
  .filter((name) => name !== META)

let stage: Stage
let bench: DshBench
let profile: string
let before: Readonly<Record<string, string>>

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  profile = bench.profileDir('headless')
  await bench.plugin('headless', 'add', 'yaml')
  before = profileFiles(profile)
})

afterAll(() => stage?.[Symbol.asyncDispose]())

describe.each(members)('%s alone', (name) => {
  it('is added with what it needs and no copy of a host package', async () => {
    stage.registry.forget()
    await bench.plugin('headless', 'add', stage.package(name).tarball)
    expect(stage.registry.refused).toEqual([])
    expect(pathsUnder(profile).filter((path) => path.includes('@deepseek-ai'))).toEqual([])
  })

  it('boots without configuration and serves a turn', async () => {
    stage.llm.play(() => ({ text: `${name} does no harm.` }))
    const finished = await bench.run('--profile', 'headless', 'Say something.')
    expect(finished).toMatchObject({ code: 0, stderr: '', stdout: `${name} does no harm.\n` })
    expect(stage.llm.failures).toEqual([])
  })

  it('leaves the profile as before', async () => {
    await bench.plugin('headless', 'remove', name)
    expect(profileFiles(profile)).toEqual(before)
    expect(tracesOf(new RegExp(name, 'u'), profile)).toEqual([])
  })
})

describe.each(members)('%s alone in a web profile', (name) => {
  it('boots without configuration, serves a turn, and ends when it is told to', async () => {
    await bench.plugin('web', 'add', stage.package(name).tarball)
    stage.llm.play(() => ({ text: `${name} does no harm.` }))
    const web = await DshWeb.boot(bench)
    const sessionId = await web.createSession({ cwd: bench.workspace })
    await web.prompt(sessionId, 'Say something.')
    const history = await web.historyWhere(sessionId, (events) =>
      events.some(({ type }) => type === 'turn/end'),
    )
    expect(answersIn(history)).toEqual([`${name} does no harm.`])
    expect(await web.stop()).toMatchObject({ code: 0, stderr: '' })
    await bench.plugin('web', 'remove', name)
  })
})

describe('dsh-tool-graph without a host of agent graphs', () => {
  it('answers that agent graphs are unavailable, and the turn goes on', async () => {
    await bench.plugin('headless', 'add', stage.package('dsh-tool-graph').tarball)
    stage.llm.play(({ answeredCall, toolNames }) => {
      if (toolNames.length === 0) return { text: 'A title' }
      if (answeredCall !== undefined) return { text: `The tool said: ${answeredCall.result}` }
      const addWork = [{ workId: 'one', instruction: 'Do one thing.' }]
      return { toolCalls: [{ name: 'update_agent_graph', arguments: { operation: 'add_work', addWork } }] }
    })
    const finished = await bench.run('--profile', 'headless', 'Supervise something.')
    expect(finished.code).toBe(0)
    expect(finished.stdout).toContain('[agent-graph-unavailable]')
    await bench.plugin('headless', 'remove', 'dsh-tool-graph')
  })
})

describe('the meta bundle beside a member of it', () => {
  it('boots once and supervises a graph', async () => {
    const { version } = stage.package(META)
    await bench.plugin('headless', 'add', `dsh-graph-host@${version}`, `${META}@${version}`)
    const model = supervisingModel()
    stage.llm.play(model.respond)
    const finished = await bench.run('--profile', 'headless', 'Gather both halves and join them.')
    expect(stage.llm.failures).toEqual([])
    expect(finished).toMatchObject({ code: 0, stderr: '' })
    expect(finished.stdout).toContain(model.nonce())
    const offered = stage.llm.requests[0]?.toolNames.filter((name) => name.endsWith('_agent_graph'))
    expect(offered).toHaveLength(3)
  })

  it('still works with every member beside it', async () => {
    await bench.plugin('headless', 'add', ...members.map((name) => stage.package(name).tarball))
    const model = supervisingModel()
    stage.llm.play(model.respond)
    const finished = await bench.run('--profile', 'headless', 'Gather both halves and join them.')
    expect(stage.llm.failures).toEqual([])
    expect(finished).toMatchObject({ code: 0, stderr: '' })
    expect(finished.stdout).toContain(model.nonce())
  })

  it('works on from the members when the meta bundle is removed', async () => {
    await bench.plugin('headless', 'remove', META)
    const model = supervisingModel()
    stage.llm.play(model.respond)
    const finished = await bench.run('--profile', 'headless', 'Gather both halves and join them.')
    expect(stage.llm.failures).toEqual([])
    expect(finished.stdout).toContain(model.nonce())
  })
})
