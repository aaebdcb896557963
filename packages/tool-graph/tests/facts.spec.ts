/** A model that reads text only learns what the structured value says. */
import { expect, it } from 'vitest'
import type { GraphView, WorkView } from '../src/index.ts'
import { HandExecutor, textOf, until } from './host.ts'
import { openRig, work } from './rig.ts'

/**
 * The facts of a work, each as the text says it. The ids of its operator and of its only record are
 * not told: the work's own id names both in every call.
 */
function factsOf(view: WorkView): readonly string[] {
  const {
    workId,
    status,
    title,
    instruction,
    target,
    inputIds,
    waitsFor,
    claim,
    reason,
    replacedBy,
    items,
    results,
  } = view
  return [
    `- ${workId} [${status}`,
    title ?? instruction ?? '',
    ...(target === 'agent:default' ? [] : [`by ${target}`]),
    ...(inputIds ?? []),
    ...(waitsFor ?? []),
    ...(claim !== undefined && claim.attempt > 1
      ? [`attempt ${claim.attempt} after ${claim.retryReason ?? ''}`]
      : []),
    ...(reason === undefined ? [] : [`(${reason})`]),
    ...(replacedBy === undefined ? [] : [`replaced by ${replacedBy}`]),
    ...(items === undefined ? [] : [`${items.total - items.pending}/${items.total} items`]),
    ...(results ?? []).flatMap((result) => [
      result.summary,
      `bytes="${result.bytes}"`,
      ...(results?.length === 1 ? [] : [`record="${result.recordId}"`]),
      ...(result.name === undefined ? [] : [`name="${result.name}"`]),
    ]),
  ]
}

it('tells in the text what the value holds of each work, and of the graph', async () => {
  const executor = new HandExecutor(({ attempt, work: { workId } }) => {
    if (workId === 'list')
      return {
        outcome: 'completed',
        conclusion: 'two parts',
        artifacts: [
          { name: 'one', text: '1' },
          { name: 'two', text: '2' },
        ],
      }
    if (workId === 'broken') return { outcome: 'failed', reason: 'it broke' }
    if (workId === 'shaky') return attempt === 1 ? { outcome: 'interrupted', reason: 'cut off' } : undefined
    if (workId === 'asks') return { outcome: 'needs-person', reason: 'may I write' }
    return workId.startsWith('each') || workId === 'again'
      ? { outcome: 'completed', conclusion: `did ${workId}` }
      : undefined
  })
  const rig = await openRig('memory', { executor, retryBackoffMs: 1 })
  await rig.ask('update', {
    addWork: [
      work('list', { title: 'Make a list' }),
      work('each', { inputIds: ['list'], forEach: 'list' }),
      work('broken'),
      work('never', { inputIds: ['broken'] }),
      work('shaky'),
      work('asks', { subagentId: 'reviewer' }),
      work('runs', { agentId: 'writer' }),
      work('later', { inputIds: ['runs', 'shaky'] }),
    ],
  })
  await until(
    async () => (await rig.status('each')) === 'completed' && (await rig.status('never')) === 'skipped',
  )
  await until(() => executor.started.includes('shaky#2'))
  await until(async () => [...(await rig.state()).claims.values()].some((claim) => claim.hold !== undefined))
  await rig.ask('update', {
    addWork: [
      work('again', { operatorId: 'list' }),
      work('mended', { replaces: 'broken', inputIds: ['runs'] }),
    ],
  })
  await until(async () => (await rig.status('again')) === 'completed')

  const result = await rig.call('view', {})
  const view = result.value as unknown as GraphView
  const text = textOf(result)
  const works = [...view.live, ...view.ended]
  expect(works.map(({ workId }) => workId).sort()).toEqual([...(await rig.state()).works.keys()].sort())
  expect(works.flatMap(factsOf).filter((fact) => !text.includes(fact))).toEqual([])
  expect(text).toContain('by operator:list')
  const { graphId, revision, seq, counts } = view
  expect(text).toContain(
    `Graph ${graphId} open, revision ${revision}, seq ${seq}: ${counts.terminal}/${counts.works} ended, ${counts.pending} pending.`,
  )
})
