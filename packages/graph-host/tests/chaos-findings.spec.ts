import { describe, expect, it } from 'vitest'
import { inspect, markOf } from '../chaos/log-findings.ts'

const GRAPH = 'graph/g'

function entry(stream: string, type: string, data: Record<string, unknown>) {
  return { stream, seq: 0, type, data }
}

const claimed = (workId: string) => entry(GRAPH, 'claim', { claim: { claimId: `c-${workId}`, workId } })
const begun = (workId: string) => entry(GRAPH, 'begin', { claimId: `c-${workId}` })
const settled = (workId: string) => entry(GRAPH, 'settle', { claimId: `c-${workId}` })
const run = (type: string, workId: string, attempt = 1) =>
  entry(`run/s-${workId}`, `run/${type}`, { runId: `r-${workId}-${attempt}`, key: `c-${workId}#${attempt}` })

const OPENED = entry('root/r', 'epoch', {})
const FINISHED = entry(GRAPH, 'update', { update: { finish: { resultIds: [] } } })
const DONE = [
  OPENED,
  claimed('a'),
  begun('a'),
  run('accepted', 'a'),
  run('started', 'a'),
  run('settled', 'a'),
  settled('a'),
]

describe('the reading of a log after kills', () => {
  it('finds nothing in the log of a graph that was done once', () => {
    expect(inspect([...DONE, FINISHED], ['a'], [markOf([]), markOf(DONE)])).toEqual({
      lost: 0,
      doubled: 0,
      texts: [],
    })
  })

  it.each([
    ['a work that never ended', [...DONE.slice(0, -1), FINISHED], { lost: 1, doubled: 0 }, /work a has/u],
    ['a work that was never claimed', [OPENED, FINISHED], { lost: 1, doubled: 0 }, /work a has 0 claims/u],
    ['a work that ended twice', [...DONE, settled('a'), FINISHED], { lost: 0, doubled: 1 }, /2 ends/u],
    [
      'a run without an end',
      [...DONE, run('accepted', 'x'), FINISHED],
      { lost: 1, doubled: 0 },
      /run r-x-1 has 0 ends/u,
    ],
    [
      'a run with two ends',
      [...DONE, run('settled', 'a'), FINISHED],
      { lost: 0, doubled: 1 },
      /run r-a-1 has 2 ends/u,
    ],
    ['a graph that was not finished', DONE, { lost: 0, doubled: 0 }, /never finished/u],
    ['two graphs', [OPENED, ...DONE, FINISHED], { lost: 0, doubled: 0 }, /2 graphs/u],
  ] as const)('finds %s', (_title, entries, counts, text) => {
    const findings = inspect(entries, ['a'], [])
    expect(findings).toMatchObject(counts)
    expect(findings.texts.join('\n')).toMatch(text)
  })

  it.each([
    ['was begun again', [begun('a')]],
    ['was started again', [run('started', 'a')]],
    ['got another run', [run('accepted', 'a', 2), run('settled', 'a', 2)]],
  ] as const)('finds a work that had ended before a kill and %s', (_title, more) => {
    const findings = inspect([...DONE, ...more, FINISHED], ['a'], [markOf(DONE)])
    expect(findings).toMatchObject({ lost: 0, doubled: 1 })
    expect(findings.texts.join('\n')).toMatch(/c-a was settled at a kill and ran again/u)
  })
})
