/** The settings of the host, and the catalog of operator kinds that they describe. */
import z from '@deepseek-ai/schemastery'
import type { OperatorCatalog } from 'dsh-tool-graph'
import { GraphHostError } from './errors.ts'

/** One kind of operator that a work may name as `agentId`. */
export interface OperatorKind {
  readonly description: string
  /** Provider and model of its sessions; default: those of the root. Given together. */
  readonly provider?: string
  readonly model?: string
  /** Replaces the deployment's persona in the operator's prompt. */
  readonly persona?: string
  /** The only tools of the root's that it keeps; default: all but the graph tools, which are the root's alone. */
  readonly tools?: readonly string[]
}

export interface Config {
  readonly operators: Readonly<Record<string, OperatorKind>>
  /** Activations of one graph that may be under way at once. */
  readonly maxNewActivations: number
  /** A run of an operator ends `timed-out` after this many milliseconds. */
  readonly operatorTimeoutMs: number
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
}

const OperatorKindSchema: z<OperatorKind> = z.object({
  description: z.string().default(''),
  provider: z.string(),
  model: z.string(),
  persona: z.string(),
  // A list is empty by default, and an empty list keeps no tool at all.
  tools: z.array(z.string()).default(undefined as never),
}) as z<OperatorKind>

export const Config: z<Config> = z.object({
  operators: z.dict(OperatorKindSchema).default({}).description('Kinds of operators by agentId.'),
  maxNewActivations: z.natural().min(1).max(256).default(8).description('Activations at once, per graph.'),
  operatorTimeoutMs: z.natural().min(1_000).default(600_000).description('Deadline of an operator run, ms.'),
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

/** What the model may name. */
export function catalogOf(config: Config): OperatorCatalog {
  const kinds = { [DEFAULT_KIND]: DEFAULT_OPERATOR, ...config.operators }
  return {
    agents: Object.entries(kinds).map(([id, { description }]) => ({ id, description })),
    presets: [],
  }
}
