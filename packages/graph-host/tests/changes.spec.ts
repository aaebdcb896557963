import { describe, expect, it } from 'vitest'
import { Host, until, wakesOf, type HostOptions } from './host.ts'
import type { GraphChange } from '../src/index.ts'

async function watched(options: HostOptions = {}) {
  const host = await Host.boot(options)
  const changes: GraphChange[] = []
  return { host, changes, root: await host.root() }
}

describe('graph/change', () => {
  it('comes after each commit, with a position that grows', async () => {
    const { host, changes, root } = await watched()
    host.ctx.on('graph/change', (change) => void changes.push(change))
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1)
    await host.controller(root).whenQuiet()
    const { graphId, revision, seq } = await host.graph()
    expect(changes.map((change) => change.seq)).toEqual(
      Array.from({ length: changes.length }, (_, index) => index + (changes[0]?.seq ?? 0)),
    )
    expect(changes.at(-1)).toEqual({ graphId, rootSessionId: root.id, seq, revision })
    expect(changes.length).toBeGreaterThanOrEqual(6)
  })

  it('reaches every listener, whatever another one does', async () => {
    const { host, changes, root } = await watched()
    host.ctx.on('graph/change', () => {
      throw new Error('this listener throws')
    })
    host.ctx.on('graph/change', (() => Promise.reject(new Error('this listener rejects'))) as () => void)
    host.ctx.on('graph/change', (change) => void changes.push(change))
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1)
    await host.controller(root).whenQuiet()
    expect(changes.at(-1)?.seq).toBe((await host.graph()).seq)
    expect((await host.work('a')).status).toBe('completed')
    const warnings = host.warnings().join('\n')
    expect(warnings).toContain('this listener throws')
    expect(warnings).toContain('this listener rejects')
  })
})
