import { describe, expect, it } from 'vitest'
import { GraphRoutingConfigError, type GraphRoutingFilter } from '../src/index.ts'
import { bootRouting, calls, failureOf } from './routing-host.ts'

async function bootThree() {
  const host = await bootRouting(({ tools }) => calls(tools?.[0]?.name ?? ''))
  for (const name of ['a', 'b', 'c']) host.graph({ name })
  return host
}

/** Names of the graphs that a filter leaves. */
async function offered(filter: GraphRoutingFilter): Promise<string[] | undefined> {
  const host = await bootThree()
  await host.router({ filter }).route({ input: 'x' })
  return host.requests[0]?.tools?.map(({ name }) => name)
}

/** The error of a filter, from a router whose model is never called. */
async function refusal(filter: unknown): Promise<unknown> {
  const host = await bootThree()
  const error = await failureOf(host.router({ filter: filter as GraphRoutingFilter }).route({ input: 'x' }))
  expect(host.requests).toEqual([])
  expect(error).toBeInstanceOf(GraphRoutingConfigError)
  return error
}

describe('a filter', () => {
  it('keeps what it allows, takes away what it denies, and both together intersect (R109)', async () => {
    expect(await offered({ allow: ['b', 'a'] })).toEqual(['a', 'b'])
    expect(await offered({ deny: ['a'] })).toEqual(['b', 'c'])
    expect(await offered({ allow: ['a', 'b'], deny: ['a'] })).toEqual(['b'])
    expect(await offered({ deny: [] })).toEqual(['a', 'b', 'c'])
  })

  it('with an unknown name is a configuration error that lists the known ones (R110)', async () => {
    for (const filter of [{ allow: ['a', 'x'] }, { deny: ['x'] }, { allow: ['a'], deny: ['x'] }]) {
      expect(await refusal(filter)).toMatchObject({
        code: 'GRAPH_ROUTING_CONFIG',
        problems: ['filter names an unknown graph, "x"; there are "a", "b", "c"'],
      })
    }
    expect(String(await refusal({ allow: ['x'], deny: ['y'] }))).toContain('unknown graphs, "x", "y"')
  })

  it('that leaves nothing is a configuration error (R110)', async () => {
    for (const filter of [{ allow: [] }, { deny: ['a', 'b', 'c'] }, { allow: ['a'], deny: ['a'] }]) {
      expect(String(await refusal(filter))).toContain('leaves no graph')
    }
  })

  it('that says nothing, or is none, is a configuration error (R110)', async () => {
    expect(String(await refusal({}))).toContain('filters nothing')
    expect(String(await refusal('a'))).toContain('must be an object')
    expect(String(await refusal(null))).toContain('must be an object')
    expect(String(await refusal({ allow: 'a' }))).toContain('filter.allow must be a list')
    expect(String(await refusal({ deny: [1] }))).toContain('filter.deny must be a list')
  })

  it('is judged against the graphs there are when something is routed (R110)', async () => {
    const host = await bootRouting(() => calls('late'))
    const router = host.router({ filter: { allow: ['late'] } })
    expect(await failureOf(router.route({ input: 'x' }))).toBeInstanceOf(GraphRoutingConfigError)
    host.graph({ name: 'late' })
    expect(await router.route({ input: 'x' })).toMatchObject({ tool: 'late' })
  })

  it('is a copy of what the router was given', async () => {
    const host = await bootThree()
    const allow = ['a']
    const router = host.router({ filter: { allow } })
    allow[0] = 'b'
    expect(await router.route({ input: 'x' })).toMatchObject({ tool: 'a' })
  })
})

describe('a registry without graphs', () => {
  it('is a configuration error, and no model call (R110)', async () => {
    const host = await bootRouting([])
    expect(String(await failureOf(host.router().route({ input: 'x' })))).toContain('no graph to route to')
    expect(host.requests).toEqual([])
  })
})
