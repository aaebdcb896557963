import { describe, expect, it } from 'vitest'
import type { BindingRequest } from '../src/index.ts'
import {
  commit,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  provision,
  provisionRequest,
  refusal,
  refusedAs,
  work,
} from './fixture.ts'

function binding(workId: string, parts: Partial<BindingRequest> = {}): BindingRequest {
  return {
    graphId: GRAPH,
    provisionId: provisionRequest(workId, 0).provisionId,
    leaseKey: `lease of ${workId}`,
    path: `/trees/${workId}`,
    branch: `graph/${workId}`,
    ...parts,
  }
}

describe.each(MEDIA)('bindings on %s', (medium) => {
  it('are adopted by the same lease and keep their time, and are found by provision and by work', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await provision(store, 'a')
    await provision(store, 'b')
    const first = await store.bindOperatorWorktree(binding('a', { baseCommit: 'abc' }))
    const { graphId: _, ...bound } = binding('a', { baseCommit: 'abc' })
    const { operatorId } = provisionRequest('a', 0)
    expect(first).toEqual({
      created: true,
      binding: { ...bound, operatorId, workId: 'a', boundAt: expect.any(Number) as number },
    })
    const reopened = await reopenStore()
    expect(await reopened.bindOperatorWorktree(binding('a'))).toEqual({ ...first, created: false })
    const { provisionId } = binding('a')
    expect(await reopened.readOperatorBinding(GRAPH, provisionId)).toEqual(first.binding)
    expect(await reopened.readOperatorBindingByWork(GRAPH, 'a')).toEqual(first.binding)
    expect(await reopened.readOperatorBindingByWork(GRAPH, 'b')).toBeUndefined()
    expect(await reopened.readOperatorBindingByWork(GRAPH, 'ghost')).toBeUndefined()
    const second = await reopened.bindOperatorWorktree(binding('b'))
    expect(await reopened.listOperatorBindings(GRAPH)).toEqual([first.binding, second.binding])
  })

  it('are refused with another lease, path or branch, and without a provision', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const bind = (parts?: Partial<BindingRequest>) => () => store.bindOperatorWorktree(binding('a', parts))
    expect(await refusal(store, bind())).toMatchObject(refusedAs('provision-not-found'))
    await provision(store, 'a')
    await bind()()
    for (const parts of [{ leaseKey: 'other' }, { path: '/elsewhere' }, { branch: 'main' }]) {
      expect(await refusal(store, bind(parts))).toMatchObject(refusedAs('binding-conflict', '/trees/a'))
    }
    const ghost = () => store.bindOperatorWorktree(binding('a', { graphId: 'ghost' }))
    expect(await refusal(store, ghost)).toMatchObject(refusedAs('graph-not-found'))
  })
})

describe('operators', () => {
  it('are listed in order of provision and read by it, with their edges as they came', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    const edges = [{ edgeId: 'e1', fromOperatorId: 'x', toOperatorId: 'y' }]
    const a = await store.provisionOperator({ ...provisionRequest('a', 1), edges })
    const b = await store.provisionOperator(provisionRequest('b', 1))
    expect(a.provision.edges).toEqual(edges)
    expect(b.provision).not.toHaveProperty('edges')
    const reopened = await reopenStore()
    expect(await reopened.listOperatorProvisions(GRAPH)).toEqual([a.provision, b.provision])
    expect(await reopened.readOperatorProvision(GRAPH, a.provision.provisionId)).toEqual(a.provision)
    expect(await reopened.readOperatorProvision(GRAPH, 'ghost')).toBeUndefined()
    expect((await graph(reopened)).operators.size).toBe(2)
  })
})
