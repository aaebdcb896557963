/** The strict check of what a subscriber asks for. Pure. */
import { z } from 'zod'
import { AgentLoopError } from '../errors.ts'
import type { SubscribeRequest } from './types.ts'

export const MAX_RUN_ID = 256

const schema = z
  .strictObject({
    runId: z.string().min(1).max(MAX_RUN_ID).optional(),
    sessionId: z.string().min(1).max(508).optional(),
    afterSeq: z.int().min(0).optional(),
    signal: z.instanceof(AbortSignal).optional(),
  })
  .refine(({ runId, sessionId }) => runId !== undefined || sessionId !== undefined, {
    message: 'names neither runId nor sessionId',
  })
  .refine(({ runId, afterSeq = 0 }) => runId !== undefined || afterSeq === 0, {
    message: 'afterSeq counts within a run: name the run that it belongs to in runId, beside the sessionId',
    path: ['afterSeq'],
  })

/** @throws AgentLoopError `invalid`, which names every problem. */
export function checkSubscribeRequest(input: unknown): SubscribeRequest {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data as SubscribeRequest
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  )
  throw new AgentLoopError('invalid', `subscribe refused: ${problems.join('; ')}`)
}
