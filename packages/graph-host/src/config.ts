/** The settings of the host, and the catalog of operator kinds that they describe. */
import z from '@deepseek-ai/schemastery'
import type { CatalogEntry, GraphLimits, OperatorCatalog } from 'dsh-tool-graph'
import { GraphHostError } from './errors.ts'

/** One kind of operator that a work may name as `agentId`. */
export interface OperatorKind {
  readonly description: string
  /** Provider and model of its sessions; default: those of the root. Given together. */
  readonly provider?: string
  readonly model?: string
  /** Reasoning effort of that model, or of the root's. */
  readonly effort?: string
  /** The preset its sessions are composed from; default: that of the root. */
  readonly preset?: string
  /** Replaces the deployment's persona in the operator's prompt. */
  readonly persona?: string
  /** `isolated`: a git worktree of its own; default: what the configuration says for all. */
  readonly workspace?: 'shared' | 'isolated'
  /** The only tools of the root's that it keeps; default: all but the graph tools, which are the root's alone. */
  readonly tools?: readonly string[]
}

/** A model that a work may name. */
export interface ModelChoice {
  readonly provider: string
  readonly model: string
  readonly description?: string
  /** Efforts that a work may ask for; default: those that the provider lists. */
  readonly efforts?: readonly string[]
}

export interface Config {
  readonly operators: Readonly<Record<string, OperatorKind>>
  /** Where operators work whose kind says nothing: in the root's directory, or in a git worktree each. */
  readonly workspace: 'shared' | 'isolated'
  /** Where worktrees are; default: `graph/worktrees` in the DSH home. */
  readonly worktreeFolder?: string
  /** Models by the name that a work gives; without any, works have the models of their kinds. */
  readonly models: Readonly<Record<string, ModelChoice>>
  /** The presets that a work may ask for; default: all that DSH lists. */
  readonly presets?: readonly string[]
  /** `narrowed`: an operator of a preset keeps of its tools those that the root has as well. */
  readonly presetTools: 'narrowed' | 'own'
  /** Ceilings of a graph and of its root. */
  readonly limits: GraphLimits
  /** How deep sessions may be delegated under a root: its operators are 1, their children 2. */
  readonly maxDepth: number
  /** Activations of one graph that may be under way at once. */
  readonly maxNewActivations: number
  /** A run of an operator ends `timed-out` after this many milliseconds. */
  readonly operatorTimeoutMs: number
  /** An attempt fails at so many calls of tools that its operator does not have. */
  readonly unknownToolCalls: number
  /** How long changes gather before the root is woken, milliseconds. */
  readonly wakeDelayMs: number
  /** How long another process waits for a root whose process is stuck, milliseconds. */
  readonly leaseMs: number
  /**
   * Whether an idle root that expects a wake keeps its process from ending. `auto`: where no web
   * server runs, because a headless process ends when its session is idle.
   */
  readonly holdIdleRoot: 'auto' | 'always' | 'never'
  /** Whether the shell command `dsh-graph` can act through this process, by a port on 127.0.0.1. */
  readonly door: boolean
  /**
   * Whether open graphs go on although nobody opened their root here. `auto`: where a web server runs.
   * A headless process never takes up what others left.
   */
  readonly adoptRoots: 'auto' | 'always' | 'never'
  /** Roots that are brought back at a time. */
  readonly maxAdoptedRoots: number
}

const Workspace = z.union([z.const('shared' as const), z.const('isolated' as const)])

const OperatorKindSchema: z<OperatorKind> = z.object({
  description: z.string().default(''),
  provider: z.string(),
  model: z.string(),
  effort: z.string(),
  preset: z.string(),
  persona: z.string(),
  workspace: Workspace,
  // A list is empty by default, and an empty list keeps no tool at all.
  tools: z.array(z.string()).default(undefined as never),
}) as z<OperatorKind>

const ModelChoiceSchema: z<ModelChoice> = z.object({
  provider: z.string().required(),
  model: z.string().required(),
  description: z.string().default(''),
  efforts: z.array(z.string()).default(undefined as never),
}) as z<ModelChoice>

export const Config: z<Config> = z.object({
  operators: z.dict(OperatorKindSchema).default({}).description('Kinds of operators by agentId.'),
  workspace: z
    .union([z.const('shared' as const), z.const('isolated' as const)])
    .default('shared')
    .description('Whether an operator has a git worktree of its own, unless its kind says.'),
  worktreeFolder: z.string().description('Where worktrees are. Default: graph/worktrees in the DSH home.'),
  models: z.dict(ModelChoiceSchema).default({}).description('Models that a work may name.'),
  presets: z
    .array(z.string())
    .default(undefined as never)
    .description('Presets that a work may ask for.'),
  presetTools: z
    .union([z.const('narrowed' as const), z.const('own' as const)])
    .default('narrowed')
    .description('Whether an operator of a preset has tools that its root lacks.'),
  limits: z
    .object({
      maxGraphs: z.natural().min(1).default(1_000).description('Graphs that one root may open.'),
      maxOperators: z.natural().min(1).default(10_000).description('Operators of one graph.'),
      maxGraphMs: z.natural().min(1_000).description('How long a graph may go on, ms; default: no limit.'),
      maxTokens: z.natural().min(1).description('Tokens of all activations of a graph; default: no limit.'),
      tokensPerActivation: z
        .natural()
        .min(1)
        .default(50_000)
        .description('Tokens reserved for each attempt under way.'),
    })
    .description('Ceilings of a graph and of its root.'),
  maxDepth: z.natural().max(16).default(3).description('Levels of delegation under a root.'),
  maxNewActivations: z.natural().min(1).max(256).default(8).description('Activations at once, per graph.'),
  operatorTimeoutMs: z.natural().min(1_000).default(600_000).description('Deadline of an operator run, ms.'),
  unknownToolCalls: z
    .natural()
    .min(1)
    .max(100)
    .default(1)
    .description('An attempt fails at so many calls of tools that are not there.'),
  wakeDelayMs: z
    .natural()
    .max(60_000)
    .default(250)
    .description('Changes gather this long before a wake, ms.'),
  leaseMs: z
    .natural()
    .min(1_000)
    .max(3_600_000)
    .default(120_000)
    .description('How long the lease of a root session holds without renewal, ms.'),
  holdIdleRoot: z
    .union([z.const('auto' as const), z.const('always' as const), z.const('never' as const)])
    .default('auto')
    .description('Keep a process alive while its idle root expects a wake.'),
  door: z.boolean().default(true).description('Let the shell command dsh-graph act through this process.'),
  adoptRoots: z
    .union([z.const('auto' as const), z.const('always' as const), z.const('never' as const)])
    .default('auto')
    .description('Go on with open graphs of roots that nobody opened.'),
  maxAdoptedRoots: z.natural().min(1).max(64).default(4).description('Roots brought back at a time.'),
}) as z<Config>

/** @throws GraphHostError `invalid-config` for what the schema cannot see. */
export function checkConfig({ operators }: Config): void {
  for (const [id, { provider, model }] of Object.entries(operators))
    if ((provider === undefined) !== (model === undefined))
      throw new GraphHostError(
        'invalid-config',
        `operator "${id}" has half a route: give provider and model together, or neither for those of the root`,
      )
}

/** The kind that is always there: the root's own model, tools and persona. */
export const DEFAULT_KIND = 'default'

const DEFAULT_OPERATOR: OperatorKind = {
  description: 'A fresh session with the model and tools of the root.',
}

/** The kind of an agent id; `undefined` when the catalog has none. */
export function kindOf(config: Config, agentId: string): OperatorKind | undefined {
  if (Object.hasOwn(config.operators, agentId)) return config.operators[agentId]
  return agentId === DEFAULT_KIND ? DEFAULT_OPERATOR : undefined
}

/** The kind behind a preset that a work asks for by its id. */
export function presetKind(id: string): OperatorKind {
  return { description: '', preset: id }
}

/** What the model may name. */
export function catalogOf(config: Config, presets: readonly CatalogEntry[]): OperatorCatalog {
  const kinds = { [DEFAULT_KIND]: DEFAULT_OPERATOR, ...config.operators }
  return {
    agents: Object.entries(kinds).map(([id, { description }]) => ({ id, description })),
    presets: presets.filter(({ id }) => config.presets?.includes(id) ?? true),
    models: Object.entries(config.models).map(([id, { description = '', efforts }]) => ({
      id,
      description,
      ...(efforts === undefined ? {} : { efforts }),
    })),
  }
}
