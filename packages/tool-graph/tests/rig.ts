/** One root session with tools, a real store on a real medium, and operators whose ends the test decides. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { KV_UNIT_DESCRIPTOR, kvUnitLog, memoryLog, sqliteLog, type DurableLog } from 'dsh-durable-log'
import type { GraphState, Work } from 'dsh-graph-control'
import { jsonBackend } from '../../durable-log/tests/fixtures/json-storage.ts'
import type { ActivationEnd, ControllerOptions } from '../src/index.ts'
import {
  bootDsh,
  callTool,
  HandExecutor,
  makeAgent,
  makeController,
  mountTools,
  onEnd,
  textOf,
} from './host.ts'

export type Medium = 'memory' | 'SQLite' | 'KvUnit'

export const MEDIA: readonly Medium[] = ['SQLite', 'KvUnit']

export async function openMedium(medium: Medium): Promise<DurableLog> {
  if (medium === 'memory') return memoryLog()
  const folder = mkdtempSync(join(tmpdir(), 'tool-graph-'))
  onEnd(async () => rmSync(folder, { recursive: true, force: true }))
  if (medium === 'SQLite') {
    const log = sqliteLog({ path: join(folder, 'log.sqlite') })
    onEnd(() => log.close())
    return log
  }
  const backend = await jsonBackend(folder)
  const log = kvUnitLog(await backend.kv.open(KV_UNIT_DESCRIPTOR))
  onEnd(async () => {
    await log.close()
    await backend.close()
  })
  return log
}

export async function openRig(
  medium: Medium | DurableLog = 'memory',
  options: Partial<ControllerOptions> & { readonly executor?: HandExecutor } = {},
) {
  const log = typeof medium === 'string' ? await openMedium(medium) : medium
  const ctx = await bootDsh()
  await mountTools(ctx)
  const root = await makeAgent(ctx, 'root')
  const executor = options.executor ?? new HandExecutor()
  const made = await makeController('root', { ...options, executor }, log)
  ctx.provide('agentGraphController', made.controller)
  return new Rig(ctx, root, executor, made)
}

type Made = Awaited<ReturnType<typeof makeController>>

export class Rig {
  readonly ctx: Context
  readonly root: Agent
  readonly executor: HandExecutor
  readonly log: Made['log']
  readonly store: Made['store']
  readonly controller: Made['controller']

  constructor(ctx: Context, root: Agent, executor: HandExecutor, { log, store, controller }: Made) {
    this.ctx = ctx
    this.root = root
    this.executor = executor
    this.log = log
    this.store = store
    this.controller = controller
  }

  call(name: 'view' | 'update' | 'yield', args: unknown, callId?: string) {
    return callTool(this.ctx, this.root, `${name}_agent_graph`, args, callId)
  }

  /** The text of a call that is understood. */
  async say(name: 'view' | 'update' | 'yield', args: unknown, callId?: string): Promise<string> {
    const result = await this.call(name, args, callId)
    if (result.isError) throw new Error(textOf(result))
    return textOf(result)
  }

  /** The value of a call that is understood. */
  async ask<T>(name: 'view' | 'update' | 'yield', args: unknown, callId?: string): Promise<T> {
    const result = await this.call(name, args, callId)
    if (result.isError) throw new Error(textOf(result))
    return result.value as T
  }

  /** Code and text of a call that is refused. */
  async refusal(name: 'view' | 'update' | 'yield', args: unknown) {
    const result = await this.call(name, args)
    if (!result.isError) throw new Error(`understood: ${textOf(result)}`)
    return { code: result.error?.info?.code, text: textOf(result) }
  }

  /** The session's next turn begins. */
  beginTurn(turn: number): void {
    this.root.session.append('turn/start', { turn })
  }

  async state(graphId?: string): Promise<GraphState> {
    const id = graphId ?? (await this.store.currentEpoch('root'))?.graphId
    const found = id === undefined ? undefined : await this.store.readGraph(id)
    if (found === undefined) throw new Error('the root has no such graph')
    return found
  }

  async work(workId: string): Promise<Work> {
    const work = (await this.state()).works.get(workId)
    if (work === undefined) throw new Error(`there is no work ${workId}`)
    return work
  }

  async status(workId: string): Promise<string> {
    return (await this.work(workId)).status
  }

  /** Ends the run that does a work now. */
  async end(workId: string, end: ActivationEnd): Promise<void> {
    const graph = await this.state()
    const claim = graph.claims.get(graph.works.get(workId)?.claimId ?? '')
    if (claim === undefined) throw new Error(`${workId} has no claim`)
    this.executor.end(claim.attempt > 1 ? `${claim.targetRunId}#${claim.attempt}` : claim.targetRunId, end)
  }

  /** Entries of all streams: what was ever written. */
  async entries(): Promise<number> {
    const { streams } = await this.log.list()
    return streams.reduce((sum, head) => sum + head.seq, 0)
  }
}

export const work = (workId: string, rest: object = {}) => ({ workId, instruction: `do ${workId}`, ...rest })

/** Ends every work at once with its own name as the conclusion. */
export function eager(): HandExecutor {
  return new HandExecutor(({ work: { workId } }) => ({
    outcome: 'completed',
    conclusion: `result of ${workId}`,
  }))
}
