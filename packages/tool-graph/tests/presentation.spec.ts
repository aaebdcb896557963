import { describe, expect, it } from 'vitest'
import { presentUpdate, presentView, presentYield } from '../src/presentation.ts'
import { emptyView } from '../src/view.ts'

const VIEW = { ...emptyView('g'), known: true, counts: { works: 3, pending: 2, terminal: 1 } }
const STANDING = {
  plugin: 'dsh-graph',
  version: 1,
  graphId: 'g',
  phase: 'open',
  counts: { works: 3, pending: 2, terminal: 1 },
}

describe('what a result keeps for people', () => {
  it('of a view is how the graph stood, and no text of it', () => {
    expect(presentView(VIEW)).toEqual({ ...STANDING, call: 'view' })
  })

  it('of a view of no graph names none', () => {
    expect(presentView(emptyView('asked for'))).toMatchObject({ graphId: null, call: 'view' })
  })

  it('of an update is its revision and how many works it added', () => {
    const update = { updateId: 'u', revision: 2, committedAt: 5, created: true, workIds: ['a', 'b'] }
    expect(presentUpdate({ update, graph: JSON.parse(JSON.stringify(VIEW)) })).toEqual({
      ...STANDING,
      call: 'update',
      update: { revision: 2, created: true, works: 2 },
    })
  })

  it('of a yield is what it waits for', () => {
    const answer = { graphId: 'g', deliveredOnIdle: true, wakeId: 'w', pendingWorkCount: 2, waitingFor: [] }
    expect(presentYield({ ...answer, until: 'any' })).toEqual({
      plugin: 'dsh-graph',
      version: 1,
      call: 'yield',
      graphId: 'g',
      wait: { deliveredOnIdle: true, pending: 2, until: 'any' },
    })
  })
})
