/** A DSH core with a model in process and a router for it. */
import { LlmRuntime, type GenerateOptions, type Message } from '@deepseek-ai/dsh-llm'
import {
  createGraphDefinition,
  GraphRoutingAgent,
  type GraphDefinitionOptions,
  type GraphRoutingConfig,
} from '../src/index.ts'
import { bootAgents, bootGraphs, type Host } from './host.ts'
import { ModelInProcess, type Said, type Says } from './model-in-process.ts'

export { calls, type Said } from './model-in-process.ts'

export interface RoutingHost extends Host {
  readonly model: ModelInProcess
  readonly requests: readonly GenerateOptions[]
  router(config?: Partial<GraphRoutingConfig>): GraphRoutingAgent
  /** Mounts a graph from its options; `name` gives the rest. */
  graph(options: Partial<GraphDefinitionOptions> & { name: string }): void
  /** Texts of the tool results of a request, oldest first. */
  told(request: number): string[]
}

async function routing(host: Host, says: Says | readonly Said[]): Promise<RoutingHost> {
  const list = typeof says === 'function' ? undefined : says
  const model = new ModelInProcess((request, index) => {
    const said = typeof says === 'function' ? says(request, index) : list?.[index]
    if (said === undefined) throw new Error(`nobody expected model call ${index}`)
    return said
  })
  if (host.ctx.get('llm') === undefined) await host.ctx.plugin(LlmRuntime)
  host.ctx.get('llm')?.registerAdapter(['test'], model)
  return {
    ...host,
    model,
    requests: model.requests,
    router: (config = {}) => new GraphRoutingAgent(host.ctx, { provider: 'test', model: 'm', ...config }),
    graph: (options) => {
      const definition = createGraphDefinition({
        description: `The graph ${options.name}.`,
        parameters: {},
        build: () => ({ invoke: async (input) => ({ ran: options.name, input }) }),
        ...options,
      })
      host.graphTools().mount(definition, host.ctx)
    },
    told: (request) => toldIn(model.requests[request]?.messages ?? []),
  }
}

export function toldIn(messages: readonly Message[]): string[] {
  return messages.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === 'tool-result'
        ? block.content.map((part) => (part.type === 'text' ? part.text : part.type)).join('')
        : [],
    ),
  )
}

/** The plugin, a tool runtime and a model. */
export async function bootRouting(says: Says | readonly Said[]): Promise<RoutingHost> {
  return routing(await bootGraphs(), says)
}

/** The same with agents. */
export async function bootRoutingAgents(says: Says | readonly Said[]): Promise<RoutingHost> {
  return routing(await bootAgents(), says)
}

/** A host with the graphs `echo_graph`, which takes a topic, and `search_graph`, which takes nothing. */
export async function bootTwo(says: Says | readonly Said[]): Promise<RoutingHost> {
  const host = await bootRouting(says)
  host.graph({ name: 'echo_graph', parameters: { topic: { type: 'string', required: true } } })
  host.graph({ name: 'search_graph' })
  return host
}

/** The error a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const nothing = Symbol('nothing')
  const error = await promise.then(
    () => nothing,
    (thrown: unknown) => thrown,
  )
  if (error === nothing) throw new Error('it resolved')
  return error
}
