/**
 * Somebody's own bundle of code graphs beside ours, both as tarballs in one profile: its graphs are
 * tools on the wire, and an operator's call of one reaches the answer.
 */
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { WireRequest } from '../support/chat-wire.ts'
import type { DshBench } from '../support/dsh-process.ts'
import type { MockAnswer } from '../support/mock-llm.ts'
import { packFolder } from '../support/packed-packages.ts'
import { pathsUnder } from '../support/profile-files.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { tempFolder } from '../support/temp-folder.ts'

const EXAMPLES = resolve(import.meta.dirname, '..', '..', 'examples', 'graphs-bundle')
const SURVEY = 'Operator: call field_survey and report what sealed it.'
const SEAL = /sealed with ([0-9a-f]{16})/u

let stage: Stage
let bench: DshBench
const folder = tempFolder('examples')

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  const { tarball } = packFolder(EXAMPLES, folder.path)
  await bench.plugin('headless', 'add', stage.package('dsh-graph').tarball, tarball)
})

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

function call(name: string, args: object): MockAnswer {
  return { toolCalls: [{ name, arguments: args }] }
}

function operator({ answeredCall }: WireRequest): MockAnswer {
  if (answeredCall === undefined) return call('field_survey', { topic: 'tidal pools' })
  return { text: `The survey was ${SEAL.exec(answeredCall.result)?.[0] ?? 'not sealed'}.` }
}

function root({ answeredCall, lastSaid }: WireRequest): MockAnswer {
  if (answeredCall !== undefined) return call('yield_agent_graph', {})
  const seal = SEAL.exec(lastSaid)?.[0]
  if (seal !== undefined) return { text: `The pools are ${seal}.` }
  return call('update_agent_graph', {
    operation: 'add_work',
    addWork: [{ workId: 'survey', instruction: SURVEY }],
  })
}

it('offers the graphs of the bundle as tools, and lets an operator use one', async () => {
  stage.llm.play((request) => {
    if (request.toolNames.length === 0) return { text: 'Tidal pools' }
    return request.userTexts.includes(SURVEY) ? operator(request) : root(request)
  })
  const finished = await bench.run('--profile', 'headless', 'Have the tidal pools surveyed.')
  expect(stage.llm.failures).toEqual([])
  expect(finished).toMatchObject({ code: 0, stderr: '' })
  const [first] = stage.llm.requests
  expect(first?.toolNames).toEqual(expect.arrayContaining(['field_survey', 'triage', 'word_count']))
  const operators = stage.llm.requests.filter(({ userTexts }) => userTexts.includes(SURVEY))
  const seal = SEAL.exec(operators.at(-1)?.answeredCall?.result ?? '')?.[0]
  expect(seal).toMatch(SEAL)
  expect(finished.stdout).toBe(`The pools are ${seal}.\n`)
})

it('has one copy of the graph runtime and none of a host package', () => {
  const paths = pathsUnder(bench.profileDir('headless'))
  const copies = paths.filter((path) => path.endsWith(join('dsh-graph-runtime', 'package.json')))
  expect(copies).toEqual([join('node_modules', 'dsh-graph-runtime', 'package.json')])
  expect(paths.filter((path) => path.includes('@deepseek-ai'))).toEqual([])
  expect(stage.registry.refused).toEqual([])
})
