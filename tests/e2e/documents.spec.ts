/**
 * The documents as somebody follows them: every command of a block is run, in order, with the real
 * `dsh`, the packed packages and a model on the loopback interface. The other language has the same
 * blocks, which `tests/unit/snippets.spec.ts` sees to.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WireRequest } from '../support/chat-wire.ts'
import { DocumentWalk } from '../support/document-walk.ts'
import type { MockAnswer } from '../support/mock-llm.ts'
import { documents, placeOf, snippetsOf } from '../support/snippets.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { speakerOf, supervisingModel } from '../support/supervising-model.ts'

/** Documents that are followed from the top, each in a home of its own. */
const FOLLOWED = [
  'README.md',
  'docs/quick-start-use.md',
  'docs/quick-start-graphs.md',
  'docs/quick-start-plugins.md',
  'docs/quick-start-operate.md',
  'docs/migration.md',
  'packages/graph-host/README.md',
]
const GAMMA_HELD = new Set(['docs/quick-start-operate.md', 'packages/graph-host/README.md'])

/** What the last commands of a document have printed, or left in a file. */
const LEFT: Readonly<Record<string, readonly RegExp[]>> = {
  'docs/quick-start-graphs.md': [/"words": ?5/u, /"verdict": ?"short"/u],
  'docs/quick-start-plugins.md': [
    /^graph agent_graph_\S+ is at \d+$/mu,
    /^an operator ended turn 1 well$/mu,
    /no sudo in this house/u,
  ],
  'docs/quick-start-operate.md': [/works/u],
}

let stage: Stage

beforeAll(async () => {
  stage = await raiseStage()
})

afterAll(() => stage?.[Symbol.asyncDispose]())

/** A model that supervises what it is told to divide, calls the tool it is told to use, and else talks. */
function documentModel(file: string): (request: WireRequest) => Promise<MockAnswer> {
  const supervising = supervisingModel()
  const isGammaHeld = GAMMA_HELD.has(file)
  const triesSudo = file === 'docs/quick-start-plugins.md'
  return async (request) => {
    const asked = request.userTexts.join('\n')
    const [, tool = '', text = ''] = /Use (\w+) on: (.+)/u.exec(asked) ?? []
    if (tool !== '' && request.toolNames.includes(tool))
      return request.answeredCall === undefined
        ? { toolCalls: [{ name: tool, arguments: { text } }] }
        : { text: `The tool says ${request.answeredCall.result}` }
    // What the plugin of a quick start keeps watch over.
    if (triesSudo && speakerOf(request) === 'alpha' && request.answeredCall === undefined)
      return { toolCalls: [{ name: 'bash', arguments: { command: 'sudo ls' } }] }
    // A run that stays until somebody stops it.
    if (isGammaHeld && speakerOf(request) === 'gamma') return await new Promise<never>(() => undefined)
    if (speakerOf(request) === 'root') {
      if (!asked.includes('two operators')) return { text: 'Nothing to divide.' }
      if (request.lastSaid.includes('gamma stopped') && request.answeredCall === undefined)
        return { text: 'A person stopped the join.' }
    }
    return await supervising.respond(request)
  }
}

it('leaves no document with commands aside', () => {
  const withCommands = documents().filter((file) =>
    snippetsOf(file).some(({ language, marker }) => language === 'sh' && marker !== 'not run'),
  )
  expect(withCommands.filter((file) => !FOLLOWED.includes(file))).toEqual([])
})

describe.each(FOLLOWED)('%s', (file) => {
  let walk: DocumentWalk
  let home: string

  beforeAll(async () => {
    const bench = stage.bench()
    home = bench.home
    walk = new DocumentWalk(bench)
    stage.llm.play(documentModel(file))
    if (!file.startsWith('packages/')) return
    // The README of a package tells its commands beside a host that has something to tell.
    const [install, web, path, ask] = snippetsOf('docs/quick-start-operate.md').filter(
      ({ language }) => language === 'sh',
    )
    for (const block of [install, web, path, ask]) if (block !== undefined) await walk.follow(block)
    await walk.until('dsh-graph show <graph>', /gamma.*running/u)
  })

  afterAll(() => walk?.[Symbol.asyncDispose]())

  it.each(snippetsOf(file).map((snippet) => [placeOf(snippet), snippet] as const))(
    'is as it says at %s',
    async (_place, snippet) => {
      if (snippet.text.startsWith('dsh-graph list --open') && file.includes('operate'))
        await walk.until('dsh-graph show <graph>', /gamma.*running/u)
      await expect(walk.follow(snippet)).resolves.toBeUndefined()
    },
  )

  it('leaves what it promised', () => {
    expect(stage.llm.failures).toEqual([])
    const diary = join(home, 'graph-diary.txt')
    const heard = stage.llm.requests.map(({ answeredCall }) => answeredCall?.result ?? '').join('\n')
    const left = [walk.output, existsSync(diary) ? readFileSync(diary, 'utf8') : '', heard].join('\n')
    for (const pattern of LEFT[file] ?? []) expect(left).toMatch(pattern)
  })
})
