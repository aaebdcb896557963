/** One fresh process of the mount bench: `node mount-process.ts <kind>` prints its sample as JSON. */
import { Context } from '@deepseek-ai/cordis'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime } from '@deepseek-ai/dsh-tools'
import { Annotation, START, StateGraph } from '@langchain/langgraph'
import * as runtime from '../src/index.ts'

/** Neither a tool nor read; read for its description and parameters; a declared tool. */
export type MountKind = 'plain' | 'reading' | 'tool'

export interface MountSample {
  readonly mountUs: number
  /** The same in CPU time of the whole process, which busy neighbours do not stretch as much. */
  readonly mountCpuUs: number
  readonly bareUs: number
  readonly bareCpuUs: number
  readonly lookUpNs: number
  readonly lookUpOfFewNs: number
}

const GRAPHS = 1000
const LOOK_UPS = 200_000

const kind = process.argv[2] as MountKind
const builder = new StateGraph(Annotation.Root({ topic: Annotation<string>, count: Annotation<number> }))
  .addNode('one', () => ({}))
  .addNode('two', () => ({}))
  .addEdge(START, 'one')
  .addEdge('one', 'two')

const parameters = {
  topic: { type: 'string', required: true, description: 'What about.' },
  count: { type: 'integer', default: 1 },
} as const
const declared = { description: 'd', parameters }
const options = { plain: declared, reading: {}, tool: { ...declared, asTool: true } }[kind]

function microsecondsEach(times: number, work: (index: number) => void): number {
  const start = performance.now()
  for (let index = 0; index < times; index++) work(index)
  return ((performance.now() - start) * 1000) / times
}

/** What the work gives, and the CPU time it took, in microseconds for each graph. */
function withCpu(work: () => number): readonly [number, number] {
  const start = process.cpuUsage()
  const given = work()
  const { user, system } = process.cpuUsage(start)
  return [given, (user + system) / GRAPHS]
}

const ctx = new Context()
await ctx.plugin(SystemPrompt, {})
await ctx.plugin(ToolRuntime, {})
await ctx.plugin(runtime, {})
const graphs = ctx.get('graphTools')
const tools = ctx.get('tools')
if (graphs === undefined || tools === undefined) throw new Error('no services')

const define = (index: number): void => {
  runtime.defineGraph({ name: `graph_${index}`, build: () => builder, ...options })
}
const [mountUs, mountCpuUs] = withCpu(() => microsecondsEach(GRAPHS, define))
if (graphs.list().length !== GRAPHS) throw new Error('not all graphs were mounted')
const lookUp = (names: number): number =>
  1000 *
  microsecondsEach(LOOK_UPS, (index) => {
    if (graphs.get(`graph_${index % names}`) === undefined) throw new Error('not found')
  })
lookUp(GRAPHS)
const [lookUpNs, lookUpOfFewNs] = [lookUp(GRAPHS), lookUp(10)]

const bare = runtime.createGraphTool(builder, { name: 'bare', ...declared })
const register = (index: number): void => {
  if (kind === 'tool') tools.register({ ...bare, name: `bare_${index}` })
  else ctx.effect(() => () => undefined, 'bare')
}
const [bareUs, bareCpuUs] = withCpu(() => microsecondsEach(GRAPHS, register))
const sample: MountSample = { mountUs, mountCpuUs, bareUs, bareCpuUs, lookUpNs, lookUpOfFewNs }
process.stdout.write(JSON.stringify(sample))
