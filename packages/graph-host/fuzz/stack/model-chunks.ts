/** The chunks of a model's answer, and time that passes before it. */
import { CallId, type StreamChunk } from '@deepseek-ai/dsh-llm'

const USAGE = { type: 'usage', usage: { inputTokens: 10, outputTokens: 5 } } as const

export function textAnswer(text: string): readonly StreamChunk[] {
  return [
    { type: 'block-start', index: 0, blockType: 'text' },
    { type: 'text-delta', index: 0, text },
    { type: 'block-end', index: 0, block: { type: 'text', text } },
    USAGE,
    { type: 'finish', reason: { kind: 'stop' } },
  ]
}

export function toolAnswer(id: string, name: string, args: object): readonly StreamChunk[] {
  const block = { type: 'tool-call', id: CallId(id), name, arguments: JSON.stringify(args) } as const
  return [
    { type: 'block-start', index: 0, blockType: 'tool-call' },
    { type: 'tool-call-delta', index: 0, id: block.id, name, argumentsDelta: block.arguments },
    { type: 'block-end', index: 0, block },
    USAGE,
    { type: 'finish', reason: { kind: 'tool-calls' } },
  ]
}

export function errorAnswer(code: string, message: string): readonly StreamChunk[] {
  return [{ type: 'finish', reason: { kind: 'error', failure: { code, message } } }]
}

export const ABORTED: StreamChunk = {
  type: 'finish',
  reason: { kind: 'aborted', failure: { code: 'ABORTED', message: 'the request was aborted' } },
}

/** @returns whether the time passed before the signal fired; of an endless one it never does. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve(false)
    const timer = Number.isFinite(ms) ? setTimeout(() => end(true), ms) : undefined
    const onAbort = () => end(false)
    const end = (passed: boolean) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      resolve(passed)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
