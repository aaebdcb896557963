/** The main job from outside: a process, its lines, its exit code, and the log file it leaves. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startMockLlm } from '../support/mock-llm.ts'
import { readLogFile, runStart, type LogEntry, type StartRun } from '../support/start-process.ts'
import { supervisingModel } from '../support/supervising-model.ts'
import { tempFolder, type TempFolder } from '../support/temp-folder.ts'

let folder: TempFolder | undefined
const runs: StartRun[] = []

afterEach(async () => {
  for (const run of runs.splice(0)) {
    run.process.kill('SIGKILL')
    await run.end
  }
  folder?.[Symbol.dispose]()
  folder = undefined
})

function stateDir(): string {
  folder ??= tempFolder('start')
  return join(folder.path, 'state')
}

function start(args: readonly string[], env: Record<string, string | undefined> = {}): StartRun {
  const run = runStart(args, env)
  runs.push(run)
  return run
}

function entriesOf(state: string): LogEntry[] {
  return readLogFile(join(state, 'home', 'graph', 'log.sqlite'))
}

function ofType(entries: readonly LogEntry[], type: string): LogEntry[] {
  return entries.filter((entry) => entry.stream.startsWith('graph/') && entry.type === type)
}

/** Work ids by claim, read from the claims' own entries. */
function worksByClaim(entries: readonly LogEntry[]): Map<unknown, unknown> {
  return new Map(
    ofType(entries, 'claim').map(({ data }) => {
      const claim = data['claim'] as Record<string, unknown>
      return [claim['claimId'], claim['workId']]
    }),
  )
}

describe('start', () => {
  it('supervises a graph to its end and answers with the nonce that travelled through it', async () => {
    const state = stateDir()
    const { code, lines, stderr } = await start(['Count the lighthouses', '--json', '--state', state]).end
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const result = lines.at(-1) ?? {}
    expect(result).toMatchObject({
      type: 'result',
      status: 'completed',
      works: ['survey', 'measure', 'report'].map((workId) => ({ workId, status: 'completed' })),
    })
    const nonce = /[0-9a-f]{16}/u.exec(String(result['answer']))?.[0]
    expect(nonce).toBeDefined()

    const entries = entriesOf(state)
    const works = worksByClaim(entries)
    const records = ofType(entries, 'settle').map(({ data }) => {
      const record = data['record'] as Record<string, unknown>
      return {
        workId: works.get(data['claimId']),
        recordId: record['recordId'],
        summary: String(record['summary']),
      }
    })
    // The code graph made it, the first operator reported it, the third got it as an input.
    expect(records.find(({ workId }) => workId === 'survey')?.summary).toContain(nonce)
    const report = records.find(({ workId }) => workId === 'report')
    expect(report?.summary).toContain(nonce)
    expect(records.find(({ workId }) => workId === 'measure')?.summary).not.toContain(nonce)
    const handedOver = entries.find(
      ({ type, data }) => type === 'run/accepted' && JSON.stringify(data).includes('Join the two inputs'),
    )
    expect(JSON.stringify(handedOver?.data)).toContain(nonce)
    // Two were under way before either had ended.
    const order = entries.filter(({ type }) => type === 'begin' || type === 'settle').map(({ type }) => type)
    expect(order).toEqual(['begin', 'begin', 'settle', 'settle', 'begin', 'settle'])
    const finish = ofType(entries, 'update').at(-1)?.data['update'] as Record<string, unknown>
    expect(finish['finish']).toMatchObject({ resultIds: [report?.recordId] })
  })

  it('makes another nonce in another run', async () => {
    const answers = await Promise.all(
      ['a', 'b'].map(async (name) => {
        const { lines } = await start(['--json', '--state', join(stateDir(), name)]).end
        return String(lines.at(-1)?.['answer'])
      }),
    )
    expect(answers[0]).toMatch(/[0-9a-f]{16}/u)
    expect(answers[0]).not.toBe(answers[1])
  })

  it('shows one line per event without a terminal and tells where the state is', async () => {
    const state = stateDir()
    const { code, stdout } = await start(['--state', state]).end
    expect(code).toBe(0)
    expect(stdout).toContain(`state in ${state}`)
    expect(stdout).toMatch(/^\[\+\d+\.\d\ds\] work report completed$/mu)
    expect(stdout).not.toContain('\u001B')
  })

  it.each([
    ['as soon as the root has its first turn', (line) => line['type'] === 'turn'],
    ['while the first works run', (line) => line['workId'] === 'survey' && line['status'] === 'running'],
    [
      'when one of two works has ended',
      (line) => line['workId'] === 'survey' && line['status'] === 'completed',
    ],
    ['while the third work runs', (line) => line['workId'] === 'report' && line['status'] === 'running'],
    ['in the turn that a wake made', (line) => line['type'] === 'turn' && line['turn'] === 2],
    ['when the last work has ended', (line) => line['workId'] === 'report' && line['status'] === 'completed'],
    ['while the root reads the results', (line) => line['name'] === 'view_agent_graph'],
  ] as [string, (line: Record<string, unknown>) => boolean][])(
    'finishes the same graph after SIGKILL %s, repeating no finished work',
    async (_title, moment) => {
      const state = stateDir()
      const first = start(['--json', '--state', state])
      await first.line(moment)
      first.process.kill('SIGKILL')
      await first.end
      const before = entriesOf(state)
      const settledBefore = ofType(before, 'settle').map(({ data }) => data['claimId'])

      const { code, lines, stderr } = await start(['--json', '--resume', '--state', state]).end
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const result = lines.at(-1) ?? {}
      expect(result).toMatchObject({ status: 'completed' })

      const entries = entriesOf(state)
      expect(new Set(entries.filter(({ type }) => type === 'epoch').map(({ stream }) => stream)).size).toBe(1)
      const settled = ofType(entries, 'settle').map(({ data }) => data['claimId'])
      expect(settled).toHaveLength(3)
      expect(new Set(settled).size).toBe(3)
      const retried = ofType(entries, 'retry').map(({ data }) => data['claimId'])
      expect(retried.filter((claimId) => settledBefore.includes(claimId))).toEqual([])
      const works = worksByClaim(entries)
      const survey = ofType(entries, 'settle').find(({ data }) => works.get(data['claimId']) === 'survey')
      const nonce = /[0-9a-f]{16}/u.exec(
        JSON.stringify(survey?.data['record'] ?? {}).split('nonce')[1] ?? '',
      )?.[0]
      expect(nonce).toBeDefined()
      expect(result['answer']).toContain(nonce)
      // Every accepted run has one end, also the ones that were cut off.
      const runIds = entries.filter(({ type }) => type === 'run/accepted').map(({ data }) => data['runId'])
      const ends = entries.filter(({ type }) => type === 'run/settled').map(({ data }) => data['runId'])
      expect(runIds.length).toBeGreaterThanOrEqual(5)
      expect(ends).toHaveLength(runIds.length)
      expect(new Set(ends)).toEqual(new Set(runIds))
    },
  )

  it('answers again when it is resumed after the end', async () => {
    const state = stateDir()
    const first = await start(['--json', '--state', state]).end
    const again = await start(['--json', '--resume', '--state', state]).end
    expect(again.code).toBe(0)
    expect(again.lines.at(-1)?.['answer']).toBe(first.lines.at(-1)?.['answer'])
  })

  it('does not forget the graph of an earlier start that did not get to its end', async () => {
    const state = stateDir()
    const first = start(['Count the lighthouses', '--json', '--state', state])
    await first.line((line) => line['workId'] === 'survey' && line['status'] === 'running')
    first.process.kill('SIGKILL')
    await first.end
    const roots = () =>
      new Set(entriesOf(state).flatMap(({ type, stream }) => (type === 'epoch' ? [stream] : [])))
    const [unfinished] = roots()
    const second = await start(['Count the ships', '--json', '--state', state]).end
    expect(second.code).toBe(0)
    expect(second.lines).toContainEqual(
      expect.objectContaining({
        type: 'note',
        text: expect.stringContaining('an unfinished graph') as string,
      }),
    )
    const resumed = await start(['--json', '--resume', '--state', state]).end
    expect({ code: resumed.code, stderr: resumed.stderr }).toEqual({ code: 0, stderr: '' })
    expect(resumed.lines).toContainEqual(
      expect.objectContaining({ text: expect.stringContaining('task: Count the lighthouses') as string }),
    )
    expect(roots().size).toBe(2)
    const graphId = String(resumed.lines.at(-1)?.['graphId'])
    expect(
      entriesOf(state).filter(({ stream, type }) => stream === unfinished && type === 'epoch')[0]?.data,
    ).toEqual(expect.objectContaining({ graphId }))
    // Both are answered: the newest answers again.
    const again = await start(['--json', '--resume', '--state', state]).end
    expect(again.lines.at(-1)?.['answer']).toBe(second.lines.at(-1)?.['answer'])
  })

  it('refuses to resume a root session whose memory is gone', async () => {
    const state = stateDir()
    const first = start(['--json', '--state', state])
    await first.line((line) => line['workId'] === 'survey' && line['status'] === 'completed')
    first.process.kill('SIGKILL')
    await first.end
    rmSync(join(state, 'home', 'sessions'), { recursive: true })
    const { code, stderr } = await start(['--json', '--resume', '--state', state]).end
    expect(code).toBe(1)
    expect(stderr).toMatch(/^start: the root session cannot be resumed: session "start-[^"]+" not found\n$/u)
  })

  it('ends on SIGTERM while the model loops without a pause', async () => {
    const state = stateDir()
    const script = join(folder?.path ?? '', 'loop.yml')
    writeFileSync(
      script,
      'tracks:\n  - name: all\n    match: {}\n    stateless: true\n    steps:\n      - toolCalls: [{ name: view_agent_graph }]\n',
    )
    const run = start(['--json', '--state', state], { DSH_GRAPH_SCRIPT: script })
    await run.line((line) => line['type'] === 'tool')
    run.process.kill('SIGTERM')
    const { code, stderr } = await run.end
    expect(code).toBe(130)
    expect(stderr).toBe('start: interrupted by SIGTERM; go on with --resume\n')
  })

  it('tells a failure of the model in one line', async () => {
    const state = stateDir()
    const script = join(folder?.path ?? '', 'script.yml')
    writeFileSync(
      script,
      'tracks:\n  - name: all\n    match: {}\n    steps:\n      - fault: { code: RATE_LIMIT, message: too many requests }\n',
    )
    const { code, lines, stderr } = await start(['--json', '--state', state], { DSH_GRAPH_SCRIPT: script })
      .end
    expect(code).toBe(1)
    expect(stderr).toBe('start: the model failed: RATE_LIMIT: too many requests\n')
    expect(lines.at(-1)).toMatchObject({ type: 'result', status: 'failed' })
  })

  it('takes the DeepSeek route where a key is given, and sends the tools over the wire', async () => {
    const model = supervisingModel()
    await using server = await startMockLlm(model.respond)
    const env = { DEEPSEEK_API_KEY: 'mock', DEEPSEEK_BASE_URL: server.baseUrl }
    const { code, lines, stderr } = await start(['--json', '--state', stateDir()], env).end
    expect({ code, stderr, failures: server.failures }).toEqual({ code: 0, stderr: '', failures: [] })
    expect(lines.at(-1)).toMatchObject({ status: 'completed' })
    expect(model.nonce()).toBeDefined()
    expect(lines.at(-1)?.['answer']).toContain(model.nonce())
    const [first] = server.requests
    expect(first?.toolNames).toEqual(
      expect.arrayContaining(['view_agent_graph', 'update_agent_graph', 'yield_agent_graph', 'field_survey']),
    )
    expect(first?.system).toContain('You can supervise an agent graph')
  })

  it('explains itself', async () => {
    const { code, stdout } = await start(['--help']).end
    expect(code).toBe(0)
    for (const word of ['--json', '--resume', '--state', '--config', 'DEEPSEEK_API_KEY', 'Exit code'])
      expect(stdout).toContain(word)
  })

  const malformed = () => {
    stateDir()
    const file = join(folder?.path ?? '', 'cordis.yml')
    writeFileSync(file, '- id: [\n')
    return file
  }
  const unknownRow = () => {
    stateDir()
    const file = join(folder?.path ?? '', 'cordis.yml')
    writeFileSync(file, "- id: x\n  name: '@nobody/nothing'\n")
    return file
  }
  const plainFile = () => {
    stateDir()
    const file = join(folder?.path ?? '', 'file')
    writeFileSync(file, '')
    return file
  }
  it.each([
    ['an empty task', () => ['  '], 2, /the task is empty/u],
    ['a task of 100,000 characters', () => ['x'.repeat(100_000)], 2, /at most 20000/u],
    ['an empty state path', () => ['--state', ''], 2, /--state is empty/u],
    ['two tasks', () => ['a', 'b'], 2, /one task is expected, got 2/u],
    ['an unknown option', () => ['--loud'], 2, /--loud/u],
    ['a task with --resume', () => ['a', '--resume'], 2, /leave the task out/u],
    [
      'a missing composition',
      () => ['--config', join(stateDir(), 'no.yml')],
      1,
      /there is no composition at/u,
    ],
    ['a malformed composition', () => ['--config', malformed()], 1, /is not valid YAML/u],
    [
      'a composition with an unknown row',
      () => ['--config', unknownRow()],
      1,
      /loader entry x \(@nobody\/nothing\)/u,
    ],
    ['a state directory under a file', () => ['--state', join(plainFile(), 'x')], 1, /cannot be written/u],
    ['a resume of nothing', () => ['--resume', '--state', stateDir()], 1, /nothing to resume/u],
  ] as [string, () => string[], number, RegExp][])(
    'refuses %s in one line',
    async (_title, args, exitCode, text) => {
      const given = args()
      const run = start(given.includes('--state') ? given : [...given, '--state', stateDir()])
      const { code, stderr } = await run.end
      expect(code).toBe(exitCode)
      expect(stderr).toMatch(text)
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    },
  )

  it('makes no state directory when there is nothing to resume', async () => {
    const state = stateDir()
    expect((await start(['--resume', '--state', state]).end).code).toBe(1)
    expect(existsSync(state)).toBe(false)
  })
})
