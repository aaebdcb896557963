/**
 * The deployment with its PostgreSQL, outside of a container: readiness, SIGTERM in the middle of a
 * graph, a restart, a database that goes away.
 */
import { copyFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  startPostgres,
  type PostgresServer,
} from '../../packages/durable-log/tests/support/postgres-server.ts'
import { ROOT } from '../support/composition.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { answersIn, DshWeb } from '../support/dsh-web.ts'
import { gatedModel, type GatedModel } from '../support/gated-model.ts'
import { Service } from '../support/service.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { speakerOf } from '../support/supervising-model.ts'

let stage: Stage
let bench: DshBench
let postgres: PostgresServer

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  postgres = await startPostgres()
  await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
  copyFileSync(join(ROOT, 'deploy', 'cordis.patch.yml'), join(bench.home, 'cordis.patch.yml'))
})

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await postgres?.stop()
})

function start(drainMs: number): Promise<Service> {
  return Service.start(bench, { DATABASE_URL: postgres.url, DSH_GRAPH_DRAIN_MS: String(drainMs) })
}

/** Begins a graph whose third operator is held at work. */
async function midGraph(
  service: Service,
): Promise<{ readonly sessionId: string; readonly model: GatedModel }> {
  const model = gatedModel('gamma')
  stage.llm.play(model.respond)
  const web = DshWeb.at(service.url)
  const sessionId = await web.createSession({ cwd: bench.workspace })
  const before = gammas()
  await web.prompt(sessionId, 'Gather both halves and join them.')
  await web.historyWhere(sessionId, () => gammas() > before)
  return { sessionId, model }
}

/** As a killed container leaves it: of a process with the number that the host has now. */
function leaveAnOldRunFile(): void {
  const folder = join(bench.home, 'graph', 'run')
  const [name = ''] = readdirSync(folder).filter((file) => file.endsWith('.json'))
  const own = JSON.parse(readFileSync(join(folder, name), 'utf8')) as object
  renameSync(join(folder, name), join(folder, name.replace('.json', '-1.json')))
  writeFileSync(join(folder, name), JSON.stringify({ ...own, port: 1, startedAt: 1 }), { mode: 0o600 })
}

function gammas(): number {
  return stage.llm.requests.filter((request) => speakerOf(request) === 'gamma').length
}

async function answered(service: Service, sessionId: string, model: GatedModel): Promise<void> {
  await DshWeb.at(service.url).historyWhere(sessionId, (events) => {
    const nonce = model.nonce()
    return nonce !== undefined && (answersIn(events).at(-1) ?? '').includes(nonce)
  })
}

describe('a deployed host', () => {
  it('is ready, and tells no secret', async () => {
    await using service = await start(0)
    expect(await service.ready()).toEqual({ status: 200, body: { ready: true, reasons: [] } })
    expect(service.check()).toBe(0)
    leaveAnOldRunFile()
    service.terminate()
    expect((await service.end(20_000)).code).toBe(0)
    expect(service.check()).toBe(1)
    expect(service.stderr).toContain('entry: drained')
    expect(service.stderr).not.toContain(postgres.url)
  })

  it('lets what runs finish at SIGTERM, takes nothing more, and the next one goes on', async () => {
    const before = gammas()
    let graph: Awaited<ReturnType<typeof midGraph>>
    {
      await using service = await start(60_000)
      graph = await midGraph(service)
      service.terminate()
      const { body } = await service.until(({ status }) => status === 503)
      expect(body).toEqual({ ready: false, reasons: ['draining'] })
      graph.model.release('gamma')
      const { code, signal } = await service.end(60_000)
      expect({ code, signal }).toEqual({ code: 0, signal: null })
      expect(service.stderr).toContain('entry: drained')
    }
    await using next = await start(0)
    await answered(next, graph.sessionId, graph.model)
    // What the drain let finish was not done again.
    expect(gammas() - before).toBe(1)
    next.terminate()
    expect((await next.end(20_000)).code).toBe(0)
  })

  it('leaves what takes longer than its limit to the next one', async () => {
    let graph: Awaited<ReturnType<typeof midGraph>>
    {
      await using service = await start(500)
      graph = await midGraph(service)
      const begin = performance.now()
      service.terminate()
      expect((await service.end(20_000)).code).toBe(0)
      // The drain, five seconds that DSH gives itself, and a slow machine.
      expect(performance.now() - begin).toBeLessThan(18_000)
      expect(service.stderr).toContain('entry: 1 run is left to the next process')
    }
    await using next = await start(0)
    graph.model.releaseAll()
    await answered(next, graph.sessionId, graph.model)
    next.terminate()
    expect((await next.end(20_000)).code).toBe(0)
  })

  it('lives without its database, takes no work, and ends in time', async () => {
    await using service = await start(0)
    await postgres.stop()
    const { body } = await service.until(({ status }) => status === 503)
    expect(body).toEqual({ ready: false, reasons: ['log-away'] })
    expect((await fetch(`${service.url}/graph-host/health`)).status).toBe(200)
    service.terminate()
    expect((await service.end(20_000)).code).toBe(0)
  })
})
