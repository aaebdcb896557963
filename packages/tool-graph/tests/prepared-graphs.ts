/**
 * The graphs that the corpus is played against, see `corpus/case.ts`: made once in a SQLite file, of
 * which each call gets a copy.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { epochGraphId, type GraphControlStore } from 'dsh-graph-control'
import type { ControllerOptions } from '../src/index.ts'
import {
  bootDsh,
  callTool,
  HandExecutor,
  makeAgent,
  makeController,
  mountTools,
  onEnd,
  until,
} from './host.ts'
import { type Ids, work } from './corpus/case.ts'

const FILE = 'log.sqlite'

const CATALOG = {
  agents: [{ id: 'default' }, { id: 'writer' }],
  presets: [{ id: 'reviewer' }],
  graphs: [{ id: 'digest' }],
  models: [{ id: 'm1', efforts: ['low', 'high'] }],
}

function checkArgs(_graph: string, args: unknown): readonly string[] {
  return typeof args === 'object' && args !== null && 'of' in args ? [] : ['of is missing']
}

function optionsOf(executor: HandExecutor): ControllerOptions {
  return { executor, catalog: () => CATALOG, checkArgs }
}

/** A root session with tools and a controller over the log in this folder. */
export async function openGraphs(folder: string) {
  const log = sqliteLog({ path: join(folder, FILE) })
  onEnd(() => log.close())
  const ctx = await bootDsh()
  await mountTools(ctx)
  const root = await makeAgent(ctx, 'root')
  const executor = new HandExecutor(({ work: { workId } }) => {
    if (workId === 'gather') return { outcome: 'completed', conclusion: 'gathered' }
    if (workId === 'broken') return { outcome: 'failed', reason: 'it broke' }
    if (workId === 'old' || workId === 'scrap') return { outcome: 'completed', conclusion: workId }
    return undefined
  })
  const made = await makeController('root', optionsOf(executor), log)
  ctx.provide('agentGraphController', made.controller)
  return { ...made, ctx, root, executor }
}

/** A copy of what {@link prepareGraphs} made. */
export async function copyGraphs(from: string, to: string) {
  cpSync(from, to, { recursive: true })
  const rig = await openGraphs(to)
  await rig.controller.recover()
  return rig
}

/** Makes the graphs in this folder and leaves them as a process leaves them that ends. */
export async function prepareGraphs(folder: string): Promise<Ids> {
  const { controller, ctx, log, root, store, executor } = await openGraphs(folder)
  const [earlier, current] = [epochGraphId('root', 1), epochGraphId('root', 2)]
  const update = async (args: object) => {
    const result = await callTool(ctx, root, 'update_agent_graph', args)
    if (result.isError) throw new Error(JSON.stringify(result.content))
  }
  await update({ addWork: [work('old'), work('scrap')] })
  await until(async () => (await store.readGraph(earlier))?.counts.pending === 0)
  await update({ finish: { resultIds: ['old'], reason: 'done' } })
  await update({
    addWork: [work('gather'), work('broken'), work('running'), work('later', { inputIds: ['running'] })],
  })
  await until(async () => (await store.readGraph(current))?.counts.terminal === 2)
  await until(() => executor.started.some((started) => started.startsWith('running')))
  await callTool(ctx, root, 'view_agent_graph', {})
  const ids = {
    current,
    earlier,
    record: await recordOf(store, current, 'gather'),
    earlierRecord: await recordOf(store, earlier, 'old'),
  }
  await controller.dispose()
  await store.close()
  await log.close()
  return ids
}

async function recordOf(store: GraphControlStore, graphId: string, workId: string): Promise<string> {
  const record = (await store.readGraph(graphId))?.works.get(workId)?.recordIds[0]
  if (record === undefined) throw new Error(`${workId} left no record`)
  return record
}
