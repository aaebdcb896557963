/**
 * A supervised graph in the real `dsh --profile headless`, through its DeepSeek adapter, against a server
 * that fails: some faults DSH heals by asking again, some end a turn, and then graph and root go on.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startMockLlm, type MockFault, type MockLlm, type Responder } from '../support/mock-llm.ts'
import { readLogFile, type LogEntry } from '../support/start-process.ts'
import { speakerOf, supervisingModel } from '../support/supervising-model.ts'
import { tempFolder, type TempFolder } from '../support/temp-folder.ts'

type Speaker = ReturnType<typeof speakerOf>

const PACKAGES = resolve(import.meta.dirname, '..', '..', 'packages')
const DSH = join(
  dirname(createRequire(import.meta.url).resolve('@deepseek-ai/dsh/package.json')),
  'lib/bin.js',
)
const ROWS = ['durable-log', 'graph-control', 'agent-loop', 'tool-graph', 'graph-host', 'graph-runtime']
/** How often DSH asks again; one fault more ends the turn. */
const MAX_RETRIES = 2

const folders: TempFolder[] = []
const servers: MockLlm[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]()
  for (const folder of folders.splice(0)) folder[Symbol.dispose]()
})

/** A root that retries what failed, once each; everything else is the supervising model's. */
function persevering(respond: Responder): Responder {
  const retried = new Set<string>()
  return (request) => {
    if (speakerOf(request) !== 'root') return respond(request)
    const call = request.answeredCall
    const account =
      call?.name === 'yield_agent_graph' ? call.result : call === undefined ? request.lastSaid : ''
    const failed = [...account.matchAll(/^- (\w+) (?:\[)?failed/gmu)].flatMap(([, workId = '']) =>
      retried.has(workId) ? [] : [workId],
    )
    if (failed.length === 0) return respond(request)
    for (const workId of failed) retried.add(workId)
    const retry = failed.map((workId) => ({ workId, reason: 'the provider failed' }))
    return { toolCalls: [{ name: 'update_agent_graph', arguments: { retry } }] }
  }
}

interface Trouble {
  readonly speaker: Speaker
  readonly fault: MockFault
  readonly times: number
  /** Requests of that speaker that are answered before. */
  readonly after?: number
}

async function supervise({ after = 0, fault, speaker, times }: Trouble) {
  const folder = tempFolder('wire-faults')
  folders.push(folder)
  const home = join(folder.path, 'home')
  mkdirSync(home)
  const patch = join(folder.path, 'rows.yml')
  const rows = ROWS.map(
    (row) => `    - id: faults-${row}\n      name: ${JSON.stringify(join(PACKAGES, row, 'dist/index.js'))}`,
  )
  writeFileSync(patch, ['- insert:', ...rows, ''].join('\n'))
  const backoff = '{ initialDelayMs: 10, maxDelayMs: 20 }'
  writeFileSync(
    join(home, 'settings.yaml'),
    `llm-deepseek:\n  streamIdleTimeoutMs: 400\n  retryPolicy: { mode: normal, maxRetries: ${MAX_RETRIES}, backoff: ${backoff} }\n`,
  )
  const { nonce, respond } = supervisingModel()
  const right = persevering(respond)
  let asked = 0
  const llm = await startMockLlm((request) => {
    if (speakerOf(request) !== speaker) return right(request)
    asked += 1
    return asked > after && asked <= after + times ? { fault } : right(request)
  })
  servers.push(llm)
  const child = spawn(
    process.execPath,
    [DSH, '--profile', 'headless', '--patch', patch, 'Supervise two halves and a join.'],
    {
      cwd: home,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        DSH_HOME: home,
        DSH_TELEMETRY_DISABLED: '1',
        DEEPSEEK_API_KEY: 'mock',
        DEEPSEEK_BASE_URL: llm.baseUrl,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    },
  )
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = await new Promise((done) => child.once('close', done))
  const entries = readLogFile(join(home, 'graph', 'log.sqlite'))
  return {
    code,
    stdout,
    stderr,
    entries,
    nonce: nonce() ?? 'none',
    faults: Math.min(times, asked - after),
    llm,
  }
}

function ofGraph(entries: readonly LogEntry[], type: string): readonly LogEntry['data'][] {
  return entries.flatMap((entry) =>
    entry.stream.startsWith('graph/') && entry.type === type ? [entry.data] : [],
  )
}

function expectTheEnd({ code, entries, nonce, stderr, stdout }: Awaited<ReturnType<typeof supervise>>): void {
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(stdout).toContain(nonce)
  const finishes = ofGraph(entries, 'update').filter(
    ({ update }) => (update as Record<string, unknown>)['finish'] !== undefined,
  )
  expect(finishes).toHaveLength(1)
  const outcomes = ofGraph(entries, 'settle').map(({ outcome }) => outcome)
  expect(outcomes.filter((outcome) => outcome === 'completed')).toHaveLength(3)
  const runs = entries.filter(({ type }) => type === 'run/accepted').map(({ data }) => data['runId'])
  const ends = entries.filter(({ type }) => type === 'run/settled').map(({ data }) => data['runId'])
  expect(ends.toSorted()).toEqual(runs.toSorted())
}

function failuresIn(entries: readonly LogEntry[]): readonly unknown[] {
  return ofGraph(entries, 'settle').flatMap(({ outcome, reason }) => (outcome === 'failed' ? [reason] : []))
}

describe('a graph whose provider fails for a moment', () => {
  it.each(['reset', 'disconnect', 'stall', 429, 503] as const)(
    'comes to its end as if nothing had been: %s',
    async (fault) => {
      const result = await supervise({ speaker: 'gamma', fault, times: 1 })
      expectTheEnd(result)
      expect(result.faults).toBe(1)
      expect(failuresIn(result.entries)).toEqual([])
    },
  )

  it.each(['reset', 'stall', 429] as const)('in the turn of a wake: %s', async (fault) => {
    // Its first requests are the plan and the yield.
    const result = await supervise({ speaker: 'root', fault, times: 1, after: 2 })
    expectTheEnd(result)
    expect(result.faults).toBe(1)
    expect(ofGraph(result.entries, 'wake-settled').map(({ status }) => status)).not.toContain(
      'retryable_failed',
    )
  })
})

describe('a graph whose provider fails until the turn is given up', () => {
  it.each([
    ['reset', MAX_RETRIES + 1],
    ['stall', MAX_RETRIES + 1],
    [429, MAX_RETRIES + 1],
    ['overflow', MAX_RETRIES + 1],
    // DSH does not ask again.
    ['malformed', 1],
    [400, 1],
  ] as const)('tells the root, which retries the work: %s', async (fault, times) => {
    const result = await supervise({ speaker: 'gamma', fault, times })
    expectTheEnd(result)
    expect(failuresIn(result.entries)).toEqual([expect.stringMatching(/^[A-Z_]+: /u)])
    const told = result.llm.requests.flatMap(
      ({ lastSaid }) => /^- gamma failed: .*/mu.exec(lastSaid)?.[0] ?? [],
    )
    expect(new Set(told).size).toBe(1)
  })

  it('wakes its root again when the turn of a wake is lost', async () => {
    const result = await supervise({ speaker: 'root', fault: 'malformed', times: 1, after: 2 })
    expectTheEnd(result)
    const attempts = ofGraph(result.entries, 'wake-settled').map(({ status }) => status)
    expect(attempts).toContain('retryable_failed')
    expect(attempts.at(-1)).toBe('delivered')
  })

  it('goes on when the conversation of its root does not fit any more (scenario W3)', async () => {
    const result = await supervise({ speaker: 'root', fault: 'overflow', times: 1, after: 2 })
    expectTheEnd(result)
    expect(result.faults).toBe(1)
  })

  it('tells it in bounded text again when it still does not fit (scenario W4)', async () => {
    const result = await supervise({ speaker: 'root', fault: 'overflow', times: 4, after: 2 })
    expectTheEnd(result)
    const wakes = result.llm.requests.flatMap(({ lastSaid }) =>
      lastSaid.startsWith('Agent graph ') ? [Buffer.byteLength(lastSaid)] : [],
    )
    expect(Math.max(...wakes)).toBeLessThan(8 * 1024)
    expect(ofGraph(result.entries, 'wake-settled').map(({ status }) => status)).toContain('retryable_failed')
  })
})
