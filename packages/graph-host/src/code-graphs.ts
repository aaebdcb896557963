/**
 * Code graphs as operators: a graph of `ctx.graphTools` runs in this process, without a session and
 * without a model.
 *
 * Owns: what runs here, and the mark in the log that an attempt was begun. A run does not outlive its
 * process: the next one finds the mark and no run, and the attempt is lost; the work's replay policy
 * decides what follows. Does not own: what a graph may do, nor any state of the agent graph.
 */
import { DurableLogError, type DurableLog } from 'dsh-durable-log'
import type { JsonValue } from 'dsh-graph-control'
import type { Activation, ActivationEnd, GraphExecutor } from 'dsh-tool-graph'
import { GraphHostError } from './errors.ts'
import { untilAborted } from './loop-runs.ts'

export interface CodeGraphCall {
  readonly signal: AbortSignal
  readonly callId: string
  readonly idempotencyKey: string
}

/** What is used of a graph listed in `ctx.graphTools`. */
export interface CodeGraph {
  readonly name: string
  readonly description: string
  readonly asOperator: boolean
  readonly parameters: { readonly properties?: Readonly<Record<string, unknown>> }
  check(args: unknown): readonly string[]
  run(args: unknown, call: CodeGraphCall): Promise<unknown>
}

/** What is used of `ctx.graphTools`. */
export interface CodeGraphRegistry {
  get(name: string): CodeGraph | undefined
  list(): readonly CodeGraph[]
}

export interface CodeGraphsDeps {
  /** Looked up at each use: the row that provides it may come and go. */
  readonly registry: () => CodeGraphRegistry | undefined
  readonly log: DurableLog | undefined
  readonly timeoutMs: number
}

interface RunningGraph {
  readonly abort: AbortController
  readonly end: Promise<ActivationEnd>
}

/** Items of a list that a graph answers with become artifacts, at most so many. */
const MAX_ARTIFACTS = 64

export class CodeGraphs implements GraphExecutor {
  private readonly deps: CodeGraphsDeps
  private readonly runs = new Map<string, RunningGraph>()
  private readonly stops = new Map<string, string>()

  constructor(deps: CodeGraphsDeps) {
    this.deps = deps
  }

  /** Graphs whose authors let agent graphs run them. */
  catalog(): readonly { readonly id: string; readonly description: string }[] {
    const graphs = this.deps.registry()?.list() ?? []
    return graphs
      .filter((graph) => graph.asOperator)
      .map(({ name, description }) => ({ id: name, description }))
  }

  /** Why these arguments would be refused; empty when they would not. */
  check(name: string, args: JsonValue | undefined): readonly string[] {
    return args === undefined ? [] : (this.deps.registry()?.get(name)?.check(args) ?? [])
  }

  async start(activation: Activation, prompt: string): Promise<void> {
    const { runId } = activation
    if (this.runs.has(runId)) return
    const graph = this.graphOf(activation)
    const args = argumentsOf(graph, activation, prompt)
    const problems = graph.check(args)
    if (problems.length > 0)
      throw new GraphHostError(
        'run-refused',
        `graph "${graph.name}" refuses its arguments: ${problems.join('; ')}`,
      )
    if (!(await this.markBegun(activation)) || this.runs.has(runId)) return
    const abort = new AbortController()
    const cause = this.stops.get(runId)
    if (cause !== undefined) abort.abort(new Error(cause))
    this.runs.set(runId, { abort, end: this.run(graph, args, activation, abort) })
  }

  async observe({ runId }: Activation, signal: AbortSignal): Promise<ActivationEnd> {
    const running = this.runs.get(runId)
    if (running === undefined)
      return { outcome: 'interrupted', reason: 'the process in which the graph ran is gone' }
    // The run belongs to this process: whoever stops watching it stops it.
    const onAbort = () => running.abort.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    try {
      // A graph that does not listen to its signal is not waited for.
      return await Promise.race([running.end, untilAborted(signal)])
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.runs.delete(runId)
      this.stops.delete(runId)
    }
  }

  async cancel({ runId }: Activation, reason: string): Promise<void> {
    this.stops.set(runId, reason)
    this.runs.get(runId)?.abort.abort(new Error(reason))
  }

  private graphOf({ work }: Activation): CodeGraph {
    const graph = this.deps.registry()?.get(work.target.id)
    if (graph?.asOperator === true) return graph
    throw new GraphHostError(
      'unknown-operator',
      `work "${work.workId}" asks for graph "${work.target.id}", which this host does not have as an operator`,
    )
  }

  private async run(
    graph: CodeGraph,
    args: unknown,
    { claim, runId }: Activation,
    abort: AbortController,
  ): Promise<ActivationEnd> {
    const { timeoutMs } = this.deps
    const timer = setTimeout(
      () => abort.abort(new Error(`the graph passed its deadline of ${timeoutMs} ms`)),
      timeoutMs,
    )
    try {
      // Another attempt is the same deed; a retry that somebody asks for is another one.
      const call = { signal: abort.signal, callId: runId, idempotencyKey: claim.claimId }
      return resultEnd(await graph.run(args, call))
    } catch (error) {
      const stopped = this.stops.get(runId)
      if (stopped !== undefined) return { outcome: 'aborted', reason: stopped }
      return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
    } finally {
      clearTimeout(timer)
    }
  }

  /** @returns false when an attempt of this id was begun before, here or in a process that is gone. */
  private async markBegun({ graphId, runId }: Activation): Promise<boolean> {
    const { log } = this.deps
    if (log === undefined) return true
    try {
      // Beside the results of the graph, so that it goes with them.
      await log.append(`result/${graphId}/begun:${runId}`, 0, [{ type: 'begun', data: { v: 1 } }])
      return true
    } catch (error) {
      if (error instanceof DurableLogError && error.code === 'conflict') return false
      throw error
    }
  }
}

/** The work's own arguments, or its prompt as the one input; inputs where the graph declares them. */
function argumentsOf({ parameters }: CodeGraph, { work }: Activation, prompt: string): unknown {
  const declared = Object.keys(parameters.properties ?? {})
  if (work.args !== undefined) return work.args
  const [only = 'input'] = declared.length === 1 ? declared : ['input']
  return { [only]: prompt }
}

/** A text is the conclusion; of a list each item is an artifact too, so that a `forEach` can go over it. */
function resultEnd(value: unknown): ActivationEnd {
  const conclusion = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  if (!Array.isArray(value) || value.length > MAX_ARTIFACTS) return { outcome: 'completed', conclusion }
  const artifacts = value.map((item: unknown, at) => ({
    name: String(at + 1),
    text: typeof item === 'string' ? item : JSON.stringify(item, null, 2),
  }))
  return { outcome: 'completed', conclusion, ...(artifacts.length === 0 ? {} : { artifacts }) }
}
