/**
 * The bundle in compositions that the real Cordis loader boots, in the orders and with the gaps that
 * profiles have. Hand-mounted plugins would hide what a loader does to them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { loadOverlayPatches } from '@deepseek-ai/dsh-app-boot'
import { childSessionMeta } from '@deepseek-ai/dsh-subagent'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { WireRequest } from '../support/chat-wire.ts'
import { Composition, ROOT, row, standaloneRows, type CompositionOptions } from '../support/composition.ts'
import { speakerOf, supervisingModel } from '../support/supervising-model.ts'
import { tempFolder } from '../support/temp-folder.ts'

const TOOLS = ['update_agent_graph', 'view_agent_graph', 'yield_agent_graph']
const SECTION = 'You can supervise an agent graph'
const SERVICES = [
  'durableLog',
  'graphControl',
  'agentLoopHost',
  'agentGraphController',
  'graphTools',
] as const

/** Member packages by the folder that holds their patch. */
const MEMBERS = {
  'dsh-agent-loop-host': 'agent-loop',
  'dsh-durable-log': 'durable-log',
  'dsh-graph-control': 'graph-control',
  'dsh-graph-host': 'graph-host',
  'dsh-graph-runtime': 'graph-runtime',
  'dsh-tool-graph': 'tool-graph',
} as const

const rows = standaloneRows()
const hostRows = rows.filter(({ name }) => name.startsWith('@deepseek-ai/'))
const bundleRows = rows.filter(({ name }) => name in MEMBERS)

let stack: AsyncDisposableStack

beforeEach(() => {
  stack = new AsyncDisposableStack()
})

afterEach(() => stack.disposeAsync())

function missingServices(ctx: Context): readonly string[] {
  return SERVICES.filter((service) => ctx.get(service) === undefined)
}

async function boot(options: CompositionOptions): Promise<Composition> {
  return stack.use(await Composition.boot(options))
}

function graphToolsOf(request: WireRequest | undefined): string[] {
  return (request?.toolNames ?? []).filter((name) => name.endsWith('_agent_graph')).sort()
}

/** A supervised task from prompt to answer in a root session of its own. */
async function supervise(composition: Composition, id = 'root'): Promise<string> {
  const model = supervisingModel()
  composition.llm.play(model.respond)
  const agent = await composition.openSession({ id })
  await composition.say(agent, 'Gather both halves and join them.')
  expect(composition.llm.failures).toEqual([])
  const last = agent.session.events.findLast((event) => event.type === 'assistant/message')
  const answer = JSON.stringify(last?.data)
  expect(answer).toContain(`The joined nonce ${model.nonce()} is the answer.`)
  return answer
}

describe('the standalone composition', () => {
  const file = join(ROOT, 'cordis.yml')

  it('boots with every row active, every service there, and the file as it was (scenario C1)', async () => {
    const before = readFileSync(file, 'utf8')
    const composition = await boot({ file })
    expect(composition.unfinishedRows()).toEqual([])
    expect(composition.loadedRows()).toEqual(expect.arrayContaining(Object.keys(MEMBERS)))
    expect(missingServices(composition.ctx)).toEqual([])
    expect(composition.logs.filter(({ type }) => type === 'warn' || type === 'error')).toEqual([])
    expect(readFileSync(file, 'utf8')).toBe(before)
  })

  it('supervises a graph', async () => {
    const composition = await boot({ file })
    await supervise(composition)
    const roots = composition.llm.requests.filter((request) => speakerOf(request) === 'root')
    expect(roots.map(graphToolsOf)).toEqual(roots.map(() => TOOLS))
  })

  it('offers tools and section to a root session and not to a child session', async () => {
    const composition = await boot({ file })
    const parent = await composition.openSession({ id: 'parent' })
    await composition.say(parent, 'Say something.')
    const child = await composition.openSession({ id: 'child', meta: childSessionMeta(parent, 1, 0) })
    await composition.say(child, 'Say something, too.')
    const [ofParent, ofChild] = composition.llm.requests
    expect(graphToolsOf(ofParent)).toEqual(TOOLS)
    expect(ofParent?.system).toContain(SECTION)
    expect(graphToolsOf(ofChild)).toEqual([])
    expect(ofChild?.system).not.toContain(SECTION)
  })

  it('plays the scripted model when there is no key', async () => {
    const withKey = await boot({ file })
    expect(withKey.loadedRows()).toContain('@deepseek-ai/dsh-llm-deepseek')
    expect(withKey.loadedRows()).not.toContain('dsh-llm-scripted')
    await withKey[Symbol.asyncDispose]()
    const without = await boot({ file, key: '' })
    expect(without.loadedRows()).toContain('dsh-llm-scripted')
    expect(without.loadedRows()).not.toContain('@deepseek-ai/dsh-llm-deepseek')
    expect(without.ctx.get('llmScripted')).toBeDefined()
  })
})

describe('the order of rows', () => {
  it('does not matter when it is reversed', async () => {
    const composition = await boot({ rows: rows.toReversed() })
    expect(composition.unfinishedRows()).toEqual([])
    await supervise(composition)
  })

  it('does not matter when the bundle comes before the services of the host', async () => {
    const composition = await boot({ rows: [...bundleRows, ...hostRows] })
    expect(composition.unfinishedRows()).toEqual([])
    await supervise(composition)
  })

  it('lets a session have the tools before there is a controller (scenario C2)', async () => {
    const [toolGraph, graphHost] = ['dsh-tool-graph', 'dsh-graph-host']
    const composition = await boot({
      rows: [...hostRows, ...bundleRows.filter(({ name }) => name !== toolGraph && name !== graphHost)],
    })
    const plugin = (await import('dsh-tool-graph')) as object
    const agent = await composition.openSession({
      id: 'preset',
      // As a preset does it: in the session's own scope, before the session is published.
      setup: async (scope) =>
        void (await scope.plugin(plugin as Parameters<typeof scope.plugin>[0], { enabled: true })),
    })
    const model = supervisingModel()
    composition.llm.play((request) =>
      request.answeredCall?.result.includes('[agent-graph-unavailable]') === true
        ? { text: 'There is no host yet.' }
        : model.respond(request),
    )
    await composition.say(agent, 'Gather both halves and join them.')
    expect(composition.llm.requests.map(graphToolsOf)).toEqual([TOOLS, TOOLS])
    expect(composition.llm.requests[1]?.answeredCall?.result).toContain('[agent-graph-unavailable]')

    await composition.add('graph-host', graphHost)
    await composition.say(agent, 'Try again.')
    expect(composition.llm.failures).toEqual([])
    const last = agent.session.events.findLast((event) => event.type === 'assistant/message')
    expect(JSON.stringify(last?.data)).toContain(`The joined nonce ${model.nonce()} is the answer.`)
  })
})

describe('a composition without a host of agent graphs', () => {
  it('answers that agent graphs are unavailable, and says so once in the log', async () => {
    const composition = await boot({
      file: join(ROOT, 'cordis.yml'),
      patches: [{ id: 'graph-host', disabled: true }],
    })
    expect(composition.unfinishedRows()).toEqual([])
    const answers: Record<string, object> = {
      update_agent_graph: {
        operation: 'add_work',
        addWork: [{ workId: 'one', instruction: 'Do one thing.' }],
      },
      view_agent_graph: {},
      yield_agent_graph: {},
    }
    composition.llm.play(({ answeredCall }) =>
      answeredCall === undefined
        ? { toolCalls: Object.entries(answers).map(([name, args]) => ({ name, arguments: args })) }
        : { text: 'Then not.' },
    )
    const agent = await composition.openSession({ id: 'alone' })
    await composition.say(agent, 'Supervise something.')
    const [, second] = composition.llm.requests
    const unavailable = expect.stringContaining('[agent-graph-unavailable]')
    expect(TOOLS.map((tool) => second?.resultsOf(tool))).toEqual(TOOLS.map(() => [unavailable]))
    expect(composition.linesOf('dsh-tool-graph', 'warn')).toEqual([
      expect.stringMatching(/agentGraphController.*\[agent-graph-unavailable\]/u),
    ])
  })
})

describe('a service that is missing', () => {
  const gaps = [
    { missing: 'durableLog', provider: 'dsh-durable-log', user: 'dsh-graph-control', gives: 'graphControl' },
    {
      missing: 'durableLog',
      provider: 'dsh-durable-log',
      user: 'dsh-agent-loop-host',
      gives: 'agentLoopHost',
    },
    {
      missing: 'graphControl',
      provider: 'dsh-graph-control',
      user: 'dsh-graph-host',
      gives: 'agentGraphController',
    },
    {
      missing: 'agentLoopHost',
      provider: 'dsh-agent-loop-host',
      user: 'dsh-graph-host',
      gives: 'agentGraphController',
    },
  ] as const

  it.each(gaps)(
    '$missing costs $user one warning, not its row',
    async ({ missing, provider, user, gives }) => {
      const composition = await boot({
        rows: [...hostRows, ...bundleRows.filter(({ name }) => name !== provider)],
      })
      expect(composition.unfinishedRows()).toEqual([])
      expect(composition.ctx.get(gives)).toBeUndefined()
      expect(composition.linesOf(user, 'warn')).toEqual([expect.stringContaining(missing)])

      await composition.add('late', provider)
      expect(composition.unfinishedRows()).toEqual([])
      await expect.poll(() => composition.ctx.get(gives)).toBeDefined()
      await supervise(composition)
    },
  )

  it.each(Object.keys(MEMBERS))('%s alone is active and warns at most once', async (name) => {
    const composition = await boot({ rows: [...hostRows, row('alone', name)] })
    expect(composition.unfinishedRows()).toEqual([])
    expect(composition.linesOf(name, 'warn').length).toBeLessThanOrEqual(1)
    expect(composition.logs.filter(({ type }) => type === 'error')).toEqual([])
    const agent = await composition.openSession({ id: 'alone' })
    await composition.say(agent, 'Say something.')
    expect(agent.session.events.findLast((event) => event.type === 'turn/end')?.data).toMatchObject({
      reason: { kind: 'completed' },
    })
  })
})

describe('the meta bundle beside its members', () => {
  const metaPatch = () => loadOverlayPatches('test', join(ROOT, 'cordis.patch.yml'))
  const memberPatches = () =>
    Object.values(MEMBERS).flatMap((folder) =>
      loadOverlayPatches('test', join(ROOT, 'packages', folder, 'cordis.patch.yml')),
    )

  it('brings every member itself, and tells that all are at work', async () => {
    const composition = await boot({ rows: hostRows, patches: metaPatch() })
    expect(composition.unfinishedRows()).toEqual([])
    expect(composition.linesOf('dsh-graph', 'info')).toEqual(['all members are at work'])
    await supervise(composition)
  })

  it.each([
    ['first', () => [...metaPatch(), ...memberPatches()]],
    ['last', () => [...memberPatches(), ...metaPatch()]],
  ])(
    'boots once when its rows come %s, with one line for each row that stands by',
    async (_order, patches) => {
      const composition = await boot({ rows: hostRows, patches: patches() })
      expect(composition.unfinishedRows()).toEqual([])
      const standsBy = [expect.stringContaining('stands by')]
      expect(Object.keys(MEMBERS).map((name) => composition.linesOf(name, 'info'))).toEqual(
        Object.keys(MEMBERS).map(() => standsBy),
      )
      expect(composition.logs.filter(({ type }) => type === 'warn' || type === 'error')).toEqual([])
      await supervise(composition)
      const root = composition.llm.requests.find((request) => speakerOf(request) === 'root')
      expect(graphToolsOf(root)).toEqual(TOOLS)
      expect(root?.system.split(SECTION)).toHaveLength(2)
    },
  )

  it('works on from a second row when the first one goes', async () => {
    const composition = await boot({
      rows: [...hostRows, ...bundleRows.filter(({ name }) => name !== 'dsh-graph-host')],
    })
    await composition.add('host-one', 'dsh-graph-host')
    await composition.add('host-two', 'dsh-graph-host')
    await supervise(composition, 'before')
    await composition.remove('host-one')
    expect(composition.ctx.get('agentGraphController')).toBeDefined()
    await supervise(composition, 'after')
  })
})

describe('the end of a composition', () => {
  it('takes every service and tool with it, and another one goes on with the data', async () => {
    const home = join(stack.use(tempFolder('home')).path, 'home')
    const first = await Composition.boot({ rows, home })
    await supervise(first, 'first')
    const { ctx } = first
    await first[Symbol.asyncDispose]()
    expect(missingServices(ctx)).toEqual(SERVICES)
    // SQLite removes its companions when the last handle is closed.
    expect(existsSync(join(home, 'graph', 'log.sqlite'))).toBe(true)
    expect(existsSync(join(home, 'graph', 'log.sqlite-wal'))).toBe(false)

    const second = await boot({ rows, home })
    const epoch = await second.ctx.graphControl.currentEpoch('first')
    expect(epoch).toBeDefined()
    expect(await second.ctx.graphControl.readGraph(epoch?.graphId ?? '')).toMatchObject({ closed: true })
    await supervise(second, 'second')
  })

  it('leaves nothing that keeps a process alive', async () => {
    const script = join(ROOT, 'tests', 'support', 'boot-then-leave.ts')
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] })
    stack.defer(() => void child.kill('SIGKILL'))
    const said: Buffer[] = []
    child.stdout.on('data', (part: Buffer) => said.push(part))
    child.stderr.on('data', (part: Buffer) => said.push(part))
    const [code] = await once(child, 'close')
    expect(Buffer.concat(said).toString('utf8')).toBe('disposed\n')
    expect(code).toBe(0)
  })
})
