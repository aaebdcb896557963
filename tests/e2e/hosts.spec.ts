/**
 * Two hosts of the real DSH on one PostgreSQL with shared lanes: what one accepts the other can tell of,
 * and what a killed one ran goes on at the other.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  startPostgres,
  type PostgresServer,
} from '../../packages/durable-log/tests/support/postgres-server.ts'
import { query } from '../../packages/durable-log/tests/support/postgres.ts'
import { agentCall } from '../support/agent-rpc.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { answersIn, DshWeb } from '../support/dsh-web.ts'
import { gatedModel } from '../support/gated-model.ts'
import { Service } from '../support/service.ts'
import { raiseStage, type Stage } from '../support/stage.ts'
import { speakerOf } from '../support/supervising-model.ts'

const PATCH = `
- id: dsh-graph-log
  config:
    backend: postgres
- id: dsh-graph-agent-loop-host
  config:
    engine: pg-boss
    recover: all
    afterCrash: resume
`

/** Sessions in the log in the place of a folder that the hosts share. */
const SESSIONS = `
- id: session-persistence-jsonl
  disabled: true
- insert:
    - id: graph-sessions
      name: dsh-durable-log/sessions
`

let stage: Stage
let bench: DshBench
let postgres: PostgresServer

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  postgres = await startPostgres()
  await bench.plugin('web', 'add', stage.package('dsh-graph').tarball)
  writeFileSync(join(bench.home, 'cordis.patch.yml'), PATCH)
})

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await postgres?.stop()
})

const start = () => Service.start(bench, { DATABASE_URL: postgres.url, DSH_GRAPH_DRAIN_MS: '0' })

async function accept({ url }: Service, sessionKey: string, message: string): Promise<string> {
  const request = { sessionKey, message, idempotencyKey: message, cwd: bench.workspace }
  return (await agentCall<{ runId: string }>(url, 'agent', request)).runId
}

interface Outcome {
  readonly status: string
  readonly state: string
  readonly reply?: string
}

function wait({ url }: Service, runId: string): Promise<Outcome> {
  return agentCall(url, 'agent.wait', { runId, timeoutMs: 60_000 })
}

/** The host in whose lanes the run is under way. */
async function runningAt(hosts: readonly Service[], runId: string): Promise<number> {
  for (;;) {
    for (const [index, { url }] of hosts.entries()) {
      const { lanes } = await agentCall<{ lanes: readonly { running?: string }[] }>(url, 'lanes', {})
      if (lanes.some(({ running }) => running === runId)) return index
    }
  }
}

/** The model's part of the graph that every session is asked for, and the answer that it ends with. */
async function graphAt(service: Service) {
  const model = gatedModel('gamma')
  stage.llm.play(model.respond)
  const gammas = () => stage.llm.requests.filter((request) => speakerOf(request) === 'gamma').length
  const sessionId = await DshWeb.at(service.url).createSession({ cwd: bench.workspace })
  await DshWeb.at(service.url).prompt(sessionId, 'Gather both halves and join them.')
  await DshWeb.at(service.url).historyWhere(sessionId, () => gammas() > 0)
  const answered = ({ url }: Service) =>
    DshWeb.at(url).historyWhere(sessionId, (events) => {
      const nonce = model.nonce()
      return nonce !== undefined && (answersIn(events).at(-1) ?? '').includes(nonce)
    })
  return { model, sessionId, answered, gammas }
}

describe('a graph on one of two hosts', () => {
  it('is done there', async () => {
    await using one = await start()
    await using _other = await start()
    const { answered, model, gammas } = await graphAt(one)
    model.releaseAll()
    await answered(one)
    expect(gammas()).toBe(1)
  })

  it('goes on at the other one when its host is killed', async () => {
    await using one = await start()
    await using other = await start()
    const { answered, model } = await graphAt(one)
    await one[Symbol.asyncDispose]()
    model.releaseAll()
    expect(await answered(other)).not.toEqual([])
  })
})

describe.each([
  ['a folder that they share', 'files', PATCH],
  ['the log', 'log', PATCH + SESSIONS],
])('two hosts on one database, with their sessions in %s,', (_place, name, patch) => {
  beforeAll(() => writeFileSync(join(bench.home, 'cordis.patch.yml'), patch))

  it('tell of runs that the other one accepted, and go on with those of one that is killed', async () => {
    const gates = new Map<string, Promise<void>>()
    stage.llm.play(async (request) => {
      for (const [word, gate] of gates) if (request.lastSaid.includes(word)) await gate
      return { text: `You said: ${request.lastSaid}` }
    })
    await using one = await start()
    await using other = await start()
    const runs = await Promise.all([
      accept(one, `${name} a`, 'first of a'),
      accept(other, `${name} b`, 'first of b'),
    ])
    for (const [index, runId] of runs.entries()) {
      const asked = index === 0 ? other : one
      expect(await wait(asked, runId)).toMatchObject({
        status: 'ok',
        reply: expect.stringContaining('first'),
      })
    }
    const gate = Promise.withResolvers<void>()
    gates.set('second', gate.promise)
    const runId = await accept(one, `${name} a`, 'second of a')
    const queued = await accept(other, `${name} a`, 'third of a')
    const hosts = [one, other]
    const victim = hosts[await runningAt(hosts, runId)]
    const survivor = hosts.find((host) => host !== victim)
    if (victim === undefined || survivor === undefined) throw new Error('nobody runs it')
    await victim[Symbol.asyncDispose]()
    gates.delete('second')
    gate.resolve()
    expect(await wait(survivor, runId)).toMatchObject({ status: 'ok' })
    expect(await wait(survivor, queued)).toMatchObject({
      status: 'ok',
      reply: expect.stringContaining('third of a'),
    })
    const kept = await query<{ count: number }>(
      postgres.url,
      "SELECT count(*)::int AS count FROM durable_log.entries WHERE starts_with(stream, 'session/')",
    )
    expect((kept[0]?.count ?? 0) > 0).toBe(name === 'log')
    survivor.terminate()
    expect((await survivor.end(20_000)).code).toBe(0)
  })
})
