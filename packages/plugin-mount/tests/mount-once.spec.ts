import { Context } from '@deepseek-ai/cordis'
import { describe, expect, it } from 'vitest'
import { mountOnce } from '../src/index.ts'

function row(ctx: Context, log: string[], id: string, inject: string[] = []) {
  return ctx.plugin({
    name: id,
    apply: (own: Context) =>
      mountOnce(own, 'pkg', inject, (live) => {
        log.push(`+${id}`)
        live.provide('pkgService', { id })
        live.effect(() => () => void log.push(`-${id}`), 'probe')
      }),
  })
}

describe('mountOnce', () => {
  it('mounts the first of two rows that load concurrently', async () => {
    const ctx = new Context()
    const log: string[] = []
    await Promise.all([row(ctx, log, 'a'), row(ctx, log, 'b')])
    expect(log).toEqual(['+a'])
    expect(ctx.get('pkgService')).toEqual({ id: 'a' })
  })

  it('hands over to the row that stood by when the live one is disposed', async () => {
    const ctx = new Context()
    const log: string[] = []
    const [a] = await Promise.all([row(ctx, log, 'a'), row(ctx, log, 'b')])
    await a.dispose()
    expect(log).toEqual(['+a', '-a', '+b'])
    expect(ctx.get('pkgService')).toEqual({ id: 'b' })
  })

  it('leaves the live row alone when the standing-by one goes', async () => {
    const ctx = new Context()
    const log: string[] = []
    const [, b] = await Promise.all([row(ctx, log, 'a'), row(ctx, log, 'b')])
    await b.dispose()
    expect(log).toEqual(['+a'])
  })

  it('activates the row while the mount still waits for a sibling service', async () => {
    const ctx = new Context()
    const log: string[] = []
    await row(ctx, log, 'a', ['sibling'])
    expect(log).toEqual([])
    ctx.provide('sibling', {})
    await new Promise((done) => setImmediate(done))
    expect(log).toEqual(['+a'])
  })

  it('keeps the roots apart', async () => {
    const log: string[] = []
    await Promise.all([row(new Context(), log, 'a'), row(new Context(), log, 'b')])
    expect(log).toEqual(['+a', '+b'])
  })

  it('fails the row when the mount rejects', async () => {
    const ctx = new Context()
    const failing = ctx.plugin({
      name: 'x',
      apply: (own: Context) => mountOnce(own, 'x', [], () => Promise.reject(new Error('no disk'))),
    })
    await expect(Promise.resolve(failing)).rejects.toThrow('no disk')
  })
})
