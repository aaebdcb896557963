import { createScope } from '@deepseek-ai/dsh-scope'
import { Annotation, END, entrypoint, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, type GraphLike } from '../src/index.ts'
import { echoBuilder } from './graphs.ts'
import { bootAgents, bootGraphs, bootTools, createAgent, define } from './host.ts'
import { hostPlugin } from './person.ts'

const State = Annotation.Root({
  topic: Annotation<string>,
  log: Annotation<string[]>({ reducer: (_, b) => b }),
})
const node = () => ({})

async function pictured(build: () => GraphLike | Promise<GraphLike>) {
  const host = await bootGraphs()
  define({ name: 'g', description: 'What it does.', parameters: {}, build })
  const picture = host.graphTools().describe('g')
  if (picture === undefined) throw new Error('no picture')
  return { host, picture }
}

/** All the ways a graph can go. */
const forked = () =>
  new StateGraph(State)
    .addNode('plan', node, { metadata: { description: 'Thinks.' } })
    .addNode('left', node)
    .addNode('right', node)
    .addNode('join', node)
    .addNode('hand', node, { ends: ['plan', END] })
    .addNode('sub', echoBuilder().compile())
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', () => 'left', { left: 'left', 'the other way': 'right' })
    .addEdge(['left', 'right'], 'join')
    .addConditionalEdges('join', () => 'hand')
    .addEdge('hand', 'sub')

describe('the picture of a graph', () => {
  it('gives nodes, edges and state keys, and compiles nothing (R62)', async () => {
    const builder = forked()
    const compile = vi.spyOn(builder, 'compile')
    const { picture } = await pictured(() => builder)
    expect(picture).toMatchObject({
      name: 'g',
      description: 'What it does.',
      nodes: [
        { name: 'plan', description: 'Thinks.', subgraph: false },
        { name: 'left', subgraph: false },
        { name: 'right', subgraph: false },
        { name: 'join', subgraph: false },
        { name: 'hand', subgraph: false },
        { name: 'sub', subgraph: true },
      ],
      stateKeys: [
        { name: 'topic', accumulated: false },
        { name: 'log', accumulated: true },
      ],
    })
    expect(picture.edges).toEqual([
      { from: START, to: 'plan', conditional: false },
      { from: 'plan', to: 'left', conditional: true },
      { from: 'plan', to: 'right', conditional: true, label: 'the other way' },
      { from: 'left', to: 'join', conditional: false },
      { from: 'right', to: 'join', conditional: false },
      { from: 'join', conditional: true },
      { from: 'hand', to: 'sub', conditional: false },
      { from: 'hand', to: 'plan', conditional: true },
      { from: 'hand', to: END, conditional: true },
      { from: 'sub', to: END, conditional: false },
    ])
    expect(picture.note).toBeUndefined()
    expect(compile).not.toHaveBeenCalled()
  })

  it('draws a Mermaid flowchart', async () => {
    const { picture } = await pictured(forked)
    expect(picture.mermaid.split('\n')).toEqual([
      'flowchart TD',
      '  n0(["start"])',
      '  n1["plan"]',
      '  n2["left"]',
      '  n3["right"]',
      '  n4["join"]',
      '  n5["hand"]',
      '  n6[["sub"]]',
      '  n7(["end"])',
      '  n0 --> n1',
      '  n1 -.-> n2',
      '  n1 -.->|"the other way"| n3',
      '  n2 --> n4',
      '  n3 --> n4',
      '  n4 -.-> n4any("any node")',
      '  n5 --> n6',
      '  n5 -.-> n1',
      '  n5 -.-> n7',
      '  n6 --> n7',
    ])
  })

  it('gives safe ids and quoted labels to whatever nodes are called (4.8 row 67)', async () => {
    const names = ['x_graph', 'end', 'a[b]', 'say "hi"', '# <b>&`x`', 'subgraph', 'grüße', '']
    const build = () => {
      let builder = new StateGraph(State) as unknown as {
        addNode(name: string, run: () => object): typeof builder
        addEdge(from: string, to: string): typeof builder
      }
      for (const name of names) builder = builder.addNode(name, node).addEdge(START, name)
      return builder as unknown as GraphLike
    }
    const { picture } = await pictured(build)
    const drawn = picture.mermaid.split('\n').slice(2, 2 + names.length)
    expect(drawn).toEqual([
      '  n1["x_graph"]',
      '  n2["end"]',
      '  n3["a#91;b#93;"]',
      '  n4["say #34;hi#34;"]',
      '  n5["#35; #60;b#62;#38;#96;x#96;"]',
      '  n6["subgraph"]',
      '  n7["grüße"]',
      '  n8[" "]',
    ])
    for (const line of picture.mermaid.split('\n').slice(1)) {
      expect(line).toMatch(/^ {2}n\d+(\(\["[^"]*"\]\)|\["[^"]*"\]| -->( n\d+)| -\.-> n\d+)$/)
    }
  })

  it('is the same for a compiled graph', async () => {
    const [open, closed] = [await pictured(forked), await pictured(() => forked().compile())]
    expect(closed.picture).toEqual(open.picture)
  })

  it.each([
    ['an entrypoint', () => entrypoint('flow', async () => 1), 'the graph does not show its edges'],
    ['an object of one’s own', () => ({ invoke: async () => 1 }), 'the graph does not show its structure'],
    [
      'a factory that throws',
      () => {
        throw new Error('no database')
      },
      'its build failed: no database',
    ],
  ])('says what %s does not show', async (_, build, note) => {
    const { picture } = await pictured(build as () => GraphLike)
    expect(picture.note).toBe(note)
    expect(picture.edges).toEqual([])
    expect(picture.mermaid).toMatch(/^flowchart TD\n/)
  })

  it('knows an async factory once it has run', async () => {
    const { host, picture } = await pictured(async () => echoBuilder())
    expect(picture).toMatchObject({ nodes: [], note: 'its build is async and has not finished yet' })
    await vi.waitFor(() => expect(host.graphTools().describe('g')?.nodes).toHaveLength(1))
  })

  it('knows the names that a scope sees, and no others', async () => {
    const host = await bootGraphs()
    const member = {}
    const scope = createScope(host.ctx, member)
    host.graphTools().mount(createGraphDefinition({ name: 'own', build: echoBuilder }), scope.ctx)
    expect(host.graphTools().describe('own')).toBeUndefined()
    expect(host.graphTools().describe('own', member)?.name).toBe('own')
    expect(host.graphTools().describe('nobody')).toBeUndefined()
  })
})

interface Commands {
  list(agent: object): readonly { name: string; input?: { hint: string } }[]
  execute(
    agent: object,
    line: string,
    images: readonly never[],
    signal: AbortSignal,
  ): Promise<{ result: { kind: string; text?: string } } | undefined>
}

describe('the /graphs command', () => {
  async function commanded() {
    const host = await bootAgents()
    await host.ctx.plugin(await hostPlugin('dsh-commands'), undefined as never)
    const agent = await createAgent(host.ctx)
    const commands = () => host.ctx.get('commands') as unknown as Commands
    await vi.waitFor(() => expect(commands().list(agent)).toHaveLength(1))
    const run = async (line: string) =>
      (await commands().execute(agent, line, [], new AbortController().signal))?.result
    return { host, agent, commands, run }
  }

  it('lists the graphs that the agent sees', async () => {
    const { host, agent, run, commands } = await commanded()
    expect(commands().list(agent)[0]).toMatchObject({ name: 'graphs', input: { hint: '[name]' } })
    expect((await run('/graphs'))?.text).toContain('No graphs.')
    define({
      name: 'echo',
      description: 'Says it\nagain.',
      build: echoBuilder,
      parameters: {},
      asTool: true,
      asOperator: true,
    })
    host
      .graphTools()
      .mount(
        createGraphDefinition({ name: 'private', build: echoBuilder, description: 'x'.repeat(200) }),
        agent.ctx,
      )
    expect(await run('/graphs')).toEqual({
      kind: 'success',
      text: [
        '  ● echo    tool, operator  Says it again.',
        `  ○ private registry        ${'x'.repeat(91)}…`,
        '',
        'Draw one with /graphs <name>.',
      ].join('\n'),
    })
  })

  it('draws one, async factories included', async () => {
    const { host, run } = await commanded()
    define({ name: 'echo', description: 'Says it again.', parameters: {}, build: async () => echoBuilder() })
    host.graphTools().describe('echo')
    const result = await run('/graphs  echo ')
    expect(result?.kind).toBe('success')
    expect(result?.text).toBe(
      [
        'echo: Says it again.',
        '```mermaid\nflowchart TD\n  n0(["start"])\n  n1["echo"]\n  n2(["end"])\n  n0 --> n1\n  n1 --> n2\n```',
        'State keys: topic, log (accumulated).',
      ].join('\n\n'),
    )
    define({ name: 'opaque', description: 'd', parameters: {}, build: () => ({ invoke: async () => 1 }) })
    expect((await run('/graphs opaque'))?.text).toContain('Note: the graph does not show its structure.')
  })

  it('suggests a name that is near', async () => {
    const { run } = await commanded()
    define({ name: 'echo', build: echoBuilder })
    expect(await run('/graphs ecoh')).toEqual({
      kind: 'error',
      text: 'No graph "ecoh"; did you mean "echo"?',
    })
    expect((await run('/graphs zzz'))?.text).toBe('No graph "zzz"; there is: "echo"')
  })

  it('comes and goes with ctx.commands', async () => {
    const host = await bootAgents()
    const commands = host.ctx.plugin(await hostPlugin('dsh-commands'), undefined as never)
    await commands
    const agent = await createAgent(host.ctx)
    const list = () => (host.ctx.get('commands') as unknown as Commands | undefined)?.list(agent)
    await vi.waitFor(() => expect(list()).toHaveLength(1))
    await commands.dispose()
    expect(list()).toBeUndefined()
    expect(host.warnings()).toEqual([])
  })

  it('is only warned about when somebody else has the name', async () => {
    const host = await bootTools()
    await host.ctx.plugin(await hostPlugin('dsh-commands'), undefined as never)
    const register = Reflect.get(host.ctx.get('commands') ?? {}, 'register') as (command: object) => void
    register.call(host.ctx.get('commands'), {
      name: 'graphs',
      description: 'theirs',
      handler: () => ({ kind: 'success' }),
    })
    await host.load()
    await vi.waitFor(() =>
      expect(host.warnings()).toEqual([expect.stringContaining('there is no /graphs command: ')]),
    )
    define({ name: 'echo', build: echoBuilder })
    expect(host.graphTools().get('echo')).toBeDefined()
  })
})
