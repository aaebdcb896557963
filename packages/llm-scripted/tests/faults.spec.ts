import { afterEach, describe, expect, it, vi } from 'vitest'
import { ScriptedLlm, type StepSource } from '../src/index.ts'
import { ask, play, requestOf } from './host.ts'

function track(...steps: StepSource[]) {
  return { tracks: [{ name: 'main', match: {}, steps }] }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a fault', () => {
  it('ends the request with its failure and nothing else', async () => {
    const { ask } = await play(
      track({ fault: { code: 'RATE_LIMIT', message: 'slow down' } }, { text: 'later' }),
    )
    expect((await ask({ sessionId: 's' })).chunks).toEqual([
      { type: 'finish', reason: { kind: 'error', failure: { code: 'RATE_LIMIT', message: 'slow down' } } },
    ])
    expect((await ask({ sessionId: 's' })).text).toBe('later')
  })

  it('comes after some chunks of the answer', async () => {
    const fault = { code: 'TRANSPORT', message: 'gone', kind: 'aborted', after: 2 } as const
    const { ask } = await play(track({ text: 'abcd', chunkChars: 1, fault }))
    const { chunks } = await ask({})
    expect(chunks.map(({ type }) => type)).toEqual(['block-start', 'text-delta', 'finish'])
    expect(chunks.at(-1)).toEqual({
      type: 'finish',
      reason: { kind: 'aborted', failure: { code: 'TRANSPORT', message: 'gone' } },
    })
  })

  it('comes after the whole answer when that is shorter, without usage', async () => {
    const { ask } = await play(track({ text: 'a', fault: { code: 'X', message: 'm', after: 99 } }))
    expect((await ask({})).chunks.map(({ type }) => type)).toEqual([
      'block-start',
      'text-delta',
      'block-end',
      'finish',
    ])
  })
})

describe('a step that hangs', () => {
  it('streams nothing until the request is aborted', async () => {
    const llm = new ScriptedLlm(track({ fault: { hang: true } }))
    const abort = new AbortController()
    const stream = llm.stream(requestOf({ signal: abort.signal }))[Symbol.asyncIterator]()
    let settled = false
    const first = stream.next().finally(() => (settled = true))
    await new Promise((done) => setImmediate(done))
    expect(settled).toBe(false)
    abort.abort()
    expect((await first).value).toEqual({
      type: 'finish',
      reason: {
        kind: 'aborted',
        failure: { code: 'ABORTED', message: 'the request to the scripted model was aborted' },
      },
    })
    expect((await stream.next()).done).toBe(true)
  })

  it('ends when the adapter is closed, and so does every later request', async () => {
    const llm = new ScriptedLlm(track({ fault: { hang: true } }))
    const streams = [llm.stream(requestOf({})), llm.stream(requestOf({ sessionId: 's' }))]
    const kinds = streams.map(async (stream) => {
      const chunks: unknown[] = []
      for await (const chunk of stream) chunks.push(chunk)
      return chunks
    })
    llm.close()
    const aborted = {
      type: 'finish',
      reason: { kind: 'aborted', failure: { code: 'ABORTED', message: 'the scripted model was taken away' } },
    }
    expect(await Promise.all(kinds)).toEqual([[aborted], [aborted]])
  })
})

describe('a delay', () => {
  it('passes before the first chunk', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const llm = new ScriptedLlm(track({ text: 'slow', delayMs: 60_000 }))
    const stream = llm.stream(requestOf({}))[Symbol.asyncIterator]()
    const first = stream.next()
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(59_999)
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect((await first).value).toMatchObject({ type: 'block-start' })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends at an abort, and leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const llm = new ScriptedLlm(track({ text: 'slow', delayMs: 3_600_000 }))
    const abort = new AbortController()
    const stream = llm.stream(requestOf({ signal: abort.signal }))[Symbol.asyncIterator]()
    const first = stream.next()
    expect(vi.getTimerCount()).toBe(1)
    abort.abort()
    expect((await first).value).toMatchObject({ type: 'finish', reason: { kind: 'aborted' } })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends when the adapter is closed, and leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const llm = new ScriptedLlm(track({ text: 'slow', delayMs: 3_600_000 }))
    const first = llm.stream(requestOf({}))[Symbol.asyncIterator]().next()
    expect(vi.getTimerCount()).toBe(1)
    llm.close()
    expect((await first).value).toMatchObject({ type: 'finish', reason: { kind: 'aborted' } })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('of many streams at once brings no warning about listeners', async () => {
    const warnings: string[] = []
    const listen = (warning: Error) => warnings.push(warning.message)
    process.on('warning', listen)
    const { ask } = await play(track({ text: 'slow', delayMs: 1 }))
    const abort = new AbortController()
    const answers = Array.from({ length: 100 }, (_, index) =>
      ask({ sessionId: `s${index}`, signal: abort.signal }),
    )
    expect((await Promise.all(answers)).every(({ text }) => text === 'slow')).toBe(true)
    await new Promise((done) => setImmediate(done))
    process.off('warning', listen)
    expect(warnings).toEqual([])
  })
})

describe('an aborted request', () => {
  it('takes no step when it was aborted before it began', async () => {
    const { ctx, llm } = await play(track({ text: 'one' }))
    const finish = await ask(ctx, { signal: AbortSignal.abort() })
    expect(finish.failure?.code).toBe('ABORTED')
    expect(llm.report().requests).toBe(0)
  })

  it('ends between two chunks', async () => {
    const llm = new ScriptedLlm(track({ text: 'abcdef', chunkChars: 1 }))
    const abort = new AbortController()
    const kinds: string[] = []
    for await (const chunk of llm.stream(requestOf({ signal: abort.signal }))) {
      kinds.push(chunk.type)
      if (kinds.length === 3) abort.abort()
    }
    expect(kinds).toEqual(['block-start', 'text-delta', 'text-delta', 'finish'])
  })
})
